// Timing.h's stage 4: what is left of offset and clock error, by the slopes along soft decisions;
// the result; the corrected symbols.
//
// What the CPU device does in rounds over all symbols, symbols and slopes being read from memory
// each time, is here done in two: the first over a part of a long frame's symbols brings the
// places near, so that in the second, which is of all symbols, the sums are so straight a function
// of a further move that their slope, summed up along with them, stands for another round. Shorter
// frames have the CPU device's rounds.
#include <algorithm>

#include "kernels/carrier/gpu/team.cuh"
#include "kernels/timing/gpu/refine_sums.cuh"
#include "kernels/timing/gpu/timing_launch.h"
#include "kernels/timing/gpu/timing_task.cuh"

namespace baseband::timing {
namespace {

using carrier::Iq;
using carrier::kTile;
using carrier::kTileLanes;

constexpr int kSumThreads = 256;
constexpr int kSumWarps = kSumThreads / 32;
constexpr int kSumBlocks = 2;  // of a multiprocessor
// Tiles that a block adds up at a time: a share of a frame.
constexpr uint32_t kShareTiles = 32;
// The first round takes at most each kMostStride-th tile, and no fewer than kFirstTiles of them.
constexpr uint32_t kMostStride = 8;
constexpr uint32_t kFirstTiles = 16;
constexpr int kStepThreads = 32;
constexpr uint32_t kCorrectPiece = 4 * kSumThreads * kTileLanes;  // symbols of a block
// Larger tables are read where they are: two thread blocks with a table each fit.
constexpr int64_t kMostTableBytes = 96 << 10;

// Tiles first, first + stride, .. below `tiles` of a frame in a round, in shares.
struct RoundTiles {
  uint32_t tiles = 0;
  uint32_t stride = 1;
  uint32_t shares = 0;

  BASEBAND_HOST_DEVICE RoundTiles(uint32_t num_symbols, bool first_round) {
    tiles = (num_symbols + kTile - 1) / kTile;
    if (first_round && tiles >= 2 * kFirstTiles) {
      stride = tiles < kMostStride * kFirstTiles ? tiles / kFirstTiles : kMostStride;
    }
    shares = (tiles + stride * kShareTiles - 1) / (stride * kShareTiles);
  }
  __device__ uint32_t Tile(uint32_t share, uint32_t i) const {
    return (share * kShareTiles + i) * stride + stride / 2;
  }
};

__device__ const Iq* KnownOf(const TimingTask& task, uint32_t f) {
  const uint32_t offset = task.frames[f].known_offset;
  return offset == carrier::kNoKnown ? nullptr : reinterpret_cast<const Iq*>(task.known + offset);
}

// A thread a frame: what the rounds begin with.
__global__ void __launch_bounds__(kStepThreads)
    BeginRefineKernel(const __grid_constant__ TimingTask task) {
  const uint32_t f = blockIdx.x * kStepThreads + threadIdx.x;
  if (f >= task.num_frames) return;
  const TimingState& state = task.states[f];
  RefineState refine;
  refine.refined.valid = false;
  if (!state.is_lost()) {
    const carrier::Result& found = task.carrier_results[task.frames[f].result_index];
    const PulseOnDevice& pulse = task.pulse;
    refine.task = TaskOf(task.model, found, task.carrier.reference, pulse.facts,
                         static_cast<int>(state.num_symbols));
    refine.refined.valid = found.lock == carrier::Lock::kLocked && state.verdict.possible;
  }
  task.refine[f] = refine;
}

// A round's sums of all frames' shares, of which the longest has `most_shares`, some a block: to
// task.refine_sums.
template <bool kShared, bool kCurved>
__global__ void __launch_bounds__(kSumThreads, kSumBlocks)
    RefineSumsKernel(const __grid_constant__ TimingTask task, unsigned most_shares) {
  extern __shared__ float4 table_memory[];
  __shared__ float of_warps[kSumWarps][SumColumn::kColumns];
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const int num_nodes = task.model.side * task.model.side;
  int loaded = -1;
  for (uint64_t item = blockIdx.x; item < uint64_t{task.num_frames} * most_shares;
       item += gridDim.x) {
    const auto f = static_cast<uint32_t>(item / most_shares);
    const auto share = static_cast<uint32_t>(item - uint64_t{f} * most_shares);
    const RefineState& state = task.refine[f];
    const RoundTiles tiles(task.states[f].num_symbols, !kCurved);
    if (!state.refined.valid || share >= tiles.shares) continue;
    const int table = state.task.carrier.table;
    const auto* const nodes =
        reinterpret_cast<const float4*>(task.model.soft) + static_cast<int64_t>(table) * num_nodes;
    if (kShared && table != loaded) {
      __syncthreads();  // others may still read the last table
      for (int k = static_cast<int>(threadIdx.x); k < num_nodes; k += kSumThreads) {
        table_memory[k] = __ldg(nodes + k);
      }
      __syncthreads();
      loaded = table;
    }
    const DecisionPlane plane(task.model, table, kShared ? table_memory : nodes);
    const RefineTask of_frame = state.task;
    const TimingStep step = state.refined.step;
    const auto num_symbols = static_cast<uint32_t>(of_frame.num_symbols);
    const carrier::Rotor rotor(of_frame.carrier.frequency, of_frame.carrier.phase, num_symbols);
    const float2* const symbols = task.symbols + uint64_t{f} * task.symbols_row;
    const float2* const slopes = task.slopes + uint64_t{f} * task.symbols_row;
    const Iq* const known = KnownOf(task, f);
    float sums[SumColumn::kColumns] = {};
    for (uint32_t i = warp; i < kShareTiles; i += kSumWarps) {
      const uint32_t first = tiles.Tile(share, i) * kTile + lane;
      if (first - lane >= num_symbols) break;
      if (known == nullptr && first - lane + kTile <= num_symbols) {
        AddTile<kCurved, true>(plane, of_frame, rotor, step, symbols, slopes, known, first, sums);
      } else {
        AddTile<kCurved, false>(plane, of_frame, rotor, step, symbols, slopes, known, first, sums);
      }
    }
    const float sum = carrier::SumOfWarp<SumColumn::kColumns>(sums, lane);
    if (lane % 4 == 0) of_warps[warp][lane / 4] = sum;
    __syncthreads();
    if (threadIdx.x < SumColumn::kColumns) {
      float total = 0.0F;
      for (const auto& of_warp : of_warps) total += of_warp[threadIdx.x];
      task.refine_sums[(uint64_t{f} * task.shares_row + share) * SumColumn::kColumns +
                       threadIdx.x] = total;
    }
    __syncthreads();  // `of_warps` may change again
  }
}

// The sums after a further step: what they were, and their slopes.
__device__ RefineSums SumsAfter(const double (&totals)[SumColumn::kColumns], double middle,
                                double slope) {
  RefineSums sums;
  for (int i = 0; i < 2; ++i) {
    sums.score[i] = totals[SumColumn::kScore + i] + middle * totals[SumColumn::kCurve + i] +
                    slope * totals[SumColumn::kCurve + 1 + i];
  }
  sums.projection = totals[SumColumn::kProjection];
  sums.variance = totals[SumColumn::kVariance];
  return sums;
}

// A thread a frame: steps from a round's sums; after the last, the result.
__global__ void __launch_bounds__(kStepThreads)
    StepKernel(const __grid_constant__ TimingTask task, bool first_round) {
  const uint32_t f = blockIdx.x * kStepThreads + threadIdx.x;
  if (f >= task.num_frames) return;
  const TimingState& state = task.states[f];
  const double max_clock_error = task.parameters.max_clock_error;
  const auto num_symbols = static_cast<int>(state.num_symbols);
  RefineState refine = task.refine[f];
  if (refine.refined.valid) {
    const RoundTiles tiles(state.num_symbols, first_round);
    double totals[SumColumn::kColumns] = {};
    for (uint32_t share = 0; share < tiles.shares; ++share) {
      const float* const from =
          task.refine_sums + (uint64_t{f} * task.shares_row + share) * SumColumn::kColumns;
      for (int i = 0; i < SumColumn::kColumns; ++i) totals[i] += static_cast<double>(from[i]);
    }
    // As if all symbols were like those that were added up.
    const double times = num_symbols / totals[SumColumn::kCount];
    for (double& total : totals) total *= times;
    const WeightSums weights = SumWeights(num_symbols, refine.task.taper);
    const TimingStep before = refine.refined.step;
    // A first round over all symbols is one of the CPU device's; one over a part is none.
    const bool in_part = RoundTiles(state.num_symbols, true).stride > 1;
    const int rounds = first_round ? 1 : in_part ? kRefineRounds : kRefineRounds - 1;
    for (int round = 0; round < rounds && refine.refined.valid; ++round) {
      const TimingStep& step = refine.refined.step;
      StepTiming(refine.task,
                 SumsAfter(totals, step.middle - before.middle, step.slope - before.slope), weights,
                 state.verdict.clock_error, max_clock_error, &refine.refined);
    }
    task.refine[f].refined = refine.refined;
  }
  if (first_round) return;
  const TimingFrame& frame = task.frames[f];
  Result result;
  if (state.is_lost()) {
    result = LostResult(state.is_bad(), max_clock_error);
  } else {
    carrier::Result& found = task.carrier_results[frame.result_index];
    result = ResultOf(state.verdict, refine.refined, found.lock, max_clock_error, num_symbols);
    found.lock = CarrierLock(state.verdict, found);
    FollowTiming(state.verdict, refine.refined, result, task.carrier.reference, state.modulo,
                 num_symbols, &found);
  }
  task.results[frame.result_index] = result;
}

// The refined symbols, turned back; zeros where nothing was found.
__global__ void __launch_bounds__(kSumThreads)
    CorrectKernel(const __grid_constant__ TimingTask task, unsigned pieces) {
  const uint32_t f = blockIdx.x / pieces;
  const uint32_t begin = (blockIdx.x - f * pieces) * kCorrectPiece;
  const TimingState& state = task.states[f];
  if (begin >= state.num_symbols) return;
  const uint32_t end = min(begin + kCorrectPiece, state.num_symbols);
  const TimingFrame frame = task.frames[f];
  const carrier::SampleWriter corrected = {task.output + frame.corrected_offset,
                                           task.carrier.format, 1.0F / task.carrier.scale};
  if (state.is_lost() || task.carrier_results[frame.result_index].bad_symbols != 0) {
    for (uint32_t n = begin + threadIdx.x; n < end; n += kSumThreads) corrected.Write(n, Iq{});
    return;
  }
  const RefineTask of_frame = task.refine[f].task;
  const Refined refined = task.refine[f].refined;
  const carrier::Rotor rotor(of_frame.carrier.frequency, of_frame.carrier.phase, state.num_symbols);
  const float middle = refined.valid ? static_cast<float>(refined.step.middle) : 0.0F;
  const float slope_step = refined.valid ? static_cast<float>(refined.step.slope) : 0.0F;
  const float2* const symbols = task.symbols + uint64_t{f} * task.symbols_row;
  const float2* const slopes = task.slopes + uint64_t{f} * task.symbols_row;
  for (uint32_t tile = begin + threadIdx.x / 32 * kTile; tile < end; tile += kSumWarps * kTile) {
    const uint32_t first = tile + threadIdx.x % 32;
    Iq back = rotor.At(first);
#pragma unroll
    for (int k = 0; k < kTileLanes; ++k) {
      const uint32_t n = first + 32 * static_cast<unsigned>(k);
      if (n >= end) break;
      const float move = fmaf(slope_step, of_frame.PlaceOf(static_cast<int>(n)), middle);
      const float2 y = symbols[n];
      const float2 slope = slopes[n];
      corrected.Write(
          n, carrier::Multiply({fmaf(move, slope.x, y.x), fmaf(move, slope.y, y.y)}, back));
      back = rotor.Next(back);
    }
  }
}

template <bool kCurved, typename Use>
absl::Status WithSumsKernel(bool shares_table, const Use& use) {
  return shares_table ? use(RefineSumsKernel<true, kCurved>)
                      : use(RefineSumsKernel<false, kCurved>);
}

template <bool kCurved>
absl::Status LaunchSums(const TimingTask& task, uint32_t longest, int multiprocessors,
                        cudaStream_t stream) {
  const int64_t table_bytes =
      int64_t{task.model.side} * task.model.side * static_cast<int64_t>(sizeof(carrier::SoftNode));
  const bool shares_table = table_bytes <= kMostTableBytes;
  const uint32_t shares = RoundTiles(longest, !kCurved).shares;
  const auto blocks = static_cast<unsigned>(std::min<uint64_t>(
      uint64_t{task.num_frames} * shares, static_cast<uint64_t>(kSumBlocks * multiprocessors)));
  return WithSumsKernel<kCurved>(shares_table, [&](auto* kernel) {
    return LaunchKernel(kernel, "RefineSumsKernel", task, blocks, kSumThreads,
                        shares_table ? static_cast<size_t>(table_bytes) : 0, stream, shares);
  });
}

template <bool kCurved>
absl::Status PrepareSums() {
  for (const bool shares_table : {false, true}) {
    BASEBAND_RETURN_IF_ERROR(WithSumsKernel<kCurved>(shares_table, [&](auto* kernel) {
      return cuda::ToStatus(
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shares_table ? kMostTableBytes : 0)),
          "cudaFuncSetAttribute");
    }));
  }
  return absl::OkStatus();
}

}  // namespace

uint32_t RefineShares(uint32_t num_symbols) { return RoundTiles(num_symbols, false).shares; }

absl::Status RefineTiming(const TimingTask& task, uint32_t longest, int multiprocessors,
                          cudaStream_t stream) {
  const unsigned step_blocks = (task.num_frames + kStepThreads - 1) / kStepThreads;
  BASEBAND_RETURN_IF_ERROR(LaunchKernel(BeginRefineKernel, "BeginRefineKernel", task, step_blocks,
                                        kStepThreads, 0, stream));
  BASEBAND_RETURN_IF_ERROR(LaunchSums<false>(task, longest, multiprocessors, stream));
  BASEBAND_RETURN_IF_ERROR(
      LaunchKernel(StepKernel, "StepKernel", task, step_blocks, kStepThreads, 0, stream, true));
  BASEBAND_RETURN_IF_ERROR(LaunchSums<true>(task, longest, multiprocessors, stream));
  BASEBAND_RETURN_IF_ERROR(
      LaunchKernel(StepKernel, "StepKernel", task, step_blocks, kStepThreads, 0, stream, false));
  if (!task.carrier.want_corrected) return absl::OkStatus();
  const uint32_t pieces = (longest + kCorrectPiece - 1) / kCorrectPiece;
  return LaunchKernel(CorrectKernel, "CorrectKernel", task, task.num_frames * pieces, kSumThreads,
                      0, stream, pieces);
}

absl::Status PrepareRefineTiming() {
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(BeginRefineKernel));
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(StepKernel));
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(CorrectKernel));
  BASEBAND_RETURN_IF_ERROR(PrepareSums<false>());
  return PrepareSums<true>();
}

}  // namespace baseband::timing
