// The kernel of encode_device.cuh, and what a launch of it must be.
#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"
#include "kernels/ldpc/encode_device.cuh"
#include "kernels/ldpc/encode_gpu.h"

namespace baseband::ldpc {
namespace {

using device::Encode;
using device::FewBlocks;
using device::InfoReader;
using device::kEncodeThreads;
using device::LoadBlock;
using device::MakeTask;
using device::Program;
using device::Task;

constexpr int kMinBlocksPerSm = 21;  // 32 registers a thread
constexpr int kMaxBlocks = 1 << 20;
constexpr int kMaxSharedBytes = 48 << 10;

// Encode() for a code whose sums are not copied. A call, so that it costs other codes no registers.
__device__ __noinline__ void EncodeLong(const uint32_t* table, uint32_t* words,
                                        const EncodeBlock block, uint32_t* parity) {
  const Task task = MakeTask(table, words);
  const Program<false> program(table + task.header.phases_at, task.header);
  Encode<false>(task, program, InfoReader(block), parity);
}

// `Blocks` is an array of descriptors or, for few, FewBlocks.
template <typename Blocks>
__global__ void __launch_bounds__(kEncodeThreads, kMinBlocksPerSm)
    EncodeKernel(const __grid_constant__ Blocks blocks, const uint8_t* __restrict__ tables,
                 uint8_t* __restrict__ parity) {
  extern __shared__ uint4 shared[];
  const EncodeBlock block = LoadBlock(blocks, blockIdx.x);
  const auto* const table = reinterpret_cast<const uint32_t*>(tables + block.table_offset);
  auto* const words = reinterpret_cast<uint32_t*>(shared);
  auto* const out = reinterpret_cast<uint32_t*>(parity + block.parity_offset);
  const Task task = MakeTask(table, words);
  if (task.header.copied_words == 0) {
    EncodeLong(table, words, block, out);
    return;
  }
  const auto* const phases = reinterpret_cast<const uint4*>(table + task.header.phases_at);
  for (uint32_t i = threadIdx.x; i < task.header.copied_words / 4; i += kEncodeThreads) {
    shared[i] = __ldg(phases + i);
  }
  const Program<true> program(words, task.header);
  const InfoReader reader(block);
  if (task.header.whole_words != 0) {
    Encode<true>(task, program, reader, out);
  } else {
    Encode<false>(task, program, reader, out);
  }
}

absl::Status CheckPointer(const void* pointer, const char* field) {
  if (pointer == nullptr || reinterpret_cast<uintptr_t>(pointer) % 16 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(field, " is null or not 16-byte aligned"));
  }
  return absl::OkStatus();
}

absl::Status Check(const EncodeBatch& batch) {
  if (batch.num_blocks < 1 || batch.num_blocks > kMaxBlocks) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_blocks ", batch.num_blocks, " is not in [1, ", kMaxBlocks, "]"));
  }
  if (batch.shared_bytes < 1 || batch.shared_bytes > kMaxSharedBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("shared_bytes ", batch.shared_bytes, " is not in [1, ", kMaxSharedBytes, "]"));
  }
  BASEBAND_RETURN_IF_ERROR(CheckPointer(batch.blocks, "blocks"));
  BASEBAND_RETURN_IF_ERROR(CheckPointer(batch.tables, "tables"));
  return CheckPointer(batch.parity, "parity");
}

}  // namespace

int EncodeSharedBytes(const Code& code) {
  const absl::Span<const uint32_t> table = (*code.encode_plan())->table();
  return static_cast<int>(reinterpret_cast<const EncodeTableHeader*>(table.data())->shared_bytes);
}

absl::Status LaunchEncode(const EncodeBatch& batch, cudaStream_t stream) {
  BASEBAND_RETURN_IF_ERROR(Check(batch));
  const auto grid = static_cast<unsigned>(batch.num_blocks);
  const auto shared_bytes = static_cast<size_t>(batch.shared_bytes);
  if (batch.blocks_host != nullptr && batch.num_blocks <= FewBlocks::kMost) {
    FewBlocks few;
    std::copy_n(batch.blocks_host, batch.num_blocks, few.blocks);
    EncodeKernel<<<grid, kEncodeThreads, shared_bytes, stream>>>(few, batch.tables, batch.parity);
  } else {
    EncodeKernel<<<grid, kEncodeThreads, shared_bytes, stream>>>(batch.blocks, batch.tables,
                                                                 batch.parity);
  }
  return cuda::ToStatus(cudaGetLastError(), "EncodeKernel");
}

}  // namespace baseband::ldpc
