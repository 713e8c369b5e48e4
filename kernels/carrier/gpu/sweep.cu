// Fine::kSweep: the paper's sweep. Three kernels: the initial phase of every candidate, from block
// sums of the line; equation 8 for every candidate and tile of symbols; the least of the sums.
#include <algorithm>
#include <cmath>

#include "kernels/carrier/gpu/line_symbol.cuh"
#include "kernels/carrier/gpu/recover_launch.h"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/recover_workspace.h"
#include "kernels/carrier/gpu/sweep.cuh"
#include "kernels/carrier/gpu/sweep_arrays.cuh"
#include "kernels/carrier/gpu/team.cuh"
#include "kernels/carrier/math/sweep_math.h"

namespace baseband::carrier {
namespace {

// Sums over short blocks of the line, turned back by the coarse frequency. A warp adds up one
// block, or 32 symbols of several: a block of 8 symbols then has lanes 8 b .. 8 b + 7.
__global__ void __launch_bounds__(kTeamThreads)
    SweepBlockKernel(const __grid_constant__ RecoverTask task, SweepArrays arrays) {
  AwaitKernelBefore();
  __shared__ alignas(16) unsigned char weight_memory[kWeightNodes * sizeof(WeightNode)];
  auto* const weights = reinterpret_cast<WeightNode*>(weight_memory);
  Team team(nullptr);
  const unsigned lane = threadIdx.x % 32;
  const unsigned num_teams = gridDim.x / team.size();
  for (uint32_t f = blockIdx.x / team.size(); f < task.num_frames; f += num_teams) {
    const FrameView frame(task, f);
    const FrameState& state = task.states[f];
    if (state.bad != 0 || state.silent != 0) continue;
    const bool known_line = LineIsKnown(task, frame);
    const int power = known_line ? 1 : task.model.power;
    const auto length = static_cast<unsigned>(
        SweepBlockLength(task.parameters, power, static_cast<int>(frame.num_symbols)));
    const unsigned stretch = max(length, 32U);
    const Rotor rotor(state.coarse_frequency * power, 0.0, frame.num_symbols);
    const LineMaker maker(task, frame, state.estimate, kTeamThreads, weights);
    Iq* const blocks = arrays.blocks + static_cast<size_t>(f) * arrays.most_blocks;
    for (uint32_t begin = team.thread() / 32 * stretch; begin < frame.num_symbols;
         begin += team.threads() / 32 * stretch) {
      Iq sum;
      for (uint32_t n = begin + lane; n < min(begin + stretch, frame.num_symbols); n += 32) {
        const Iq y = Multiply(maker.At(n, frame.samples.Read(n)), rotor.At(n));
        sum.i += y.i;
        sum.q += y.q;
      }
      for (unsigned apart = min(length, 32U) / 2; apart > 0; apart /= 2) {
        sum.i += __shfl_xor_sync(0xffffffffU, sum.i, apart);
        sum.q += __shfl_xor_sync(0xffffffffU, sum.q, apart);
      }
      const uint32_t n = begin + lane;
      if (lane % min(length, 32U) == 0 && n < frame.num_symbols) blocks[n / length] = sum;
    }
    __syncthreads();  // `weights` may change again
  }
}

// The line `offset` (of the carrier, cycles per symbol) from the coarse frequency, by a warp.
__device__ Iq LineFromBlocks(const Iq* blocks, int length, int num_symbols, int power,
                             double offset) {
  // Turns of the line in half a symbol: the blocks' centres are at halves of symbols.
  const uint64_t per_half = Turns64(0.5 * power * offset);
  const int num_blocks = (num_symbols + length - 1) / length;
  Iq line;
  for (int b = static_cast<int>(threadIdx.x % 32); b < num_blocks; b += 32) {
    const int64_t begin = int64_t{b} * length;
    const int64_t centre = 2 * begin + min(int64_t{length}, num_symbols - begin) - num_symbols;
    const Iq turned = Multiply(blocks[b], TurnedBack(per_half * static_cast<uint64_t>(centre)));
    line.i += turned.i;
    line.q += turned.q;
  }
  for (int apart = 16; apart > 0; apart /= 2) {
    line.i += __shfl_xor_sync(0xffffffffU, line.i, apart);
    line.q += __shfl_xor_sync(0xffffffffU, line.q, apart);
  }
  return line;
}
__device__ __forceinline__ double PhaseTurns(Iq line) {
  return atan2(static_cast<double>(line.q), static_cast<double>(line.i)) / kTurn;
}

// The line at every candidate, a warp for each: its phase in `turns`, its power in `evm`.
__global__ void __launch_bounds__(kTeamThreads)
    SweepLineKernel(const __grid_constant__ RecoverTask task, SweepArrays arrays) {
  const uint32_t f = blockIdx.x;
  const FrameView frame(task, f);
  const FrameState& state = task.states[f];
  if (state.bad != 0 || state.silent != 0) return;
  const auto num_symbols = static_cast<int>(frame.num_symbols);
  const int power = LineIsKnown(task, frame) ? 1 : task.model.power;
  const int length = SweepBlockLength(task.parameters, power, num_symbols);
  const Iq* const blocks = arrays.blocks + static_cast<size_t>(f) * arrays.most_blocks;
  const int half = LastCandidate(task.parameters, num_symbols);
  for (unsigned k = blockIdx.y * kTeamWarps + threadIdx.x / 32; k < arrays.room;
       k += gridDim.y * kTeamWarps) {
    const double offset = (static_cast<int>(k) - half) * task.parameters.sweep_step;
    const Iq line = LineFromBlocks(blocks, length, num_symbols, power, offset);
    if (threadIdx.x % 32 != 0) continue;
    const size_t at = static_cast<size_t>(f) * arrays.room + k;
    arrays.turns[at] = PhaseTurns(line);
    arrays.evm[at] = fmaf(line.i, line.i, line.q * line.q);
  }
}

// Coarse::kNone: the strongest line of all candidates takes the place of a peak. By one warp.
__global__ void __launch_bounds__(32)
    StrongestLineKernel(const __grid_constant__ RecoverTask task, SweepArrays arrays) {
  const uint32_t f = blockIdx.x;
  const FrameView frame(task, f);
  FrameState* const state = task.states + f;
  if (state->bad != 0 || state->silent != 0) return;
  const auto num_symbols = static_cast<int>(frame.num_symbols);
  const int half = LastCandidate(task.parameters, num_symbols);
  const size_t row = static_cast<size_t>(f) * arrays.room;
  const double* const power = arrays.evm + row;
  int best = min(static_cast<int>(threadIdx.x), 2 * half);
  for (int k = best + 32; k <= 2 * half; k += 32) {
    if (power[k] > power[best]) best = k;
  }
  for (int apart = 16; apart > 0; apart /= 2) {
    const int other = __shfl_xor_sync(0xffffffffU, best, apart);
    if (power[other] > power[best] || (power[other] == power[best] && other < best)) best = other;
  }
  if (threadIdx.x != 0) return;
  RefinedLine line = state->lines[0];
  const int line_power = LineIsKnown(task, frame) ? 1 : task.model.power;
  line.nu = (best - half) * task.parameters.sweep_step * line_power;
  line.phase = arrays.turns[row + static_cast<size_t>(best)];
  line.lambda = power[best] / state->line_energy;
  line.bin_nu = line.nu;
  state->lines[0] = line;
  state->num_lines = 1;
}

// Candidates' phases from the line's, in place.
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
    const double turns = CandidatePhase(carrier, carrier * power, arrays.turns[at], power);
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
absl::Status LaunchSums(const RecoverTask& task, const SweepArrays& arrays, cudaStream_t stream) {
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
  // The grid of the largest constellation of a client's own.
  return cuda::ToStatus(cudaFuncSetAttribute(SweepSumKernel<SearchKind::kGrid>,
                                             cudaFuncAttributeMaxDynamicSharedMemorySize, 96 << 10),
                        "cudaFuncSetAttribute");
}

absl::Status LaunchSweepLines(const RecoverTask& task, const SweepTask& sweep, int cluster,
                              int max_blocks, cudaStream_t stream) {
  const SweepArrays arrays = Divide(sweep, task.num_frames);
  BASEBAND_RETURN_IF_ERROR(LaunchTeams(SweepBlockKernel, "SweepBlockKernel", task, task.num_frames,
                                       cluster, max_blocks, 0, stream, arrays));
  const dim3 grid(task.num_frames, std::min(arrays.room / kTeamWarps, 1024U));
  SweepLineKernel<<<grid, kTeamThreads, 0, stream>>>(task, arrays);
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaGetLastError(), "SweepLineKernel"));
  if (task.parameters.coarse != Coarse::kNone) return absl::OkStatus();
  StrongestLineKernel<<<task.num_frames, 32, 0, stream>>>(task, arrays);
  return cuda::ToStatus(cudaGetLastError(), "StrongestLineKernel");
}

absl::Status LaunchSweep(const RecoverTask& task, const SweepTask& sweep, cudaStream_t stream) {
  const SweepArrays arrays = Divide(sweep, task.num_frames);
  SweepPhaseKernel<<<task.num_frames, kTeamThreads, 0, stream>>>(task, arrays);
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaGetLastError(), "SweepPhaseKernel"));
  switch (SearchKindOf(task.model.nearest)) {
    case SearchKind::kOne:
      BASEBAND_RETURN_IF_ERROR(LaunchSums<SearchKind::kOne>(task, arrays, stream));
      break;
    case SearchKind::kFour:
      BASEBAND_RETURN_IF_ERROR(LaunchSums<SearchKind::kFour>(task, arrays, stream));
      break;
    case SearchKind::kEight:
      BASEBAND_RETURN_IF_ERROR(LaunchSums<SearchKind::kEight>(task, arrays, stream));
      break;
    case SearchKind::kSixteen:
      BASEBAND_RETURN_IF_ERROR(LaunchSums<SearchKind::kSixteen>(task, arrays, stream));
      break;
    case SearchKind::kSliced:
      BASEBAND_RETURN_IF_ERROR(LaunchSums<SearchKind::kSliced>(task, arrays, stream));
      break;
    case SearchKind::kGrid:
      BASEBAND_RETURN_IF_ERROR(LaunchSums<SearchKind::kGrid>(task, arrays, stream));
      break;
  }
  SweepPickKernel<<<task.num_frames, kTeamThreads, 0, stream>>>(task, arrays);
  return cuda::ToStatus(cudaGetLastError(), "SweepPickKernel");
}

}  // namespace baseband::carrier
