// The kernels of encode_whole.cuh and encode_tile.cuh, and what a launch of them must be.
#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/cuda/load_kernel.h"
#include "kernels/cuda/resident_device.cuh"
#include "kernels/cuda/status.h"
#include "kernels/ldpc/encode_gpu.h"
#include "kernels/ldpc/encode_tile.cuh"
#include "kernels/ldpc/encode_whole.cuh"

namespace baseband::ldpc {
namespace {

using device::EarlyInfo;
using device::EncodeWhole;
using device::FewBlocks;
using device::InfoReader;
using device::kEncodeThreads;
using device::kWideEncodeThreads;
using device::LoadBlock;

constexpr int kMinBlocksPerSm = 21;  // 32 registers a thread
constexpr int kMinTilesPerSm = 4;    // 64 registers a thread
constexpr uint32_t kWideParts = 4;
constexpr int kMostWideBlocks = 512;
constexpr int kMaxBlocks = 1 << 20;
constexpr int kMaxSharedBytes = 48 << 10;
constexpr int kMaxResidentSharedBytes = 40 << 10;

__global__ void __launch_bounds__(kEncodeThreads, kMinBlocksPerSm)
    EncodeKernel(const EncodeBlock* __restrict__ blocks, const uint8_t* __restrict__ tables,
                 uint8_t* __restrict__ parity) {
  extern __shared__ uint4 shared[];
  EncodeWhole<InfoReader<>>(LoadBlock(blocks, blockIdx.x), tables, parity, shared);
}

// `Blocks` is an array of descriptors or FewBlocks.
template <typename Blocks>
__global__ void __launch_bounds__(kWideEncodeThreads)
    WideEncodeKernel(const __grid_constant__ Blocks blocks, const uint8_t* __restrict__ tables,
                     uint8_t* __restrict__ parity) {
  extern __shared__ uint4 shared[];
  EncodeWhole<EarlyInfo<InfoReader<>>, kWideParts>(LoadBlock(blocks, blockIdx.x), tables, parity,
                                                   shared);
}

// A tile is 32 successive blocks; it is encoded once for each code among them.
__global__ void __launch_bounds__(device::kTileThreads, kMinTilesPerSm)
    EncodeTilesKernel(const EncodeBlock* __restrict__ blocks, uint32_t num_blocks,
                      const uint8_t* __restrict__ tables, uint8_t* __restrict__ parity) {
  extern __shared__ uint4 shared[];
  const uint32_t index = kTileBlocks * blockIdx.x + threadIdx.x % kTileBlocks;
  const bool is_block = index < num_blocks;
  const EncodeBlock block = is_block ? LoadBlock(blocks, index) : EncodeBlock();
  bool waits = is_block;
  while (const uint32_t waiting = __ballot_sync(device::kAllLanes, waits)) {
    const uint32_t table = __shfl_sync(device::kAllLanes, block.table_offset, __ffs(waiting) - 1);
    const bool is_next = waits && block.table_offset == table;
    EncodeBlock next;
    next.info = block.info;
    next.info_bits = is_next ? block.info_bits : 0;
    auto* const out = is_next ? reinterpret_cast<uint32_t*>(parity + block.parity_offset) : nullptr;
    device::EncodeTile(next, reinterpret_cast<const uint32_t*>(tables + table), out,
                       reinterpret_cast<uint32_t*>(parity), shared);
    waits = waits && !is_next;
    __syncthreads();  // the next code's share the memory
  }
}

// What is in a resident kernel's mailbox.
struct ResidentTask {
  const uint8_t* tables;
  uint8_t* parity;
  uint32_t num_blocks;
  alignas(16) FewBlocks few;
};
static_assert(sizeof(ResidentTask) <= cuda::ResidentMailbox::kTaskBytes);

__global__ void __launch_bounds__(kEncodeThreads)
    ResidentEncodeKernel(cuda::ResidentMailbox* mailbox, uint64_t launch) {
  extern __shared__ uint4 shared[];
  __shared__ alignas(16) uint32_t copied[sizeof(ResidentTask) / sizeof(uint32_t)];
  const auto& task = *reinterpret_cast<const ResidentTask*>(copied);
  cuda::device::StayResident(mailbox, launch, [&] {
    const auto* const from = reinterpret_cast<const uint32_t*>(mailbox->task);
    for (uint32_t i = threadIdx.x; i < sizeof(task) / sizeof(uint32_t); i += kEncodeThreads) {
      copied[i] = cuda::device::LoadAgain(from + i);
    }
    __syncthreads();
    for (uint32_t i = blockIdx.x; i < task.num_blocks; i += gridDim.x) {
      EncodeWhole<InfoReader<true>>(LoadBlock(task.few, i), task.tables, task.parity, shared);
      __syncthreads();  // the next one's share the memory
    }
  });
}

absl::Status LaunchResident(cuda::ResidentMailbox* mailbox, uint64_t launch, int thread_blocks,
                            int shared_bytes, cudaStream_t stream) {
  ResidentEncodeKernel<<<static_cast<unsigned>(thread_blocks), kEncodeThreads,
                         static_cast<size_t>(shared_bytes), stream>>>(mailbox, launch);
  return cuda::ToStatus(cudaGetLastError(), "ResidentEncodeKernel");
}

absl::Status LaunchTiles(const EncodeBatch& batch, cudaStream_t stream) {
  const int tiles = (batch.num_blocks + kTileBlocks - 1) / kTileBlocks;
  EncodeTilesKernel<<<static_cast<unsigned>(tiles), device::kTileThreads,
                      static_cast<size_t>(batch.tile_bytes), stream>>>(
      batch.blocks, static_cast<uint32_t>(batch.num_blocks), batch.tables, batch.parity);
  return cuda::ToStatus(cudaGetLastError(), "EncodeTilesKernel");
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
  if (batch.tile_bytes < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("tile_bytes ", batch.tile_bytes, " is not in [0, 2^31)"));
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

int EncodeTileBytes(const Code& code) {
  const absl::Span<const uint32_t> table = (*code.encode_plan())->table();
  const auto* const header =
      reinterpret_cast<const EncodeTileHeader*>(table.data() + kTileHeaderAt);
  return header->shared_bytes != 0 ? static_cast<int>(header->shared_bytes) : kMaxTileBytes + 1;
}

absl::Status PrepareEncodeKernels() {
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(&EncodeKernel));
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(&WideEncodeKernel<const EncodeBlock*>));
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(&WideEncodeKernel<FewBlocks>));
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
      cudaFuncSetAttribute(&EncodeTilesKernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           kMaxTileBytes),
      "cudaFuncSetAttribute"));
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(&EncodeTilesKernel));
  return cuda::LoadKernel(&ResidentEncodeKernel);
}

absl::Status LaunchEncode(const EncodeBatch& batch, cudaStream_t stream) {
  BASEBAND_RETURN_IF_ERROR(Check(batch));
  if (batch.num_blocks >= kLeastTiledBlocks && batch.tile_bytes > 0 &&
      batch.tile_bytes <= kMaxTileBytes) {
    return LaunchTiles(batch, stream);
  }
  const auto grid = static_cast<unsigned>(batch.num_blocks);
  const auto shared_bytes = static_cast<size_t>(batch.shared_bytes);
  if (batch.blocks_host != nullptr && batch.num_blocks <= FewBlocks::kMost) {
    FewBlocks few;
    std::copy_n(batch.blocks_host, batch.num_blocks, few.blocks);
    WideEncodeKernel<<<grid, kWideEncodeThreads, shared_bytes, stream>>>(few, batch.tables,
                                                                         batch.parity);
  } else if (batch.num_blocks <= kMostWideBlocks) {
    WideEncodeKernel<<<grid, kWideEncodeThreads, shared_bytes, stream>>>(batch.blocks, batch.tables,
                                                                         batch.parity);
  } else {
    EncodeKernel<<<grid, kEncodeThreads, shared_bytes, stream>>>(batch.blocks, batch.tables,
                                                                 batch.parity);
  }
  return cuda::ToStatus(cudaGetLastError(), "EncodeKernel");
}

bool FitsResident(const EncodeBatch& batch) {
  return batch.blocks_host != nullptr && batch.num_blocks <= FewBlocks::kMost &&
         batch.shared_bytes <= kMaxResidentSharedBytes;
}

absl::Status PostEncode(const EncodeBatch& batch, cuda::ResidentKernel* resident) {
  BASEBAND_RETURN_IF_ERROR(Check(batch));
  if (!FitsResident(batch)) {
    return absl::InvalidArgumentError(
        absl::StrCat("blocks_host is null, num_blocks ", batch.num_blocks, " is not in [1, ",
                     FewBlocks::kMost, "], or shared_bytes ", batch.shared_bytes, " is not in [1, ",
                     kMaxResidentSharedBytes, "]"));
  }
  auto* const task = reinterpret_cast<ResidentTask*>(resident->task());
  task->tables = batch.tables;
  task->parity = batch.parity;
  task->num_blocks = static_cast<uint32_t>(batch.num_blocks);
  std::copy_n(batch.blocks_host, batch.num_blocks, task->few.blocks);
  const int thread_blocks = std::min(batch.num_blocks, cuda::ResidentMailbox::kMaxThreadBlocks);
  return resident->Post(batch.shared_bytes, thread_blocks, &LaunchResident);
}

}  // namespace baseband::ldpc
