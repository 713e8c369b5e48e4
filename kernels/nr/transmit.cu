// The second kernel of LaunchTransmit, and its launcher.
#include <algorithm>
#include <cstdint>

#include "kernels/base/status_macros.h"
#include "kernels/cuda/load_kernel.h"
#include "kernels/nr/crc_math.h"
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
constexpr uint32_t kAllLanes = 0xffffffff;

// x^24, .., x^47 modulo the generator of CRC24B.
struct PowersOf24B {
  uint32_t of[32];
};
constexpr PowersOf24B MakePowersOf24B() {
  constexpr CrcPolynomial p = PolynomialOf(Crc::kCrc24B);
  PowersOf24B powers = {};
  uint32_t power = p.generator;
  for (int i = 0; i < p.bits; ++i, power = CrcTimesX(p, power)) powers.of[i] = power;
  return powers;
}
__device__ constexpr PowersOf24B kPowersOf24B = MakePowersOf24B();

// The CRC of the transport block, of whose code blocks `crcs` is that of block 0; by every warp by
// itself.
__device__ __forceinline__ uint32_t TbCrc(const BlockCrcs* crcs, uint32_t num_blocks) {
  uint32_t crc = 0;
  for (uint32_t r = threadIdx.x % 32; r < num_blocks; r += 32) crc ^= crcs[r].tb_part;
  return __reduce_xor_sync(kAllLanes, crc);
}

// What follows the payload in code block r. `crcs` is that of block r.
__device__ __forceinline__ uint64_t TailOf(const TransmitTb& tb, uint32_t r,
                                           const BlockCrcs* crcs) {
  const bool is_last = r + 1 == tb.num_blocks;
  const uint32_t tb_crc_bits = is_last ? tb.tb_crc_bits : 0;
  uint32_t tb_crc = 0;
  uint32_t block_crc = 0;
  if (tb_crc_bits != 0) tb_crc = TbCrc(crcs - r, tb.num_blocks);
  if (tb.block_crc_bits != 0) {
    block_crc = crcs->slice_24b;
    if (tb_crc_bits == 24) {
      // Of a message m with 24 bits t behind it: (crc(m) + t) x^24.
      const uint32_t lane = threadIdx.x % 32;
      const uint32_t power = __ldg(&kPowersOf24B.of[lane]);
      block_crc = __reduce_xor_sync(kAllLanes, ((block_crc ^ tb_crc) >> lane & 1) != 0 ? power : 0);
    }
  }
  return CrcTail(tb_crc, tb_crc_bits, block_crc, tb.block_crc_bits);
}

__global__ void __launch_bounds__(kTransmitThreads, kMinBlocksPerSm)
    TransmitKernel(const TransmitTb* __restrict__ tbs, const TransmitBlock* __restrict__ blocks,
                   const uint8_t* __restrict__ tables, const BlockCrcs* crcs) {
  extern __shared__ uint4 shared[];
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
  cudaGridDependencySynchronize();  // for `crcs`, and words of `out` that are cleared

  const PayloadSlice slice = SliceOf(tb.payload_bits, tb.info_bits, r);
  const WordsBefore payload = WordsOf(tb.payload);
  const InfoBits bits{payload.words, payload.skip + slice.first, slice.bits,
                      TailOf(tb, r, crcs + blockIdx.x)};
  uint32_t* const info = words + layout.info_at;
  uint32_t* const parity = words + layout.parity_at;
  if (task.header.whole_words != 0) {
    device::EncodeBits<true>(task, program, bits, info, parity);
  } else {
    device::EncodeBits<false>(task, program, bits, info, parity);
  }

  const RateMatch& rate_match = RateMatchOf(tb, r);
  const KeptBits kept{32 * layout.info_at + 2 * task.header.zc, 32 * layout.parity_at,
                      rate_match.filler_begin, rate_match.kept};
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
  auto* const crcs = static_cast<BlockCrcs*>(batch.workspace);
  BASEBAND_RETURN_IF_ERROR(LaunchTransmitCrcs(batch, crcs, stream));
  return LaunchKernel("TransmitKernel",
                      {static_cast<unsigned>(batch.num_blocks), kTransmitThreads,
                       static_cast<size_t>(batch.shared_bytes), stream, true},
                      TransmitKernel, batch.tbs, batch.blocks, batch.tables,
                      static_cast<const BlockCrcs*>(crcs));
}

}  // namespace baseband::nr
