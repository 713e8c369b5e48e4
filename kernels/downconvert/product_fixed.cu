// The product of integer samples, exactly: as matrix products of bytes, which tensor cores sum up
// in int32. For many channels that see the same samples; product.cuh is the form for all others.
//
//   taps      T = d0 + 256 d1 + 256^2 d2 + 256^3 d3, digits of [-128, 127] (fixed_taps.h)
//   samples   of 16 bits x = lo + 256 hi, lo in [0, 255], hi in [-128, 127]; of 8 bits just hi
//   sums      s0 = sum lo d0, s1 = sum lo d1 + hi d0, .., s4 = sum hi d3; below 2^31 for up to
//             kMaxFixedTaps taps, with 4 products a tap, each at most 255 * 128
//   output    s0 + 256 s1 + .. + 256^4 s4, times 2^-exponent: to float32 in two roundings, of
//             integers that do not depend on the order of the sums, then the amplitude's
//
// A matrix product is that of a warp: 16 rows, I and Q of 8 channels, by 8 outputs, 32 bytes deep:
// 16 taps. Its depth is the samples as they lie in memory, I and Q by turns:
//
//   row I of a channel    T.i -T.q  T.i' -T.q' ..        column: samples x.i x.q x.i' x.q' ..
//   row Q                 T.q  T.i  T.q'  T.i' ..        from the oldest to the newest of an output
//
// A thread holds the digits of a quarter of a channel's taps in registers, 64 taps at a time, while
// its warp goes along the outputs. Samples lie in shared memory in units of two: 4 bytes in the
// plane of the high bytes and, of 16 bits, 4 in that of the low ones. Output t's column begins at
// unit t * down / 2; where down is odd, odd outputs read from a copy that begins one sample later.
// A warp reads 4 units in a row of each of 8 outputs, which for down = 8 lie side by side (else:
// fixed_shape.h).
#include <type_traits>

#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"
#include "kernels/downconvert/fixed_shape.h"
#include "kernels/downconvert/fixed_taps.h"
#include "kernels/downconvert/gpu_launch.h"
#include "kernels/downconvert/product.cuh"

namespace baseband::downconvert::gpu {
namespace {

constexpr uint32_t kTileOutputs = 8;  // of one matrix product
constexpr uint32_t kDigits = 4;
constexpr uint32_t kStepUnits = kFixedStepTaps / 2;

// Tiles whose sums a warp has at a time, and blocks of a multiprocessor, which leave a thread the
// registers for that. Longer filters load their taps again for each few tiles.
template <bool kIsLong>
constexpr uint32_t kTiles = kIsLong ? 4 : 2;
template <bool kIsLong>
constexpr int kMinBlocks = kIsLong ? 2 : 3;

// Sums by weight, 256^w, and by row and column: I of two outputs, Q of the same.
template <bool kIsWide>
constexpr int kWeights = kIsWide ? 5 : 4;
template <bool kIsWide>
using TileSums = int[kWeights<kIsWide>][4];
using Taps = uint32_t[kFixedChunkSteps][kDigits][4];  // a thread's, as the matrix product has them

// sums += digits (16 x 32) * samples (32 x 8).
template <bool kIsSigned>
__device__ __forceinline__ void Multiply(const uint32_t (&digits)[4], uint32_t first,
                                         uint32_t second, int (&sums)[4]) {
  if constexpr (kIsSigned) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(digits[0]), "r"(digits[1]), "r"(digits[2]), "r"(digits[3]), "r"(first), "r"(second));
  } else {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(digits[0]), "r"(digits[1]), "r"(digits[2]), "r"(digits[3]), "r"(first), "r"(second));
  }
}

// Adds a tile's products in `kSteps` steps of a chunk. `near` and `far` are the thread's units of
// the first two and of the last two steps; the low bytes lie `plane` words further on.
template <bool kIsWide, uint32_t kSteps>
__device__ __forceinline__ void AddSteps(const Taps& taps, const uint32_t* near,
                                         const uint32_t* far, uint32_t plane,
                                         TileSums<kIsWide>& sums) {
#pragma unroll
  for (uint32_t s = 0; s < kSteps; ++s) {
    const uint32_t* const units = (s < 2 ? near : far) + s % 2 * kStepUnits;
    if constexpr (kIsWide) {
#pragma unroll
      for (uint32_t d = 0; d < kDigits; ++d) {
        Multiply<false>(taps[s][d], units[plane], units[plane + 4], sums[d]);
      }
    }
#pragma unroll
    for (uint32_t d = 0; d < kDigits; ++d) {
      Multiply<true>(taps[s][d], units[0], units[4], sums[d + (kIsWide ? 1 : 0)]);
    }
  }
}

// The digits of four taps in a row of a matrix: digit d of all in taps[d], the first tap's lowest.
__device__ __forceinline__ void SortDigits(int32_t a, int32_t b, int32_t c, int32_t d, uint32_t row,
                                           uint32_t (&taps)[kDigits][4]) {
  const uint32_t low_ab = __byte_perm(FixedDigits(a), FixedDigits(b), 0x5140);
  const uint32_t low_cd = __byte_perm(FixedDigits(c), FixedDigits(d), 0x5140);
  const uint32_t high_ab = __byte_perm(FixedDigits(a), FixedDigits(b), 0x7362);
  const uint32_t high_cd = __byte_perm(FixedDigits(c), FixedDigits(d), 0x7362);
  taps[0][row] = __byte_perm(low_ab, low_cd, 0x5410);
  taps[1][row] = __byte_perm(low_ab, low_cd, 0x7632);
  taps[2][row] = __byte_perm(high_ab, high_cd, 0x5410);
  taps[3][row] = __byte_perm(high_ab, high_cd, 0x7632);
}

// A thread's part of a channel's taps in a chunk: those of units `quarter` and `quarter` + 4 of
// each step. `taps` are in ascending order, the newest sample's first; a column begins with the
// oldest.
__device__ __forceinline__ void LoadTaps(const ProductTask& task, const int2* taps,
                                         uint32_t first_step, uint32_t steps, uint32_t quarter,
                                         Taps& held) {
  const uint32_t depth = steps * kFixedStepTaps;
#pragma unroll
  for (uint32_t s = 0; s < kFixedChunkSteps; ++s) {
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t unit = (first_step + s) * kStepUnits + half * 4 + quarter;
      const uint32_t newer = depth - 2 - 2 * unit;  // of the unit's two samples; wraps past the end
      int4 pair = make_int4(0, 0, 0, 0);            // the newer one's tap, the older one's
      if (newer < task.walk.step_slots) pair = __ldg(reinterpret_cast<const int4*>(taps + newer));
      SortDigits(pair.z, -pair.w, pair.x, -pair.y, 2 * half, held[s]);
      SortDigits(pair.w, pair.z, pair.y, pair.x, 2 * half + 1, held[s]);
    }
  }
}

// The bytes of a unit, high ones and low ones.
__device__ __forceinline__ uint32_t HighBytes(uint32_t older, uint32_t newer) {
  return __byte_perm(older, newer, 0x7531);
}
__device__ __forceinline__ uint32_t LowBytes(uint32_t older, uint32_t newer) {
  return __byte_perm(older, newer, 0x6420);
}
__device__ __forceinline__ uint32_t HighBytes(uint16_t older, uint16_t newer) {
  return older | static_cast<uint32_t>(newer) << 16;
}

// Units that a thread reads from memory before it writes the first: so many are on their way at
// once. 256 outputs of 64 taps / 8 take 8.25 rounds.
constexpr uint32_t kUnitsInFlight = 9;

// Brings in `units` units, from sample `first` of the input on. Not kIsInside: the input may not
// have all of their samples, which then are zero.
template <bool kIsInside, typename Raw>
__device__ __forceinline__ void LoadUnits(const Raw* input, int64_t num_samples, int64_t first,
                                          uint32_t units, const FixedShape& shape, uint32_t plane,
                                          uint32_t* window) {
  const auto sample = [&](uint32_t i) {
    const int64_t at = first + i;
    return kIsInside || (at >= 0 && at < num_samples) ? __ldg(input + at) : Raw();
  };
#pragma unroll 1
  for (uint32_t begin = threadIdx.x; begin < units; begin += kUnitsInFlight * kBlockThreads) {
    // The last of them is brought again and again, which costs less than to leave the others out.
    const uint32_t last = (units - 1 - begin) / kBlockThreads;
    const auto unit = [&](uint32_t r) { return begin + min(r, last) * kBlockThreads; };
    Raw older[kUnitsInFlight];
    Raw newer[kUnitsInFlight];
#pragma unroll
    for (uint32_t r = 0; r < kUnitsInFlight; ++r) {
      older[r] = sample(2 * unit(r));
      newer[r] = sample(2 * unit(r) + 1);
    }
#pragma unroll
    for (uint32_t r = 0; r < kUnitsInFlight; ++r) {
      const uint32_t u = unit(r);
      window[shape.PlaceOf(u)] = HighBytes(older[r], newer[r]);
      if constexpr (sizeof(Raw) == sizeof(uint32_t)) {
        window[plane + shape.PlaceOf(u)] = LowBytes(older[r], newer[r]);
      }
    }
  }
}

// All units of a block's outputs, those of the copy behind the others.
template <typename Raw>
__device__ __forceinline__ void LoadWindow(const ProductTask& task, const FixedShape& shape,
                                           const Memory& memory, const Tile& tile, uint32_t outputs,
                                           uint32_t copy, uint32_t plane, uint32_t* window) {
  const auto* const input = reinterpret_cast<const Raw*>(memory.samples + task.input);
  const int64_t first = tile.newest_sample + 1 - static_cast<int64_t>(shape.steps * kFixedStepTaps);
  const uint32_t units = shape.Units(outputs);
  const bool is_inside = first >= 0 && first + 2 * int64_t{units} + 1 <= task.input_samples;
#pragma unroll 1
  for (uint32_t later = 0; later <= (copy > 0 ? 1 : 0); ++later) {
    uint32_t* const to = window + later * copy;
    if (is_inside) {
      LoadUnits<true>(input, task.input_samples, first + later, units, shape, plane, to);
    } else {
      LoadUnits<false>(input, task.input_samples, first + later, units, shape, plane, to);
    }
  }
}

// The sum that `sums` stand for: its lowest bytes, which float32 holds exactly, and how often
// 256^(kLow + 1) is in it, which is below 2^31 (fixed_taps.cc). So that nothing of a quiet signal's
// is lost.
template <bool kIsWide>
__device__ __forceinline__ float ValueOf(const TileSums<kIsWide>& sums, uint32_t i) {
  constexpr int kLow = kWeights<kIsWide> - 3;
  int low = 0;
  int carry = 0;
#pragma unroll
  for (int w = 0; w <= kLow; ++w) {
    const int sum = sums[w][i] + carry;
    low |= (sum & 0xff) << (8 * w);
    carry = sum >> 8;
  }
  const auto high =
      static_cast<int>(static_cast<uint32_t>(sums[kLow + 2][i]) * 256U +
                       static_cast<uint32_t>(sums[kLow + 1][i]) + static_cast<uint32_t>(carry));
  return fmaf(static_cast<float>(high), kIsWide ? 0x1p24F : 0x1p16F, static_cast<float>(low));
}

template <bool kIsWide, bool kIsLong>
__global__ void __launch_bounds__(kBlockThreads, kMinBlocks<kIsLong>)
    FixedKernel(const ProductTask* __restrict__ tasks, uint32_t num_tasks,
                const Column* __restrict__ all_columns, const Memory memory) {
  extern __shared__ uint4 shared[];
  auto* const window = reinterpret_cast<uint32_t*>(shared);
  const ProductTask& task = TaskOf(tasks, num_tasks, blockIdx.x);
  const uint32_t down = task.walk.down;
  const FixedShape shape = FixedShapeOf(task.walk.num_taps, down);
  const Tile tile = TileOf(task, blockIdx.x - task.first_block, kFixedColumns, shape.warp_outputs);
  const uint32_t block_outputs = shape.warp_outputs * kBlockWarps / task.warps_across;
  const auto outputs = static_cast<uint32_t>(
      min(tile.num_outputs - tile.first_output, static_cast<int64_t>(block_outputs)));
  const uint32_t plane = shape.Places(block_outputs);
  const uint32_t copy = down % 2 != 0 ? shape.Units(block_outputs) : 0;
  LoadWindow<std::conditional_t<kIsWide, uint32_t, uint16_t>>(task, shape, memory, tile, outputs,
                                                              copy, plane, window);
  __syncthreads();

  // Of this warp: its outputs, from the block's first on, and its channels; of this thread one.
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t quarter = lane % 4;
  const uint32_t warp_first = warp / task.warps_across * shape.warp_outputs;
  const uint32_t warp_column = tile.first_column + warp % task.warps_across * kFixedColumns;
  if (warp_first >= outputs || warp_column >= task.num_columns) return;
  const uint32_t warp_end = min(outputs, warp_first + shape.warp_outputs);
  const uint32_t column_index = warp_column + lane / 4;
  const bool has_column = column_index < task.num_columns;  // or computes what nobody wants
  const Column& column = all_columns[task.first_column + min(column_index, task.num_columns - 1)];
  const auto* const taps = reinterpret_cast<const int2*>(memory.workspace + column.taps);
  const float amplitude = column.amplitude;
  const OutputFormat format = column.format;
  uint8_t* const to = (column.is_last ? memory.output : memory.workspace) + column.output +
                      tile.first_output * OutputBytes(format);
  const uint32_t end = has_column ? outputs : 0;
  Oscillator oscillator;
  oscillator.anchors = reinterpret_cast<const Anchor*>(memory.workspace + column.anchors);
  oscillator.first_anchor = column.first_anchor;
  oscillator.step = column.step;
  const auto newest = [&](uint32_t t) {
    return tile.newest_index + static_cast<int64_t>(min(t, warp_end - 1)) * down;
  };
  // Words go on from the first one as long as no anchor comes between.
  const bool has_one_anchor =
      newest(warp_first) / kAnchorSpacing == newest(warp_end) / kAnchorSpacing;
  const uint64_t output_step = column.step * down;
  uint64_t first_word = oscillator.Word(newest(warp_first)) + 2 * quarter * output_step;
  uint32_t saturated = 0;

  Taps held;
  if constexpr (!kIsLong) LoadTaps(task, taps, 0, shape.steps, quarter, held);
#pragma unroll 1
  for (uint32_t group = warp_first; group < warp_end; group += kTiles<kIsLong> * kTileOutputs) {
    int sums[kTiles<kIsLong>][kWeights<kIsWide>][4] = {};
    const uint32_t* units[kTiles<kIsLong>];
#pragma unroll
    for (uint32_t j = 0; j < kTiles<kIsLong>; ++j) {
      const uint32_t t = group + j * kTileOutputs + lane / 4;
      units[j] = window + shape.PlaceOf(t * down / 2) + (t % 2 != 0 ? copy : 0) + quarter;
    }
    const auto add = [&](uint32_t chunk, auto steps) {
      const uint32_t near = shape.PlaceOf(chunk * kStepUnits);
      const uint32_t far = shape.PlaceOf((chunk + 2) * kStepUnits);
#pragma unroll
      for (uint32_t j = 0; j < kTiles<kIsLong>; ++j) {
        AddSteps<kIsWide, decltype(steps)::value>(held, units[j] + near, units[j] + far, plane,
                                                  sums[j]);
      }
    };
    if constexpr (kIsLong) {
#pragma unroll 1
      for (uint32_t chunk = 0; chunk < shape.steps; chunk += kFixedChunkSteps) {
        LoadTaps(task, taps, chunk, shape.steps, quarter, held);
        add(chunk, std::integral_constant<uint32_t, kFixedChunkSteps>());
      }
    } else if (shape.steps == 1) {
      add(0, std::integral_constant<uint32_t, 1>());
    } else if (shape.steps == 2) {
      add(0, std::integral_constant<uint32_t, 2>());
    } else {
      add(0, std::integral_constant<uint32_t, kFixedChunkSteps>());
    }
#pragma unroll
    for (uint32_t j = 0; j < kTiles<kIsLong>; ++j) {
      const uint32_t t = group + j * kTileOutputs + quarter * 2;
      uint64_t words[2] = {first_word, first_word + output_step};
      first_word += kTileOutputs * output_step;
      if (!has_one_anchor) {
        words[0] = oscillator.Word(newest(t));
        words[1] = oscillator.Word(newest(t + 1));
      }
      float2 values[2];
#pragma unroll
      for (uint32_t r = 0; r < 2; ++r) {
        values[r] = make_float2(ValueOf<kIsWide>(sums[j], r), ValueOf<kIsWide>(sums[j], r + 2));
        values[r] = Turn(values[r], words[r], amplitude);
      }
      saturated += WriteOutputs(format, values, t, end, 1, to);
    }
  }
  if (saturated > 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&memory.results[column.channel].saturated),
              static_cast<unsigned long long>(saturated));
  }
}

using Kernel = void (*)(const ProductTask*, uint32_t, const Column*, Memory);
constexpr Kernel kKernels[] = {FixedKernel<false, false>, FixedKernel<false, true>,  // int8
                               FixedKernel<true, false>, FixedKernel<true, true>};   // int16

}  // namespace

absl::Status LoadFixedProducts() {
  for (const Kernel kernel : kKernels) {
    BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMaxFixedBytes),
        "cudaFuncSetAttribute"));
  }
  return absl::OkStatus();
}

absl::Status LaunchFixedProduct(const ProductLaunch& launch, InputFormat format,
                                const ProductTask* tasks, const Column* columns,
                                const Memory& memory, cudaStream_t stream) {
  const Kernel kernel =
      kKernels[(format == InputFormat::kInt16 ? 2 : 0) + (launch.kind.is_long ? 1 : 0)];
  kernel<<<static_cast<unsigned>(launch.num_blocks), kBlockThreads, launch.shared_bytes, stream>>>(
      tasks, launch.num_tasks, columns, memory);
  return cuda::ToStatus(cudaGetLastError(), "FixedKernel");
}

}  // namespace baseband::downconvert::gpu
