// The product that all down-conversion comes to: out[t][c] = sum_k x[t * down - k] * taps[c][k] for
// outputs t and columns c that see the same samples x. With few of either it is a filter, with many
// a matrix product whose left matrix is made of overlapping windows (Toeplitz). A thread has 8
// consecutive outputs of 1 or 4 columns; a block's 4 warps lie side by side over outputs, over
// columns, or 2 x 2:
//
//   warps_across  1: warps have outputs 0.., 256.., 512.., 768.. of the same columns
//                 4: warps have outputs 0.. of columns 0.., 4.., 8.., 12..
//
// Step by step (TapWalk) a block converts the samples that it needs to float32, once for all of its
// columns, into a window in shared memory. Branch b of the walk sees the samples i * down - b. A
// thread reads them one after another, its neighbour those 8 further on; so that the neighbours'
// reads lie side by side, sample i of branch b is kept at
//   b * pitch + (i mod 8) * row + i / 8.
// For down = 8 (a branch's window beginning at sample 0; `row` is 40, `pitch` 321):
//   samples 8, 7, .., 1  (i = 1, branches 0 .. 7)  at  40, 361, .., 2287
//   lane l's output 0, depth 3, branch 0: i = 8 l - 3, counted from `history` = 8 before it i = 8 l
//   + 5: at 5 * 40 + l, which is conflict-free
// Writing goes along the samples: consecutive ones lie `pitch` apart, and a row apart from one i to
// the next. With pitch = 1 and row = branches (mod the number of banks) neither meets itself.
//
// Every output is added up in the same order, whatever the block, the column or the kind of kernel:
// by steps, in them by branch, then depth, each a fused multiply-add.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_PRODUCT_CUH_
#define BASEBAND_KERNELS_DOWNCONVERT_PRODUCT_CUH_

#include <cuda_pipeline.h>

#include <cstdint>

#include "kernels/downconvert/gpu_plan.h"
#include "kernels/downconvert/samples.cuh"

namespace baseband::downconvert::gpu {

// What the threads of a block agree on: the block's share of its task.
struct Tile {
  uint32_t set = 0;           // of taps
  uint32_t set_taps = 0;      // in it
  int64_t first_output = 0;   // of the set's
  int64_t num_outputs = 0;    // of the set's, in all
  int64_t newest_sample = 0;  // of output `first_output`, in the input
  int64_t newest_index = 0;   // the same, absolute
  uint32_t sub_range = 0;     // output t of the set is output sub_range + t * up of the task
  uint32_t first_column = 0;  // of the task's
};

// Blocks are dealt columns first, so that those that run at the same time share samples.
__device__ inline Tile TileOf(const ProductTask& task, uint32_t block, uint32_t group,
                              uint32_t warp_outputs = kWarpOutputs) {
  const TapWalk& walk = task.walk;
  const uint32_t block_columns = group * task.warps_across;
  const uint32_t outputs = warp_outputs * kBlockWarps / task.warps_across;
  Tile tile;
  uint32_t rest = block;
  if (task.num_columns > block_columns) {
    const uint32_t column_blocks = (task.num_columns + block_columns - 1) / block_columns;
    tile.first_column = block % column_blocks * block_columns;
    rest = block / column_blocks;
  }
  uint32_t first_of_set = 0;  // the set's first output: newest sample, from the task's
  if (walk.up == 1) {
    tile.set_taps = walk.num_taps;
    tile.num_outputs = task.num_outputs;
  } else {
    tile.sub_range = rest % walk.up;
    rest /= walk.up;
    // (m + r) * down = m * down + r * down; the task has quotient and remainder of m * down by up.
    const uint32_t upsampled = task.first_remainder + tile.sub_range * walk.down;
    first_of_set = upsampled / walk.up;
    tile.set = upsampled % walk.up;
    tile.set_taps = tile.set < walk.num_taps ? (walk.num_taps - tile.set - 1) / walk.up + 1 : 0;
    tile.num_outputs = (task.num_outputs - tile.sub_range + walk.up - 1) / walk.up;
  }
  tile.first_output = static_cast<int64_t>(rest) * outputs;
  const int64_t ahead = first_of_set + tile.first_output * walk.down;
  tile.newest_sample = task.newest_sample + ahead;
  tile.newest_index = task.newest_index + ahead;
  return tile;
}

// One step of a walk.
struct Step {
  uint32_t first_branch = 0;
  uint32_t num_branches = 0;
  uint32_t first_depth = 0;
};

// Samples that a thread reads from memory before it writes the first: so many are on their way at
// once. A window of 256 outputs, 8 branches and 8 samples of history takes 16.5 rounds.
constexpr int kInFlight = 17;

// Brings kInFlight samples from places of memory `stride` apart to places of the window `apart`
// apart, and moves on behind them. Not kAll: there are `left` < kInFlight, and the last of them is
// brought again and again, which costs less than to leave the others out.
template <bool kAll, typename Raw, typename Sample>
__device__ __forceinline__ void LoadRounds(uint32_t left, uint32_t stride, uint32_t apart,
                                           const Raw*& from, Sample*& target) {
  Raw samples[kInFlight];
#pragma unroll
  for (uint32_t s = 0; s < kInFlight; ++s) {
    samples[s] = __ldg(from);
    from += kAll || s + 1 < left ? stride : 0;
  }
#pragma unroll
  for (uint32_t s = 0; s < kInFlight; ++s) {
    *target = ToFloat(samples[s]);
    target += kAll || s + 1 < left ? apart : 0;
  }
}

// `branch_lanes` neighbouring threads take as many branches, the next ones the samples `down`
// later; from round to round a thread goes on by a multiple of 8 samples, and so stays in its row.
template <typename Sample, InputFormat kFormat>
__device__ __forceinline__ void LoadWindowAs(const ProductTask& task, const uint8_t* input,
                                             const Tile& tile, const Step& step,
                                             uint32_t branch_samples, Sample* window) {
  using Raw = typename RawOf<kFormat>::Type;
  const uint32_t down = task.walk.down;
  const uint32_t branch = threadIdx.x % task.branch_lanes;
  const uint32_t first = threadIdx.x / task.branch_lanes;
  if (branch >= step.num_branches || first >= branch_samples) return;
  const uint32_t round = kBlockThreads / task.branch_lanes;
  const uint32_t rounds = (branch_samples - first + round - 1) / round;
  // The thread's sample of round s is sample at + s * stride of the input.
  const int64_t at =
      tile.newest_sample +
      (static_cast<int64_t>(first) - static_cast<int64_t>(step.first_depth + task.history)) * down -
      (step.first_branch + branch);
  const Raw* from = reinterpret_cast<const Raw*>(input) + at;
  const uint32_t stride = round * down;
  const uint32_t apart = round / kThreadOutputs;
  Sample* target =
      window + branch * task.pitch + first % kThreadOutputs * task.row + first / kThreadOutputs;
  if (at >= 0 && task.input_samples - at > static_cast<int64_t>(rounds - 1) * stride) {
    uint32_t left = rounds;
    for (; left >= kInFlight; left -= kInFlight) {
      LoadRounds<true>(kInFlight, stride, apart, from, target);
    }
    if (left > 0) LoadRounds<false>(left, stride, apart, from, target);
    return;
  }
  // At the ends of the input some are missing; few blocks come here.
#pragma unroll 1
  for (uint32_t s = 0; s < rounds; ++s, target += apart) {
    const int64_t n = at + static_cast<int64_t>(s) * stride;
    *target = ToFloat(
        n >= 0 && n < task.input_samples ? __ldg(reinterpret_cast<const Raw*>(input) + n) : Raw());
  }
}

template <typename Sample>
__device__ __forceinline__ void LoadWindow(const ProductTask& task, const uint8_t* input,
                                           const Tile& tile, const Step& step,
                                           uint32_t branch_samples, Sample* window) {
  if constexpr (sizeof(Sample) == sizeof(float2)) {
    switch (task.format) {
      case InputFormat::kInt8:
        return LoadWindowAs<Sample, InputFormat::kInt8>(task, input, tile, step, branch_samples,
                                                        window);
      case InputFormat::kInt16:
        return LoadWindowAs<Sample, InputFormat::kInt16>(task, input, tile, step, branch_samples,
                                                         window);
      default:
        return LoadWindowAs<Sample, InputFormat::kFloat32>(task, input, tile, step, branch_samples,
                                                           window);
    }
  } else {
    switch (task.format) {
      case InputFormat::kRealInt8:
        return LoadWindowAs<Sample, InputFormat::kRealInt8>(task, input, tile, step, branch_samples,
                                                            window);
      case InputFormat::kRealInt16:
        return LoadWindowAs<Sample, InputFormat::kRealInt16>(task, input, tile, step,
                                                             branch_samples, window);
      default:
        return LoadWindowAs<Sample, InputFormat::kRealFloat32>(task, input, tile, step,
                                                               branch_samples, window);
    }
  }
}

// Begins to copy a step's slots; each warp takes part in those of its own columns, in the places
// along of along + kBlockWarps / warps_across.
template <uint32_t kColumns, typename Tap>
__device__ __forceinline__ void BeginTaps(const ProductTask& task, const uint8_t* column_taps,
                                          uint32_t set, uint32_t step_index, uint32_t along,
                                          uint4* taps) {
  const uint32_t words = task.walk.step_slots * kColumns * sizeof(Tap) / sizeof(uint4);
  const auto* const from = reinterpret_cast<const uint4*>(column_taps) +
                           (static_cast<uint64_t>(set) * task.walk.steps() + step_index) * words;
  const uint32_t round = kBlockThreads / task.warps_across;
  for (uint32_t e = along * 32 + threadIdx.x % 32; e < words; e += round) {
    __pipeline_memcpy_async(taps + e, from + e, sizeof(uint4));
  }
}

template <uint32_t kColumns, typename Tap>
struct alignas(kColumns * sizeof(Tap) > 16 ? 16 : kColumns * sizeof(Tap)) TapGroup {
  Tap of[kColumns];
};

template <uint32_t kColumns>
using Sums = float2[kColumns][kThreadOutputs];

// Adds a sample's products with a tap of each column to output r. Several columns are innermost, so
// that they find the sample in the multiplier: registers are read through two ports, and of three
// operands at two ports one waits (a quad: 1.36 cycles a multiply-add by the ports of its
// registers, with all of a column's products side by side 1.38 to 1.46).
template <uint32_t kColumns>
__device__ __forceinline__ void AddProducts(float2 sample, const TapGroup<kColumns, float2>& tap,
                                            int r, Sums<kColumns>& sums) {
  if constexpr (kColumns == 1) {
    float2& sum = sums[0][r];
    sum.x = fmaf(-tap.of[0].y, sample.y, fmaf(tap.of[0].x, sample.x, sum.x));
    sum.y = fmaf(tap.of[0].y, sample.x, fmaf(tap.of[0].x, sample.y, sum.y));
  } else {
#pragma unroll
    for (uint32_t c = 0; c < kColumns; ++c)
      sums[c][r].x = fmaf(tap.of[c].x, sample.x, sums[c][r].x);
#pragma unroll
    for (uint32_t c = 0; c < kColumns; ++c)
      sums[c][r].y = fmaf(tap.of[c].x, sample.y, sums[c][r].y);
#pragma unroll
    for (uint32_t c = 0; c < kColumns; ++c)
      sums[c][r].x = fmaf(-tap.of[c].y, sample.y, sums[c][r].x);
#pragma unroll
    for (uint32_t c = 0; c < kColumns; ++c)
      sums[c][r].y = fmaf(tap.of[c].y, sample.x, sums[c][r].y);
  }
}
template <uint32_t kColumns>
__device__ __forceinline__ void AddProducts(float sample, const TapGroup<kColumns, float2>& tap,
                                            int r, Sums<kColumns>& sums) {
#pragma unroll
  for (uint32_t c = 0; c < kColumns; ++c) sums[c][r].x = fmaf(tap.of[c].x, sample, sums[c][r].x);
#pragma unroll
  for (uint32_t c = 0; c < kColumns; ++c) sums[c][r].y = fmaf(tap.of[c].y, sample, sums[c][r].y);
}
template <uint32_t kColumns>
__device__ __forceinline__ void AddProducts(float2 sample, const TapGroup<kColumns, float>& tap,
                                            int r, Sums<kColumns>& sums) {
#pragma unroll
  for (uint32_t c = 0; c < kColumns; ++c) {
    sums[c][r].x = fmaf(tap.of[c], sample.x, sums[c][r].x);
    sums[c][r].y = fmaf(tap.of[c], sample.y, sums[c][r].y);
  }
}

// Adds up to 8 taps of a branch, from a depth that is a multiple of 8 on. `newest` points to output
// 0's sample at that depth, `held` has the samples of outputs 1 .. 7. At depth d from there on
// output r needs sample r - d: each depth brings in one sample and drops one, so that sample s is
// held at s mod 8.
//
//   depth   0                1                   2
//   held    0 1 2 3 .. 7     0 1 2 3 .. 6 -1     0 1 2 3 .. 5 -2 -1
template <uint32_t kColumns, bool kAll, typename Sample, typename Tap>
__device__ __forceinline__ void AddTaps(const Sample* newest, uint32_t row,
                                        const TapGroup<kColumns, Tap>* taps, uint32_t num_taps,
                                        Sample (&held)[8], Sums<kColumns>& sums) {
  held[0] = *newest;
#pragma unroll
  for (int d = 0; d < 8; ++d) {
    if (!kAll && static_cast<uint32_t>(d) >= num_taps) break;
    if (d > 0) held[8 - d] = newest[static_cast<int32_t>((8 - d) * row) - 1];
    const TapGroup<kColumns, Tap> tap = taps[d];
#pragma unroll
    for (int r = 0; r < 8; ++r) AddProducts<kColumns>(held[(r - d) & 7], tap, r, sums);
  }
}

// Adds a step's products to a thread's sums. `window` is the thread's own: at its output 0's newest
// sample.
template <uint32_t kColumns, typename Sample, typename Tap>
__device__ __forceinline__ void AddStep(const ProductTask& task, uint32_t set_taps,
                                        const Step& step, const Sample* window,
                                        const TapGroup<kColumns, Tap>* taps, Sums<kColumns>& sums) {
  const TapWalk& walk = task.walk;
  // Branch b has taps b, b + down, .. < set_taps: `deepest` of them, or one less.
  const uint32_t deepest = (set_taps + walk.down - 1) / walk.down;
  const uint32_t full_branches = set_taps - (deepest - 1) * walk.down;
  for (uint32_t b = 0; b < step.num_branches; ++b) {
    const uint32_t branch_taps = deepest - (step.first_branch + b >= full_branches ? 1 : 0);
    if (set_taps == 0 || branch_taps <= step.first_depth) break;
    uint32_t left = min(walk.depth, branch_taps - step.first_depth);
    const Sample* newest = window + b * task.pitch;
    const TapGroup<kColumns, Tap>* tap = taps + b * walk.depth;
    Sample held[8];
#pragma unroll
    for (int r = 1; r < 8; ++r) {
      held[r] = newest[r * task.row];
    }
    for (; left >= 8; left -= 8, --newest, tap += 8) {
      AddTaps<kColumns, true>(newest, task.row, tap, 8, held, sums);
    }
    if (left > 0) AddTaps<kColumns, false>(newest, task.row, tap, left, held, sums);
  }
}

// Whether one of the first `count` sums of a thread is not finite, as every sum is that a sample
// like that has gone into: nothing makes an infinity or a NaN finite again, and in a sum with taps
// that were turned each part of a sample goes into both parts.
__device__ __forceinline__ bool HasNonFinite(const float2 (&sums)[kThreadOutputs], int64_t count) {
  float zero = 0.0F;  // or NaN
  if (count >= kThreadOutputs) {
#pragma unroll
    for (uint32_t r = 0; r < kThreadOutputs; ++r) zero = fmaf(sums[r].x, 0.0F, zero);
  } else {  // the others have added up what nobody wrote
#pragma unroll
    for (uint32_t r = 0; r < kThreadOutputs; ++r) {
      zero = r < count ? fmaf(sums[r].x, 0.0F, zero) : zero;
    }
  }
  return zero != 0.0F;
}

// Whether a sample is not finite among those that this warp's outputs see. For few warps: sums of
// finite samples may be beyond float32, too. Finds out anew where the warp is, so that the others
// need no registers for it.
template <typename Sample>
__device__ __forceinline__ bool SeesNonFinite(const ProductTask* tasks, uint32_t num_tasks,
                                              uint32_t group, const uint8_t* samples) {
  uint32_t block;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  const ProductTask& task = TaskOf(tasks, num_tasks, block);
  const Tile tile = TileOf(task, block - task.first_block, group);
  const int64_t ahead = threadIdx.x / 32 / task.warps_across * kWarpOutputs;
  const int64_t outputs = min(tile.num_outputs - tile.first_output - ahead, int64_t{kWarpOutputs});
  const int64_t newest = tile.newest_sample + ahead * task.walk.down;  // of the first output
  constexpr int64_t kFloats = sizeof(Sample) / sizeof(float);
  const int64_t begin = max(newest - tile.set_taps + 1, int64_t{0}) * kFloats;
  const int64_t end =
      min(newest + (outputs - 1) * task.walk.down + 1, task.input_samples) * kFloats;
  bool is_finite = true;
#pragma unroll 1
  for (int64_t i = begin + threadIdx.x % 32; i < end; i += 32) {
    is_finite &= isfinite(__ldg(reinterpret_cast<const float*>(samples) + i));
  }
  return !__all_sync(0xffffffffU, is_finite);
}

}  // namespace baseband::downconvert::gpu

#endif  // BASEBAND_KERNELS_DOWNCONVERT_PRODUCT_CUH_
