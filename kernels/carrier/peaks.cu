// Stage S3: the greatest peaks of a frame's spectrum, half bins included, and each of them refined
// between the bins on sums over blocks of the line.
//
// Half bin h = 2 k is |F_k|^2, h = 2 k + 1 the power half way to F_{k+1}. Bins are looked at in
// tiles of 256, a warp each; the greatest half bin of every tile is kept, so that after a peak was
// found only the tiles around it are looked at again, without its neighbourhood.
#include "kernels/carrier/line_blocks.cuh"
#include "kernels/carrier/recover_launch.h"
#include "kernels/carrier/recover_task.cuh"
#include "kernels/carrier/team.cuh"

namespace baseband::carrier {
namespace {

constexpr int kBinTile = 256;       // bins, two half bins each
constexpr int kMaxBinTiles = 1024;  // of one thread block

// Shared memory of a block; `blocks` and `parts` follow, for as many peaks as are looked for.
struct PeakMemory {
  unsigned long long tiles[kMaxBinTiles];
  unsigned long long of_warp[kTeamWarps];
  unsigned long long of_block[kMaxTeamBlocks];
  int found[kKnownPeaks];  // half bins
  float powers[kKnownPeaks];
  RefinedLine lines[kKnownPeaks];
  double frequencies[kKnownPeaks];
  StagedLine staged;
};

// The range of half bins that a frame's spectrum is searched in.
struct SearchRange {
  int low = 0;
  int high = 0;    // inclusive
  int points = 0;  // L
  int num_symbols = 0;
  int reach = 0;  // half bins no further than this from a peak are that peak's own

  // Around the circle of 2 L.
  __device__ bool TooNear(int a, int b) const {
    const int apart = abs(a - b);
    return min(apart, 2 * points - apart) <= reach;
  }
};

__device__ __forceinline__ float PowerOf(float2 x) { return fmaf(x.x, x.x, x.y * x.y); }

// Greater power first, then lower half bin; 0 is nothing.
__device__ __forceinline__ unsigned long long KeyOf(float power, int half_bin, int low) {
  return static_cast<unsigned long long>(__float_as_uint(power)) << 32 |
         (0xffffffffU - static_cast<unsigned>(half_bin - low));
}
__device__ __forceinline__ int HalfBinOfKey(unsigned long long key, int low) {
  return low + static_cast<int>(0xffffffffU - static_cast<unsigned>(key));
}

__device__ __forceinline__ unsigned long long GreatestOfWarp(unsigned long long key) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    const unsigned long long other = __shfl_xor_sync(0xffffffffU, key, apart);
    key = other > key ? other : key;
  }
  return key;
}

// The greatest half bin of a tile outside the neighbourhood of the peaks found so far. By one warp.
__device__ unsigned long long GreatestOfTile(const float2* line, const SearchRange& range,
                                             const HalfBin& half, int tile, const int* found,
                                             int num_found) {
  const int first_bin = (range.low >> 1) + tile * kBinTile;
  const int mask = range.points - 1;
  unsigned long long best = 0;
#pragma unroll 4
  for (int j = 0; j < kBinTile / 32; ++j) {
    const int bin = first_bin + 32 * j + static_cast<int>(threadIdx.x % 32);
    if (2 * bin > range.high) break;
    const float2 here = line[bin & mask];
    const float2 next = line[(bin + 1) & mask];
    const float2 between = make_float2(here.x + fmaf(half.turn.c, next.x, -half.turn.s * next.y),
                                       here.y + fmaf(half.turn.c, next.y, half.turn.s * next.x));
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      const int half_bin = 2 * bin + odd;
      const float power = odd == 0 ? PowerOf(here) : PowerOf(between) * half.scale;
      bool counts = half_bin >= range.low && half_bin <= range.high;
      for (int i = 0; i < num_found; ++i) {
        counts = counts && !range.TooNear(half_bin, found[i]);
      }
      if (counts) best = max(best, KeyOf(power, half_bin, range.low));
    }
  }
  return GreatestOfWarp(best);
}

// The greatest of all tiles, the same for every thread of the team; 0 if none is left.
__device__ unsigned long long GreatestOfTeam(Team* team, PeakMemory* memory, int num_own_tiles) {
  unsigned long long best = 0;
  for (int t = static_cast<int>(threadIdx.x); t < num_own_tiles; t += kTeamThreads) {
    best = max(best, memory->tiles[t]);
  }
  best = GreatestOfWarp(best);
  if (threadIdx.x % 32 == 0) memory->of_warp[threadIdx.x / 32] = best;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (const unsigned long long key : memory->of_warp) best = max(best, key);
    for (unsigned block = 0; block < team->size(); ++block) {
      *team->Of(&memory->of_block[team->rank()], block) = best;
    }
  }
  team->Sync();
  best = 0;
  for (unsigned block = 0; block < team->size(); ++block) {
    best = max(best, memory->of_block[block]);
  }
  team->Sync();  // both arrays may change again
  return best;
}

// Finds up to `wanted` peaks, greatest first, in memory->found. Tile t belongs to block t mod size.
// memory->powers has what the spectrum shows of each.
__device__ int FindPeaks(Team* team, const float2* line, const SearchRange& range, int wanted,
                         PeakMemory* memory) {
  const HalfBin half = HalfBinOf(range.num_symbols, range.points);
  const int size = static_cast<int>(team->size());
  const int rank = static_cast<int>(team->rank());
  const int warp = static_cast<int>(threadIdx.x / 32);
  const int num_tiles = ((range.high >> 1) - (range.low >> 1)) / kBinTile + 1;
  const int num_own_tiles = (num_tiles - rank + size - 1) / size;
  for (int t = warp; t < num_own_tiles; t += kTeamWarps) {
    const unsigned long long key =
        GreatestOfTile(line, range, half, t * size + rank, memory->found, 0);
    if (threadIdx.x % 32 == 0) memory->tiles[t] = key;
  }
  __syncthreads();
  int num_found = 0;
  while (num_found < wanted) {
    const unsigned long long best = GreatestOfTeam(team, memory, num_own_tiles);
    if (best == 0) break;
    const int peak = HalfBinOfKey(best, range.low);
    if (threadIdx.x == 0) {
      memory->found[num_found] = peak;
      memory->powers[num_found] = __uint_as_float(static_cast<unsigned>(best >> 32));
    }
    ++num_found;
    __syncthreads();
    if (num_found == wanted || warp != 0) continue;
    // Its neighbourhood is narrower than a tile: it touches two, or more where the circle closes.
    for (int side = -range.reach; side <= range.reach; side += range.reach) {
      int half_bin = peak + side;
      if (half_bin > range.high) half_bin -= 2 * range.points;
      if (half_bin < range.low) half_bin += 2 * range.points;
      if (half_bin < range.low || half_bin > range.high) continue;
      const int tile = ((half_bin >> 1) - (range.low >> 1)) / kBinTile;
      if (tile % size != rank) continue;
      const unsigned long long key =
          GreatestOfTile(line, range, half, tile, memory->found, num_found);
      if (threadIdx.x % 32 == 0) memory->tiles[tile / size] = key;
      __syncwarp();
    }
  }
  return num_found;
}

// Refines a line from its blocks around `nu`. By one warp. `spectrum` is null if there was no
// search.
__device__ RefinedLine Refine(const Blocks& blocks, double nu, const FrameState& state,
                              const FramePlan& plan, int points, const float2* spectrum) {
  double delta = 0.0;
  if (spectrum != nullptr) {
    for (int step = 0; step < kLineSteps; ++step) delta = LineStep(blocks.At(delta), delta);
  }
  const LineAt at = blocks.At(delta);
  RefinedLine line;
  line.nu = nu + delta / points;
  line.phase = at.phase_turns();
  line.lambda = at.power() / state.line_energy;
  line.covariance = blocks.CovarianceAt(delta, line.phase, plan.line_power);
  line.bin_nu = line.nu;
  line.bin_phase = line.phase;
  line.bin_covariance = line.covariance;
  if (spectrum == nullptr) return line;
  const auto power = [&](int bin) {
    if (2 * abs(bin) > plan.last_half_bin) return -1.0F;
    return PowerOf(spectrum[bin & (points - 1)]);
  };
  int bin = static_cast<int>(floor(line.nu * points));
  if (power(bin + 1) > power(bin)) ++bin;
  line.bin_nu = static_cast<double>(bin) / points;
  const double to_bin = (line.bin_nu - nu) * points;
  line.bin_phase = blocks.At(to_bin).phase_turns();
  line.bin_covariance = blocks.CovarianceAt(to_bin, line.bin_phase, plan.line_power);
  return line;
}

// Sorts the lines by strength into the frame's state. `num_peaks` were found, of which the first
// `num_lines` were refined; the others show in the ratio of the two strongest only.
__device__ void KeepLines(const PeakMemory& memory, int num_peaks, int num_lines,
                          FrameState* state) {
  double second = 1.0;  // the mean of the bins, if there is no other peak
  for (int k = num_lines; k < num_peaks; ++k) {
    second = fmax(second, memory.powers[k] / state->line_energy);
  }
  for (int k = 0; k < num_lines; ++k) {
    int place = 0;
    for (int j = 0; j < num_lines; ++j) {
      const double other = memory.lines[j].lambda;
      place += other > memory.lines[k].lambda || (other == memory.lines[k].lambda && j < k) ? 1 : 0;
    }
    state->lines[place] = memory.lines[k];
  }
  if (num_lines > 1) second = fmax(second, state->lines[1].lambda);
  state->num_lines = num_lines;
  state->best_lambda = state->lines[0].lambda;
  state->second_lambda = second;
}

__global__ void __launch_bounds__(kTeamThreads)
    PeakKernel(const __grid_constant__ RecoverTask task, int wanted) {
  extern __shared__ uint4 shared[];
  auto* const memory = reinterpret_cast<PeakMemory*>(shared);
  auto* const blocks = reinterpret_cast<LineBlock*>(memory + 1);
  LineBlock* const parts = blocks + wanted * kMaxLineBlocks;
  // A team adds nothing up here: its memory for that is not needed.
  Team team(nullptr);
  const unsigned num_teams = gridDim.x / team.size();
  for (uint32_t f = blockIdx.x / team.size(); f < task.num_frames; f += num_teams) {
    const FrameView frame(task, f);
    FrameState* const state = task.states + f;
    if (state->bad != 0 || state->silent != 0) continue;
    const auto num_symbols = static_cast<int>(frame.num_symbols);
    const int points = 1 << task.log2_line;
    const FramePlan plan = PlanOf(task, frame, *state);
    const float2* const spectrum =
        task.line == nullptr ? nullptr : task.line + (static_cast<size_t>(f) << task.log2_line);
    int num_peaks = 1;
    if (spectrum != nullptr) {
      SearchRange range;
      range.points = points;
      range.num_symbols = num_symbols;
      range.reach = (4 * points + num_symbols - 1) / num_symbols;
      range.high = min(plan.last_half_bin, points - 1);
      range.low = -plan.last_half_bin;
      num_peaks = FindPeaks(&team, spectrum, range, plan.max_peaks, memory);
    } else if (threadIdx.x == 0) {
      memory->found[0] = 0;
    }
    __syncthreads();
    // Peaks that cannot come near the best are not refined; being sorted, they are the last ones.
    int num_lines = 1;
    if (task.line != nullptr) {
      const double doubtful = (memory->powers[0] - kDoubt * state->line_energy) * kHalfBinShare;
      while (num_lines < num_peaks && memory->powers[num_lines] >= doubtful) ++num_lines;
    }
    if (threadIdx.x < num_lines) {
      memory->frequencies[threadIdx.x] = 0.5 * memory->found[threadIdx.x] / points;
    }
    __syncthreads();
    const Estimate estimate = state->estimate;
    SumBlocks(&team, task, frame, estimate, num_lines, memory->frequencies, &memory->staged, blocks,
              parts);
    const auto warp = static_cast<int>(threadIdx.x / 32);
    if (team.rank() == 0 && warp < num_lines) {
      const Blocks own(blocks + warp * kMaxLineBlocks, num_symbols, points);
      const RefinedLine line =
          Refine(own, memory->frequencies[warp], *state, plan, points, spectrum);
      if (threadIdx.x % 32 == 0) memory->lines[warp] = line;
    }
    __syncthreads();
    if (team.rank() == 0 && threadIdx.x == 0) KeepLines(*memory, num_peaks, num_lines, state);
    team.Sync();  // `memory` and `blocks` may change again
  }
}

size_t SharedBytes(int wanted) {
  return sizeof(PeakMemory) +
         static_cast<size_t>(wanted) * (kMaxLineBlocks + kMaxParts) * sizeof(LineBlock);
}

}  // namespace

int LeastPeakCluster(int log2_line) {
  return std::max(1, (1 << log2_line) / kBinTile / kMaxBinTiles);
}

absl::Status PreparePeaks() {
  return cuda::ToStatus(
      cudaFuncSetAttribute(PeakKernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           static_cast<int>(SharedBytes(kKnownPeaks))),
      "cudaFuncSetAttribute");
}

absl::Status LaunchPeaks(const RecoverTask& task, int cluster, int max_blocks,
                         cudaStream_t stream) {
  const int wanted = task.parameters.coarse == Coarse::kKnown ? kKnownPeaks : kPeaks;
  return LaunchTeams(PeakKernel, "PeakKernel", task, task.num_frames, cluster, max_blocks,
                     SharedBytes(wanted), stream, wanted);
}

}  // namespace baseband::carrier
