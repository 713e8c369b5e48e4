// LaunchRateDematch.
#include <cstdint>

#include "kernels/base/status_macros.h"
#include "kernels/cuda/load_kernel.h"
#include "kernels/cuda/status.h"
#include "kernels/nr/gpu_launch.h"
#include "kernels/nr/rate_dematch_device.cuh"
#include "kernels/nr/receive_gpu.h"

namespace baseband::nr {
namespace {

using device::DematchShared;
using device::GoldWords;
using device::kDematchThreads;
using device::SoftTarget;

constexpr int kMinBlocksPerSm = 3;  // 42 registers a thread

// What all threads of a thread block add to, in shared memory.
struct Totals {
  device::MagnitudeSums magnitudes;
  uint32_t unusable;
};

// The scale for this code block's LLRs.
__device__ __forceinline__ float ScaleOf(const ReceiveTb& tb, uint32_t begin, uint32_t e,
                                         Totals* totals) {
  if (tb.as_symbols != 0 || tb.llr_format != LlrFormat::kInt16 || tb.llr_format_scale != 0.0f) {
    return tb.llr_format_scale;
  }
  device::AddMagnitudes(tb.received + 2 * size_t{begin}, e, &totals->magnitudes);
  __syncthreads();
  return ChosenScale(totals->magnitudes.Total(), e, tb.mean_llr);
}

template <int kQm>
__device__ __forceinline__ void Receive(const ReceiveTb& tb, uint32_t r,
                                        const RateMatch& rate_match, const SoftTarget& target,
                                        uint32_t* gold_words, Totals* totals) {
  const uint32_t begin = CodedBegin(tb, r);
  const uint32_t columns = rate_match.columns;
  device::Prefetch(tb, begin, rate_match.e);
  const float scale = ScaleOf(tb, begin, rate_match.e, totals);
  uint32_t unusable = 0;
  if (tb.c_init == kNoScrambling) {
    unusable = device::PlaceLlrs<kQm>(tb, rate_match, scale, begin, 0, columns, nullptr, 0, target);
  } else {
    constexpr uint32_t kPieceBits = 32 * device::kGoldPiece;
    GoldWords gold(gold_words, min(device::kGoldPiece, rate_match.e / 32 + 2) + device::kGoldStart);
    gold.Begin(tb.c_init, begin);
    for (uint32_t first = 0; first < rate_match.e; first += kPieceBits) {
      if (first > 0) gold.GoOn();
      // Symbols that begin in the piece; the words behind it have the rest of the last one.
      unusable += device::PlaceLlrs<kQm>(tb, rate_match, scale, begin, (first + kQm - 1) / kQm,
                                         min((first + kPieceBits + kQm - 1) / kQm, columns), &gold,
                                         first, target);
      __syncthreads();
    }
  }
  if (unusable != 0) atomicAdd(&totals->unusable, unusable);
}

__global__ void __launch_bounds__(kDematchThreads, kMinBlocksPerSm)
    RateDematchKernel(const ReceiveTb* __restrict__ tbs, const DematchBlock* __restrict__ blocks,
                      uint32_t* __restrict__ unusable) {
  extern __shared__ uint4 shared[];
  __shared__ Totals totals;
  const DematchBlock block = blocks[blockIdx.x];
  const ReceiveTb& tb = tbs[block.tb];
  const RateMatch rate_match = RateMatchOf(tb, block.r);
  const DematchShared layout(rate_match, block.soft_count);
  if (threadIdx.x == 0) totals = {};
  if (!layout.sends_once) {
    for (uint32_t i = threadIdx.x; i < layout.gold_at / 4; i += kDematchThreads) {
      shared[i] = make_uint4(0, 0, 0, 0);
    }
  }
  __syncthreads();

  auto* const words = reinterpret_cast<uint32_t*>(shared);
  const SoftTarget target{layout.sends_once ? words : nullptr,
                          layout.sends_once ? nullptr : reinterpret_cast<int32_t*>(words),
                          layout.row_stride, block.soft_count};
  uint32_t* const gold = words + layout.gold_at;
  switch (rate_match.qm) {
    case 1:
      Receive<1>(tb, block.r, rate_match, target, gold, &totals);
      break;
    case 2:
      Receive<2>(tb, block.r, rate_match, target, gold, &totals);
      break;
    case 4:
      Receive<4>(tb, block.r, rate_match, target, gold, &totals);
      break;
    case 6:
      Receive<6>(tb, block.r, rate_match, target, gold, &totals);
      break;
    case 8:
      Receive<8>(tb, block.r, rate_match, target, gold, &totals);
      break;
    default:
      Receive<10>(tb, block.r, rate_match, target, gold, &totals);
      break;
  }
  __syncthreads();
  device::WriteSoft(block, rate_match, target);
  if (unusable != nullptr && threadIdx.x == 0) unusable[blockIdx.x] = totals.unusable;
}

}  // namespace

ReceiveTb MakeReceiveTb(const TransportBlockPlan& plan) {
  ReceiveTb tb;
  tb.num_short = static_cast<uint32_t>(plan.num_short);
  tb.of_short = plan.of_short;
  tb.of_long = plan.of_long;
  return tb;
}

int DematchSharedBytes(const RateMatch& rate_match, uint32_t soft_count) {
  return static_cast<int>(4 * DematchShared(rate_match, soft_count).words);
}

absl::Status PrepareReceiveKernels() {
  BASEBAND_RETURN_IF_ERROR(PrepareCheckCrc());
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(RateDematchKernel));
  return cuda::ToStatus(
      cudaFuncSetAttribute(reinterpret_cast<const void*>(RateDematchKernel),
                           cudaFuncAttributeMaxDynamicSharedMemorySize, kMaxDematchSharedBytes),
      "cudaFuncSetAttribute");
}

absl::Status LaunchRateDematch(const DematchBatch& batch, cudaStream_t stream) {
  BASEBAND_RETURN_IF_ERROR(CheckNumBlocks(batch.num_blocks));
  BASEBAND_RETURN_IF_ERROR(CheckSharedBytes(batch.shared_bytes, kMaxDematchSharedBytes));
  BASEBAND_RETURN_IF_ERROR(CheckPointer("tbs", batch.tbs));
  BASEBAND_RETURN_IF_ERROR(CheckPointer("blocks", batch.blocks));
  return LaunchKernel("RateDematchKernel",
                      {static_cast<unsigned>(batch.num_blocks), kDematchThreads,
                       static_cast<size_t>(batch.shared_bytes), stream},
                      RateDematchKernel, batch.tbs, batch.blocks, batch.unusable);
}

}  // namespace baseband::nr
