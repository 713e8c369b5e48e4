// Fine::kSweep: the paper's sweep, after the lines of sweep_lines.cu: the initial phase of every
// candidate; equation 8 for every candidate and tile of symbols; the least of the sums.
#include <algorithm>
#include <cmath>

#include "kernels/carrier/gpu/recover_launch.h"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/recover_workspace.h"
#include "kernels/carrier/gpu/sweep.cuh"
#include "kernels/carrier/gpu/sweep_arrays.cuh"
#include "kernels/carrier/gpu/sweep_line.cuh"
#include "kernels/carrier/gpu/team.cuh"
#include "kernels/carrier/math/sweep_math.h"

namespace baseband::carrier {
namespace {

// Candidates' phases from the line's: `turns` and, in the line's place, `phases`.
__global__ void __launch_bounds__(kTeamThreads)
    SweepPhaseKernel(const __grid_constant__ RecoverTask task, SweepArrays arrays) {
  const uint32_t f = blockIdx.x;
  const FrameView frame(task, f);
  const FrameState& state = task.states[f];
  if (state.bad != 0 || state.silent != 0) return;
  const int power = LineIsKnown(task, frame) ? 1 : task.model.power;
  for (unsigned k = threadIdx.x; k < arrays.room; k += kTeamThreads) {
    const size_t at = static_cast<size_t>(f) * arrays.room + k;
    const double carrier = state.estimate.phase;
    const double line = PhaseTurns(arrays.phases[at]);
    const double turns = CandidatePhase(carrier, carrier * power, line, power);
    arrays.turns[at] = turns;
    arrays.phases[at] = TurnedBack(Turns64(turns));
  }
}

// Equation 8 for the candidates of one group over `some` tiles of one frame. Block b is
// b = (frame * groups + group) * stretches + stretch.
template <SearchKind kKind>
__global__ void __launch_bounds__(kSweepThreads, kKind == SearchKind::kSixteen ? 2 : 3)
    SweepSumKernel(const __grid_constant__ RecoverTask task, SweepArrays arrays, unsigned some) {
  constexpr int kCandidates = CandidatesAtATime(kKind);
  extern __shared__ uint4 nearest_memory[];
  __shared__ float scratch[kSweepWarps][kCandidates];
  __shared__ Iq phases[kCandidates];
  const unsigned stretches = (arrays.tiles + some - 1) / some;
  const unsigned groups = arrays.room / kCandidates;
  const unsigned stretch = blockIdx.x % stretches;
  const unsigned group = blockIdx.x / stretches % groups;
  const unsigned f = blockIdx.x / stretches / groups;
  const FrameView frame(task, f);
  const FrameState& state = task.states[f];
  const int half = LastCandidate(task.parameters, static_cast<int>(frame.num_symbols));
  const int first = static_cast<int>(group) * kCandidates;
  const auto num_tiles = static_cast<unsigned>(NumSweepTiles(frame.num_symbols));
  if (stretch * some >= num_tiles || first > 2 * half || state.bad != 0 || state.silent != 0) {
    return;
  }
  const NearestView nearest = CopyNearest<kKind>(task.model.nearest, nearest_memory, kSweepThreads);
  const size_t row = static_cast<size_t>(f) * arrays.room + static_cast<size_t>(first);
  if (threadIdx.x < kCandidates) phases[threadIdx.x] = arrays.phases[row + threadIdx.x];
  __syncthreads();
  SweepPart part;
  part.samples = frame.samples;
  part.num_symbols = frame.num_symbols;
  part.step = task.parameters.sweep_step;
  part.frequency = state.coarse_frequency + (first - half) * part.step;
  part.inverse_gain = static_cast<float>(1.0 / state.estimate.gain);
  part.phases = phases;
  const unsigned end = min((stretch + 1) * some, num_tiles);
  for (part.tile = stretch * some; part.tile < end; ++part.tile) {
    float sums[kCandidates] = {};
    AddSweepPart<kKind>(part, nearest, sums);
    const float sum = SumOfSweepBlock<kCandidates>(sums, scratch);
    if (threadIdx.x < kCandidates) {
      arrays.sums[(row + threadIdx.x) * arrays.tiles + part.tile] = sum;
    }
    __syncthreads();  // `scratch` may change again
  }
}

// The least sum, ties to the lowest candidate, as frequency and phase of the frame's state.
__global__ void __launch_bounds__(kTeamThreads)
    SweepPickKernel(const __grid_constant__ RecoverTask task, SweepArrays arrays) {
  const uint32_t f = blockIdx.x;
  const RecoverFrame descriptor = task.frames[f];
  FrameState* const state = task.states + f;
  if (state->bad != 0 || state->silent != 0) return;
  const auto num_symbols = static_cast<int>(descriptor.num_symbols);
  const int half = LastCandidate(task.parameters, num_symbols);
  const int num_candidates = 2 * half + 1;
  const auto num_tiles = static_cast<unsigned>(NumSweepTiles(num_symbols));
  double* const evm = arrays.evm + static_cast<size_t>(f) * arrays.room;
  auto* const curve = reinterpret_cast<float*>(task.output + descriptor.curve_offset);
  for (int k = static_cast<int>(threadIdx.x); k < num_candidates; k += kTeamThreads) {
    const float* const sums =
        arrays.sums +
        (static_cast<size_t>(f) * arrays.room + static_cast<size_t>(k)) * arrays.tiles;
    double sum = 0.0;
    for (unsigned tile = 0; tile < num_tiles; ++tile) sum += static_cast<double>(sums[tile]);
    // As float, which is what the curve has and both devices compare.
    const auto mean = static_cast<float>(sum / num_symbols);
    evm[k] = mean;
    if (task.parameters.want_curve) curve[k] = mean;
  }
  __syncthreads();
  if (threadIdx.x >= 32) return;
  int best = static_cast<int>(threadIdx.x);
  for (int k = best + 32; k < num_candidates; k += 32) {
    if (evm[k] < evm[best]) best = k;
  }
  if (best >= num_candidates) best = 0;
  for (int apart = 16; apart > 0; apart /= 2) {
    const int other = __shfl_xor_sync(0xffffffffU, best, apart);
    if (evm[other] < evm[best] || (evm[other] == evm[best] && other < best)) best = other;
  }
  double found = best - half;
  if (task.parameters.sweep_interpolate && best > 0 && best + 1 < num_candidates) {
    found += ParabolaOffset(evm[best - 1], evm[best], evm[best + 1]);
  }
  found *= task.parameters.sweep_step;
  const FrameView frame(task, f);
  const int power = LineIsKnown(task, frame) ? 1 : task.model.power;
  const int length = SweepBlockLength(task.parameters, power, num_symbols);
  const Iq line = LineFromBlocks(arrays.blocks + static_cast<size_t>(f) * arrays.most_blocks,
                                 length, num_symbols, power, found);
  if (threadIdx.x != 0) return;
  const double carrier = state->estimate.phase;
  state->estimate.phase = CandidatePhase(carrier, carrier * power, PhaseTurns(line), power);
  state->estimate.frequency = state->coarse_frequency + found;
}

template <SearchKind kKind>
absl::Status LaunchSearchSums(const RecoverTask& task, const SweepArrays& arrays,
                              cudaStream_t stream) {
  const unsigned groups = arrays.room / static_cast<unsigned>(CandidatesAtATime(kKind));
  const auto bytes = static_cast<size_t>(NearestSharedBytes(task.model.nearest, kKind));
  // Several tiles a block, as long as there are blocks enough.
  constexpr int64_t kEnough = 8192;
  constexpr int64_t kMostTiles = 8;
  const int64_t most = int64_t{task.num_frames} * groups * arrays.tiles;
  const auto some = static_cast<unsigned>(
      std::clamp<int64_t>(most / kEnough, 1, std::min<int64_t>(kMostTiles, arrays.tiles)));
  const unsigned blocks = task.num_frames * groups * ((arrays.tiles + some - 1) / some);
  SweepSumKernel<kKind><<<blocks, kSweepThreads, bytes, stream>>>(task, arrays, some);
  return cuda::ToStatus(cudaGetLastError(), "SweepSumKernel");
}

absl::Status LaunchSums(const RecoverTask& task, const SweepArrays& arrays, cudaStream_t stream) {
  if (task.model.rings.count > 0) return LaunchRingSums(task, arrays, stream);
  switch (SearchKindOf(task.model.nearest)) {
    case SearchKind::kOne:
      return LaunchSearchSums<SearchKind::kOne>(task, arrays, stream);
    case SearchKind::kFour:
      return LaunchSearchSums<SearchKind::kFour>(task, arrays, stream);
    case SearchKind::kEight:
      return LaunchSearchSums<SearchKind::kEight>(task, arrays, stream);
    case SearchKind::kSixteen:
      return LaunchSearchSums<SearchKind::kSixteen>(task, arrays, stream);
    case SearchKind::kSliced:
      return LaunchSearchSums<SearchKind::kSliced>(task, arrays, stream);
    case SearchKind::kGrid:
      break;
  }
  return LaunchSearchSums<SearchKind::kGrid>(task, arrays, stream);
}

}  // namespace

SweepShape ShapeSweep(const Parameters& parameters, uint32_t shortest, uint32_t longest) {
  const auto fewest = static_cast<int>(shortest);
  const int64_t length = SweepBlockLength(parameters, kMaxPower, fewest);
  SweepShape shape;
  shape.num_candidates = std::min(NumCandidates(parameters, fewest), kMaxSweepBins);
  shape.num_symbols = longest;
  shape.num_blocks = (longest + length - 1) / length;
  return shape;
}

int64_t SweepFrameBytes(const SweepShape& shape) {
  const int64_t room = RoomForCandidates(shape.num_candidates);
  return AlignUp(room * static_cast<int64_t>(2 * sizeof(double) + sizeof(Iq)) +
                 shape.num_blocks * static_cast<int64_t>(sizeof(Iq)) +
                 room * NumSweepTiles(shape.num_symbols) * static_cast<int64_t>(sizeof(float)));
}

absl::Status PrepareSweep() {
  BASEBAND_RETURN_IF_ERROR(PrepareRingSums());
  // The grid of the largest constellation of a client's own.
  return cuda::ToStatus(cudaFuncSetAttribute(SweepSumKernel<SearchKind::kGrid>,
                                             cudaFuncAttributeMaxDynamicSharedMemorySize, 96 << 10),
                        "cudaFuncSetAttribute");
}

absl::Status LaunchSweep(const RecoverTask& task, const SweepTask& sweep, cudaStream_t stream) {
  const SweepArrays arrays = Divide(sweep, task.num_frames);
  SweepPhaseKernel<<<task.num_frames, kTeamThreads, 0, stream>>>(task, arrays);
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaGetLastError(), "SweepPhaseKernel"));
  BASEBAND_RETURN_IF_ERROR(LaunchSums(task, arrays, stream));
  SweepPickKernel<<<task.num_frames, kTeamThreads, 0, stream>>>(task, arrays);
  return cuda::ToStatus(cudaGetLastError(), "SweepPickKernel");
}

}  // namespace baseband::carrier
