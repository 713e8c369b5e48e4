// Stage S3, first part: the greatest peaks of a frame's spectrum, half bins included.
//
// Half bin h = 2 k is |F_k|^2, h = 2 k + 1 the power half way to F_{k+1}. The greatest half bin of
// every row of 32 bins is kept, by a warp that has a bin of the row in each lane. Then a thread
// block for each frame takes the greatest of all, and looks again at the rows around it, without
// its neighbourhood, before it takes the next.
#include "kernels/carrier/gpu/recover_launch.h"
#include "kernels/carrier/gpu/recover_task.cuh"

namespace baseband::carrier {
namespace {

using Key = unsigned long long;

constexpr int kRow = 32;        // bins, two half bins each
constexpr int kRowsOfWarp = 8;  // that it looks at together
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
// Of PeakKernel, by the number of rows.
constexpr int kLeastPeakThreads = 128;
constexpr int kMostPeakThreads = 1024;
constexpr unsigned kRowsOfPeakThread = 4;
constexpr unsigned kMostRowsInShared = 4097;  // of 2^17 points
static_assert(4 * kKnownPeaks <= kLeastPeakThreads, "a thread for each bin that is kept");
// The rows that a peak's neighbourhood, narrower than one, can touch are those of its middle and
// its ends; at the end of the range the last one.
constexpr int kTouched = 3;
static_assert(kTouched <= kLeastPeakThreads / 32, "a warp looks again at each");

__device__ __forceinline__ int NumRows(const SpectrumSearch& search) {
  return ((search.high >> 1) - (search.low >> 1)) / kRow + 1;
}
// Around the circle of 2 L.
__device__ __forceinline__ bool TooNear(const SpectrumSearch& search, int a, int b) {
  const int apart = abs(a - b);
  return min(apart, 2 * search.points - apart) <= search.reach;
}

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
  const auto power = static_cast<unsigned>(key >> 32);
  const unsigned greatest = __reduce_max_sync(0xffffffffU, power);
  const unsigned place = power == greatest ? static_cast<unsigned>(key) : 0U;
  return static_cast<Key>(greatest) << 32 | __reduce_max_sync(0xffffffffU, place);
}

// The greater half bin of bin `bin`, F being `here` there and `next` at the next one, outside the
// neighbourhood of the peaks found so far.
__device__ __forceinline__ Key KeyOfBin(const SpectrumSearch& search, int bin, float2 here,
                                        float2 next, const int* found, int num_found) {
  const Turned turn = search.half.turn;
  const float2 between = make_float2(here.x + fmaf(turn.c, next.x, -turn.s * next.y),
                                     here.y + fmaf(turn.c, next.y, turn.s * next.x));
  Key best = 0;
#pragma unroll
  for (int odd = 0; odd < 2; ++odd) {
    const int half_bin = 2 * bin + odd;
    const float power = odd == 0 ? PowerOf(here) : PowerOf(between) * search.half.scale;
    // Zeros are no peaks: where there is nothing else, the line is that at 0.
    bool counts = power > 0.0F && half_bin >= search.low && half_bin <= search.high;
    for (int i = 0; i < num_found; ++i) {
      counts = counts && !TooNear(search, half_bin, found[i]);
    }
    if (counts) best = max(best, KeyOf(power, half_bin, search.low));
  }
  return best;
}

// keys[frame][row]: a warp for each kRowsOfWarp of them.
__global__ void __launch_bounds__(kThreads)
    RowKernel(const __grid_constant__ RecoverTask task, Key* keys, unsigned rows_of_frame) {
  AwaitKernelBefore();
  // Not sooner: kernels from the next one on may read what S1 left, see AwaitS1, whatever the FFT's
  // own kernels let come.
  LetNextKernelCome();
  const unsigned blocks_of_frame =
      (rows_of_frame + kWarps * kRowsOfWarp - 1) / (kWarps * kRowsOfWarp);
  const uint32_t f = blockIdx.x / blocks_of_frame;
  const unsigned block = blockIdx.x - f * blocks_of_frame;
  const auto first_row = static_cast<int>((block * kWarps + threadIdx.x / 32) * kRowsOfWarp);
  const auto lane = static_cast<int>(threadIdx.x % 32);
  const FrameState& state = task.states[f];
  if (state.bad != 0 || state.silent != 0) return;
  const SpectrumSearch search = state.search;
  const int num_rows = NumRows(search);
  if (first_row >= num_rows) return;
  const float2* const line = task.line + (static_cast<size_t>(f) << task.log2_line);
  const int mask = search.points - 1;
  const int first_bin = (search.low >> 1) + first_row * kRow + lane;
  float2 here[kRowsOfWarp];
  float2 next[kRowsOfWarp];
#pragma unroll
  for (int j = 0; j < kRowsOfWarp; ++j) {
    here[j] = line[(first_bin + kRow * j) & mask];
    next[j] = line[(first_bin + kRow * j + 1) & mask];
  }
  Key of_lane = 0;  // of row first_row + lane
#pragma unroll
  for (int j = 0; j < kRowsOfWarp; ++j) {
    const Key key =
        GreatestOfWarp(KeyOfBin(search, first_bin + kRow * j, here[j], next[j], nullptr, 0));
    if (lane == j) of_lane = key;
  }
  if (lane < kRowsOfWarp && first_row + lane < num_rows) {
    keys[static_cast<size_t>(f) * rows_of_frame + static_cast<unsigned>(first_row + lane)] =
        of_lane;
  }
}

// Row `side`, of kTouched, of a peak's neighbourhood: around the circle or, where that is not
// closed, up to the range's end.
__device__ __forceinline__ int TouchedRow(const SpectrumSearch& search, int peak, int side) {
  int half_bin = peak + (side - 1) * search.reach;
  if (half_bin > search.high) {
    const int around = half_bin - 2 * search.points;
    half_bin = around >= search.low ? around : search.high;
  } else if (half_bin < search.low) {
    const int around = half_bin + 2 * search.points;
    half_bin = around <= search.high ? around : search.low;
  }
  return ((half_bin >> 1) - (search.low >> 1)) / kRow;
}

// What the spectrum shows of each frame's greatest peaks. A thread block for each frame, with
// shared memory for `rows_in_shared` keys: of more rows the keys stay where they are.
__global__ void __launch_bounds__(kMostPeakThreads)
    PeakKernel(const __grid_constant__ RecoverTask task, Key* all_keys, unsigned rows_of_frame,
               int rows_in_shared) {
  LetNextKernelCome();
  extern __shared__ Key keys_memory[];
  __shared__ Key of_warps[32];
  __shared__ int found[kKnownPeaks];
  __shared__ Key found_keys[kKnownPeaks];
  const uint32_t f = blockIdx.x;
  FrameState* const state = task.states + f;
  AwaitS1(task);
  const SpectrumSearch search = state->search;
  AwaitKernelBefore();
  if (state->bad != 0 || state->silent != 0) return;
  const float2* const line = task.line + (static_cast<size_t>(f) << task.log2_line);
  Key* keys = all_keys + static_cast<size_t>(f) * rows_of_frame;
  const int num_rows = NumRows(search);
  const int mask = search.points - 1;
  const auto thread = static_cast<int>(threadIdx.x);
  const auto num_threads = static_cast<int>(blockDim.x);
  const int warp = thread / 32;
  const int lane = thread % 32;
  if (num_rows <= rows_in_shared) {
#pragma unroll 4
    for (int row = thread; row < num_rows; row += num_threads) keys_memory[row] = keys[row];
    keys = keys_memory;  // of the same threads, at first
  }
  int num_found = 0;
  while (num_found < search.max_peaks) {
    Key best = 0;
#pragma unroll 4
    for (int row = thread; row < num_rows; row += num_threads) best = max(best, keys[row]);
    best = GreatestOfWarp(best);
    if (lane == 0) of_warps[warp] = best;
    __syncthreads();
    best = GreatestOfWarp(lane < num_threads / 32 ? of_warps[lane] : 0);
    if (best == 0) break;
    const int peak = HalfBinOfKey(best, search.low);
    if (thread == 0) {
      found[num_found] = peak;
      found_keys[num_found] = best;
    }
    ++num_found;
    __syncthreads();
    if (warp < kTouched && num_found < search.max_peaks) {
      const int row = TouchedRow(search, peak, warp);
      const int bin = (search.low >> 1) + row * kRow + lane;
      const Key key = GreatestOfWarp(
          KeyOfBin(search, bin, line[bin & mask], line[(bin + 1) & mask], found, num_found));
      if (lane == 0) keys[row] = key;
    }
    __syncthreads();
  }
  if (thread < 4 * num_found) {
    SpectrumPeak* const kept = state->peaks + thread / 4;
    const int peak = found[thread / 4];
    const int bin = (peak >> 1) - 1 + thread % 4;
    kept->bins[thread % 4] = 2 * abs(bin) > -search.low ? -1.0F : PowerOf(line[bin & mask]);
    if (thread % 4 == 0) {
      kept->half_bin = peak;
      kept->power = PowerOfKey(found_keys[thread / 4]);
    }
  }
  if (thread == 0) state->num_peaks = num_found;
}

int64_t RowsOfFrame(int log2_line) { return (int64_t{1} << log2_line) / kRow + 1; }

}  // namespace

int64_t PeakBytes(int log2_line) {
  return RowsOfFrame(log2_line) * static_cast<int64_t>(sizeof(Key));
}

absl::Status LaunchPeaks(const RecoverTask& task, void* memory, cudaStream_t stream) {
  const auto rows = static_cast<unsigned>(RowsOfFrame(task.log2_line));
  auto* const keys = static_cast<Key*>(memory);
  const unsigned blocks = (rows + kWarps * kRowsOfWarp - 1) / (kWarps * kRowsOfWarp);
  BASEBAND_RETURN_IF_ERROR(LaunchNext(RowKernel, "RowKernel", task, task.num_frames * blocks,
                                      kThreads, 0, stream, keys, rows));
  unsigned threads = kLeastPeakThreads;
  while (threads < kMostPeakThreads && threads * kRowsOfPeakThread < rows) threads *= 2;
  const unsigned in_shared = rows <= kMostRowsInShared ? rows : 0;
  return LaunchNext(PeakKernel, "PeakKernel", task, task.num_frames, threads,
                    in_shared * sizeof(Key), stream, keys, rows, static_cast<int>(in_shared));
}

}  // namespace baseband::carrier
