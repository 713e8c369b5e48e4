// Stage S3, first part: the greatest peaks of a frame's spectrum, half bins included.
//
// Half bin h = 2 k is |F_k|^2, h = 2 k + 1 the power half way to F_{k+1}. Bins are looked at in
// tiles of 256, a warp each; the greatest half bin of every tile is kept, so that after a peak was
// found only the tiles around it are looked at again, without its neighbourhood.
#include "kernels/carrier/recover_launch.h"
#include "kernels/carrier/recover_task.cuh"
#include "kernels/carrier/team.cuh"

namespace baseband::carrier {
namespace {

constexpr int kBinTile = 256;       // bins, two half bins each
constexpr int kMaxBinTiles = 1024;  // of one thread block

// Shared memory of a block.
struct PeakMemory {
  unsigned long long tiles[kMaxBinTiles];
  unsigned long long of_warp[kTeamWarps];
  unsigned long long of_block[kMaxTeamBlocks];
  int found[kKnownPeaks];  // half bins
  float powers[kKnownPeaks];
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

// Looks again at the tiles around a new peak. By one warp.
__device__ void LookAgain(const Team& team, const float2* line, const SearchRange& range,
                          const HalfBin& half, int peak, int num_found, PeakMemory* memory) {
  const auto size = static_cast<int>(team.size());
  // Its neighbourhood is narrower than a tile: it touches two, or more where the circle closes.
  for (int side = -range.reach; side <= range.reach; side += range.reach) {
    int half_bin = peak + side;
    if (half_bin > range.high) half_bin -= 2 * range.points;
    if (half_bin < range.low) half_bin += 2 * range.points;
    if (half_bin < range.low || half_bin > range.high) continue;
    const int tile = ((half_bin >> 1) - (range.low >> 1)) / kBinTile;
    if (tile % size != static_cast<int>(team.rank())) continue;
    const unsigned long long key =
        GreatestOfTile(line, range, half, tile, memory->found, num_found);
    if (threadIdx.x % 32 == 0) memory->tiles[tile / size] = key;
    __syncwarp();
  }
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
    if (num_found == wanted) break;
    if (warp == 0) LookAgain(*team, line, range, half, peak, num_found, memory);
    __syncthreads();
  }
  return num_found;
}

__device__ SpectrumPeak PeakAt(const PeakMemory& memory, int k, const FramePlan& plan, int points,
                               const float2* spectrum) {
  SpectrumPeak peak;
  peak.half_bin = memory.found[k];
  peak.power = memory.powers[k];
  for (int i = 0; i < 4; ++i) {
    const int bin = (peak.half_bin >> 1) - 1 + i;
    peak.bins[i] =
        2 * abs(bin) > plan.last_half_bin ? -1.0F : PowerOf(spectrum[bin & (points - 1)]);
  }
  return peak;
}

__global__ void __launch_bounds__(kTeamThreads)
    PeakKernel(const __grid_constant__ RecoverTask task) {
  __shared__ PeakMemory memory;
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
    const float2* const spectrum = task.line + (static_cast<size_t>(f) << task.log2_line);
    SearchRange range;
    range.points = points;
    range.num_symbols = num_symbols;
    range.reach = (4 * points + num_symbols - 1) / num_symbols;
    range.high = min(plan.last_half_bin, points - 1);
    range.low = -plan.last_half_bin;
    const int num_peaks = FindPeaks(&team, spectrum, range, plan.max_peaks, &memory);
    __syncthreads();
    if (team.rank() == 0 && static_cast<int>(threadIdx.x) < num_peaks) {
      const auto k = static_cast<int>(threadIdx.x);
      state->peaks[k] = PeakAt(memory, k, plan, points, spectrum);
      if (k == 0) state->num_peaks = num_peaks;
    }
    team.Sync();  // `memory` may change again
  }
}

}  // namespace

int LeastPeakCluster(int log2_line) {
  return std::max(1, (1 << log2_line) / kBinTile / kMaxBinTiles);
}

absl::Status LaunchPeaks(const RecoverTask& task, int cluster, int max_blocks,
                         cudaStream_t stream) {
  return LaunchTeams(PeakKernel, "PeakKernel", task, task.num_frames, cluster, max_blocks, 0,
                     stream);
}

}  // namespace baseband::carrier
