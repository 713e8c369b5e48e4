// Stage S3, first part: the greatest peaks of a frame's spectrum, half bins included.
//
// Half bin h = 2 k is |F_k|^2, h = 2 k + 1 the power half way to F_{k+1}. Bins are looked at in
// tiles of 256, a warp each, and the greatest half bin of every tile is kept. Then a warp for each
// frame takes the greatest of all, and looks again at the tiles around it, without its
// neighbourhood, before it takes the next.
#include "kernels/carrier/gpu/recover_launch.h"
#include "kernels/carrier/gpu/recover_task.cuh"

namespace baseband::carrier {
namespace {

using Key = unsigned long long;

constexpr int kBinTile = 256;  // bins, two half bins each
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

// The range of half bins that a frame's spectrum is searched in.
struct SearchRange {
  int low = 0;
  int high = 0;    // inclusive
  int points = 0;  // L
  int reach = 0;   // half bins no further than this from a peak are that peak's own
  HalfBin half;

  __device__ SearchRange(const FramePlan& plan, const HalfBin& of_frame, int num_symbols,
                         int log2_line)
      : low(-plan.last_half_bin),
        high(min(plan.last_half_bin, (1 << log2_line) - 1)),
        points(1 << log2_line),
        reach(PeakReach(num_symbols, points, plan.known_line)),
        half(of_frame) {}

  __device__ int num_tiles() const { return ((high >> 1) - (low >> 1)) / kBinTile + 1; }
  __device__ int TileOf(int half_bin) const { return ((half_bin >> 1) - (low >> 1)) / kBinTile; }
  // Around the circle of 2 L.
  __device__ bool TooNear(int a, int b) const {
    const int apart = abs(a - b);
    return min(apart, 2 * points - apart) <= reach;
  }
};

__device__ __forceinline__ float PowerOf(float2 x) { return fmaf(x.x, x.x, x.y * x.y); }

// Greater power first, then lower half bin; 0 is nothing.
__device__ __forceinline__ Key KeyOf(float power, int half_bin, int low) {
  return static_cast<Key>(__float_as_uint(power)) << 32 |
         (0xffffffffU - static_cast<unsigned>(half_bin - low));
}
__device__ __forceinline__ int HalfBinOfKey(Key key, int low) {
  return low + static_cast<int>(0xffffffffU - static_cast<unsigned>(key));
}
__device__ __forceinline__ float PowerOfKey(Key key) {
  return __uint_as_float(static_cast<unsigned>(key >> 32));
}

__device__ __forceinline__ Key GreatestOfWarp(Key key) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    key = max(key, __shfl_xor_sync(0xffffffffU, key, apart));
  }
  return key;
}

// The greatest half bin of a tile outside the neighbourhood of the peaks found so far. By one warp.
__device__ Key GreatestOfTile(const float2* line, const SearchRange& range, int tile,
                              const int* found, int num_found) {
  constexpr int kSteps = kBinTile / 32;
  const int first_bin = (range.low >> 1) + tile * kBinTile + static_cast<int>(threadIdx.x % 32);
  const int mask = range.points - 1;
  float2 here[kSteps];
  float2 next[kSteps];
#pragma unroll
  for (int j = 0; j < kSteps; ++j) {
    here[j] = line[(first_bin + 32 * j) & mask];
    next[j] = line[(first_bin + 32 * j + 1) & mask];
  }
  Key best = 0;
#pragma unroll
  for (int j = 0; j < kSteps; ++j) {
    const float2 between =
        make_float2(here[j].x + fmaf(range.half.turn.c, next[j].x, -range.half.turn.s * next[j].y),
                    here[j].y + fmaf(range.half.turn.c, next[j].y, range.half.turn.s * next[j].x));
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      const int half_bin = 2 * (first_bin + 32 * j) + odd;
      const float power = odd == 0 ? PowerOf(here[j]) : PowerOf(between) * range.half.scale;
      // Zeros are no peaks: where there is nothing else, the line is that at 0.
      bool counts = power > 0.0F && half_bin >= range.low && half_bin <= range.high;
      for (int i = 0; i < num_found; ++i) {
        counts = counts && !range.TooNear(half_bin, found[i]);
      }
      if (counts) best = max(best, KeyOf(power, half_bin, range.low));
    }
  }
  return GreatestOfWarp(best);
}

// keys[frame][tile], a warp each.
__global__ void __launch_bounds__(kThreads)
    TileKernel(const __grid_constant__ RecoverTask task, Key* keys, unsigned tiles_of_row) {
  AwaitKernelBefore();
  const unsigned blocks_of_row = (tiles_of_row + kWarps - 1) / kWarps;
  const uint32_t f = blockIdx.x / blocks_of_row;
  const auto tile = static_cast<int>(blockIdx.x % blocks_of_row * kWarps + threadIdx.x / 32);
  const FrameState& state = task.states[f];
  if (state.bad != 0 || state.silent != 0) return;
  __shared__ alignas(16) unsigned char range_memory[sizeof(SearchRange)];
  auto* const shared_range = reinterpret_cast<SearchRange*>(range_memory);
  if (threadIdx.x == 0) {
    const FrameView frame(task, f);
    *shared_range = SearchRange(PlanOf(task, frame, state), state.half,
                                static_cast<int>(frame.num_symbols), task.log2_line);
  }
  __syncthreads();
  const SearchRange range = *shared_range;
  if (tile >= range.num_tiles()) return;
  const float2* const line = task.line + (static_cast<size_t>(f) << task.log2_line);
  const Key key = GreatestOfTile(line, range, tile, nullptr, 0);
  if (threadIdx.x % 32 == 0) {
    keys[static_cast<size_t>(f) * tiles_of_row + static_cast<size_t>(tile)] = key;
  }
}

// Looks again at the tiles around the last of the peaks, and writes their keys. By one warp.
__device__ void LookAgain(const float2* line, const SearchRange& range, const int* found,
                          int num_found, Key* keys) {
  // The neighbourhood is narrower than a tile: it touches two, or more where the circle closes.
  int last = -1;
  for (int side = -range.reach; side <= range.reach; side += range.reach) {
    int half_bin = found[num_found - 1] + side;
    if (half_bin > range.high) half_bin -= 2 * range.points;
    if (half_bin < range.low) half_bin += 2 * range.points;
    if (half_bin < range.low || half_bin > range.high) continue;
    const int tile = range.TileOf(half_bin);
    if (tile == last) continue;
    last = tile;
    const Key key = GreatestOfTile(line, range, tile, found, num_found);
    if (threadIdx.x % 32 == 0) keys[tile] = key;
  }
  __syncwarp();
}

// What the spectrum shows of each frame's greatest peaks. A warp, which is a block, for each frame.
__global__ void __launch_bounds__(32)
    PeakKernel(const __grid_constant__ RecoverTask task, Key* all_keys, unsigned tiles_of_row) {
  AwaitKernelBefore();
  const uint32_t f = blockIdx.x;
  FrameState* const state = task.states + f;
  if (state->bad != 0 || state->silent != 0) return;
  const FrameView frame(task, f);
  const FramePlan plan = PlanOf(task, frame, *state);
  const SearchRange range(plan, state->half, static_cast<int>(frame.num_symbols), task.log2_line);
  const float2* const line = task.line + (static_cast<size_t>(f) << task.log2_line);
  Key* const keys = all_keys + static_cast<size_t>(f) * tiles_of_row;
  const auto lane = static_cast<int>(threadIdx.x);
  int found[kKnownPeaks];
  int num_found = 0;
  while (num_found < plan.max_peaks) {
    Key best = 0;
    for (int t = lane; t < range.num_tiles(); t += 32) best = max(best, keys[t]);
    best = GreatestOfWarp(best);
    if (best == 0) break;
    const int peak = HalfBinOfKey(best, range.low);
    if (lane < 4) {
      const int bin = (peak >> 1) - 1 + lane;
      state->peaks[num_found].bins[lane] =
          2 * abs(bin) > plan.last_half_bin ? -1.0F : PowerOf(line[bin & (range.points - 1)]);
    }
    if (lane == 0) {
      state->peaks[num_found].half_bin = peak;
      state->peaks[num_found].power = PowerOfKey(best);
    }
    found[num_found++] = peak;
    if (num_found < plan.max_peaks) LookAgain(line, range, found, num_found, keys);
  }
  if (lane == 0) state->num_peaks = num_found;
}

int64_t TilesOfRow(int log2_line) { return (int64_t{1} << log2_line) / kBinTile + 2; }

}  // namespace

int64_t PeakBytes(int log2_line) {
  return TilesOfRow(log2_line) * static_cast<int64_t>(sizeof(Key));
}

absl::Status LaunchPeaks(const RecoverTask& task, void* memory, cudaStream_t stream) {
  const auto tiles = static_cast<unsigned>(TilesOfRow(task.log2_line));
  auto* const keys = static_cast<Key*>(memory);
  const unsigned blocks = (tiles + kWarps - 1) / kWarps;
  BASEBAND_RETURN_IF_ERROR(LaunchNext(TileKernel, "TileKernel", task, task.num_frames * blocks,
                                      kThreads, stream, keys, tiles));
  return LaunchNext(PeakKernel, "PeakKernel", task, task.num_frames, 32, stream, keys, tiles);
}

}  // namespace baseband::carrier
