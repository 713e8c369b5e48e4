// The second kernel of LaunchTransmit, and its launcher.
#include <algorithm>
#include <cstdint>

#include "kernels/base/status_macros.h"
#include "kernels/cuda/load_kernel.h"
#include "kernels/nr/gpu_launch.h"
#include "kernels/nr/transmit_device.cuh"
#include "kernels/nr/transmit_gpu.h"

namespace baseband::nr {
namespace {

using device::InfoBits;
using device::kTransmitThreads;
using device::SendCoded;
using device::TransmitShared;

constexpr int kMinBlocksPerSm = 16;  // 42 registers a thread

// The CRC of the transport block, of whose code blocks `tb_parts` is that of block 0; by every warp
// by itself.
__device__ __forceinline__ uint32_t TbCrc(const uint32_t* tb_parts, uint32_t num_blocks) {
  uint32_t crc = 0;
  for (uint32_t r = threadIdx.x % 32; r < num_blocks; r += 32) crc ^= tb_parts[r];
  return __reduce_xor_sync(0xffffffff, crc);
}

__global__ void __launch_bounds__(kTransmitThreads, kMinBlocksPerSm)
    TransmitKernel(const TransmitTb* __restrict__ tbs, const TransmitBlock* __restrict__ blocks,
                   const uint8_t* __restrict__ tables, const uint32_t* tb_parts) {
  extern __shared__ uint4 shared[];
  __shared__ uint32_t crc_parts[device::kBlockCrcWarps];
  auto* const words = reinterpret_cast<uint32_t*>(shared);
  const TransmitBlock block = blocks[blockIdx.x];
  const TransmitTb& tb = tbs[block.tb];
  const uint32_t r = block.r;
  const ldpc::device::Task task =
      ldpc::device::MakeTask(reinterpret_cast<const uint32_t*>(tables + tb.table_offset), words);
  const TransmitShared layout(task.header);
  const auto* const phases = reinterpret_cast<const uint4*>(task.table + task.header.phases_at);
  for (uint32_t i = threadIdx.x; i < task.header.copied_words / 4; i += kTransmitThreads) {
    shared[i] = __ldg(phases + i);
  }
  const ldpc::device::Program<true> program(words, task.header);

  uint64_t tail = 0;
  if (r + 1 == tb.num_blocks && tb.tb_crc_bits != 0) {
    cudaGridDependencySynchronize();  // for `tb_parts`
    const uint32_t crc = TbCrc(tb_parts + blockIdx.x - r, tb.num_blocks);
    tail = CrcTail(crc, tb.tb_crc_bits, 0, 0);
  }
  const PayloadSlice slice = SliceOf(tb.payload_bits, tb.info_bits, r);
  const WordsBefore payload = WordsOf(tb.payload);
  const InfoBits bits{payload.words, payload.skip + slice.first, slice.bits, tail};
  const bool has_crc = tb.block_crc_bits != 0;
  const uint32_t k_prime = tb.info_bits + tb.block_crc_bits;
  uint32_t* const parity = words + layout.parity_at;
  if (task.header.whole_words != 0) {
    device::EncodeBits<true>(task, program, bits, k_prime, has_crc, crc_parts, parity);
  } else {
    device::EncodeBits<false>(task, program, bits, k_prime, has_crc, crc_parts, parity);
  }

  cudaGridDependencySynchronize();  // for words of `out` that are cleared
  const RateMatch& rate_match = RateMatchOf(tb, r);
  const KeptBits kept{32 * layout.parity_at + 2 * task.header.zc - k_prime, rate_match.kept};
  switch (rate_match.qm) {
    case 1:
      return SendCoded<1>(tb, r, kept, words, layout.region);
    case 2:
      return SendCoded<2>(tb, r, kept, words, layout.region);
    case 4:
      return SendCoded<4>(tb, r, kept, words, layout.region);
    case 6:
      return SendCoded<6>(tb, r, kept, words, layout.region);
    case 8:
      return SendCoded<8>(tb, r, kept, words, layout.region);
    default:
      return SendCoded<10>(tb, r, kept, words, layout.region);
  }
}

}  // namespace

TransmitTb MakeTransmitTb(const TransportBlockPlan& plan) {
  TransmitTb tb;
  tb.payload_bits = static_cast<uint32_t>(plan.tb_bits);
  tb.tb_crc_bits = static_cast<uint32_t>(plan.tb_crc_bits);
  tb.block_crc_bits = static_cast<uint32_t>(plan.block_crc_bits);
  tb.num_blocks = static_cast<uint32_t>(plan.num_blocks);
  tb.info_bits = static_cast<uint32_t>(plan.info_bits());
  tb.num_short = static_cast<uint32_t>(plan.num_short);
  tb.of_short = plan.of_short;
  tb.of_long = plan.of_long;
  return tb;
}

int TransmitSharedBytes(const ldpc::Code& code) {
  const absl::Span<const uint32_t> table = (*code.encode_plan())->table();
  const TransmitShared layout(*reinterpret_cast<const ldpc::EncodeTableHeader*>(table.data()));
  return static_cast<int>(4 * layout.words);
}

absl::Status PrepareTransmitKernels() {
  BASEBAND_RETURN_IF_ERROR(PrepareTransmitCrcs());
  return cuda::LoadKernel(TransmitKernel);
}

absl::Status LaunchTransmit(const TransmitBatch& batch, cudaStream_t stream) {
  BASEBAND_RETURN_IF_ERROR(CheckNumBlocks(batch.num_blocks));
  BASEBAND_RETURN_IF_ERROR(CheckSharedBytes(batch.shared_bytes, kMaxTransmitSharedBytes));
  BASEBAND_RETURN_IF_ERROR(CheckPointer("tbs", batch.tbs));
  BASEBAND_RETURN_IF_ERROR(CheckPointer("blocks", batch.blocks));
  BASEBAND_RETURN_IF_ERROR(CheckPointer("tables", batch.tables));
  BASEBAND_RETURN_IF_ERROR(CheckPointer("workspace", batch.workspace));
  BASEBAND_RETURN_IF_ERROR(LaunchTransmitCrcs(batch, stream));
  return LaunchKernel("TransmitKernel",
                      {static_cast<unsigned>(batch.num_blocks), kTransmitThreads,
                       static_cast<size_t>(batch.shared_bytes), stream, true},
                      TransmitKernel, batch.tbs, batch.blocks, batch.tables,
                      static_cast<const uint32_t*>(batch.workspace));
}

}  // namespace baseband::nr
