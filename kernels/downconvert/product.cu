#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"
#include "kernels/downconvert/gpu_launch.h"
#include "kernels/downconvert/product.cuh"

namespace baseband::downconvert::gpu {
namespace {

// Blocks that a multiprocessor is to hold: as many as leave the kernel its registers, 128 a thread
// of four and 168 of three, which the sums of a quad of complex samples or over several steps take.
// (64 channels of an H200: 8.0 Gsamples/s with three blocks against 7.8, of real ones 12.0 against
// 13.2.)
constexpr int MinBlocks(uint32_t columns, bool is_complex, bool is_long) {
  return columns > 1 && (is_complex || is_long) ? 3 : 4;
}

__device__ __forceinline__ Oscillator OscillatorOf(const Column& column, const Memory& memory) {
  Oscillator oscillator;
  oscillator.anchors = reinterpret_cast<const Anchor*>(memory.workspace + column.anchors);
  oscillator.first_anchor = column.first_anchor;
  oscillator.step = column.step;
  return oscillator;
}

// Turns a thread's sums by the oscillator, unless their samples were mixed, and writes them.
template <bool kTurned, uint32_t kColumns>
__device__ __forceinline__ void Finish(const ProductTask& task, const Column* columns,
                                       const Memory& memory, const Tile& tile, int64_t first,
                                       Sums<kColumns>& sums) {
  const uint32_t down = task.walk.down;
  const uint32_t up = task.walk.up;
  // The newest samples of the set's last output and, if it has one, of the thread's first.
  const int64_t last = tile.newest_index + (tile.num_outputs - 1 - tile.first_output) * down;
  const int64_t newest = min(tile.newest_index + (first - tile.first_output) * down, last);
  uint64_t first_words[kColumns];  // all columns' at once, for they come from far
  if constexpr (kTurned) {
#pragma unroll
    for (uint32_t c = 0; c < kColumns; ++c) {
      first_words[c] = OscillatorOf(columns[c], memory).Word(newest);
    }
  }
#pragma unroll
  for (uint32_t c = 0; c < kColumns; ++c) {
    const Column& column = columns[c];
    if constexpr (kTurned) {
      uint64_t words[kThreadOutputs];
      OscillatorOf(column, memory).Words(first_words[c], newest, down, last, words);
#pragma unroll
      for (uint32_t r = 0; r < kThreadOutputs; ++r) {
        sums[c][r] = Turn(sums[c][r], words[r], column.amplitude);
      }
    }
    uint8_t* const to = (column.is_last ? memory.output : memory.workspace) + column.output +
                        tile.sub_range * OutputBytes(column.format);
    const uint32_t saturated =
        WriteOutputs(column.format, sums[c], first, tile.num_outputs, up, to);
    if (column.format == OutputFormat::kInt16 && __any_sync(0xffffffffU, saturated != 0)) {
      const uint32_t of_warp = __reduce_add_sync(0xffffffffU, saturated);
      if (threadIdx.x % 32 == 0) {
        atomicAdd(reinterpret_cast<unsigned long long*>(&memory.results[column.channel].saturated),
                  static_cast<unsigned long long>(of_warp));
      }
    }
  }
}

// kLooks: samples may be no numbers, and the tasks say who looks.
template <typename Sample, typename Tap, uint32_t kColumns, bool kLong, bool kLooks>
__global__ void __launch_bounds__(kBlockThreads,
                                  MinBlocks(kColumns, sizeof(Sample) == sizeof(float2), kLong))
    ProductKernel(const ProductTask* __restrict__ tasks, uint32_t num_tasks,
                  const Column* __restrict__ all_columns, const Memory memory) {
  constexpr bool kTurned = sizeof(Tap) == sizeof(float2);
  extern __shared__ uint4 shared[];
  const ProductTask& task = TaskOf(tasks, num_tasks, blockIdx.x);
  const TapWalk& walk = task.walk;
  const Column* const columns = all_columns + task.first_column;
  const Tile tile = TileOf(task, blockIdx.x - task.first_block, kColumns);
  // Of this warp: its place across, and its outputs and columns.
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t across = threadIdx.x / 32 % task.warps_across;
  const uint32_t along = threadIdx.x / 32 / task.warps_across;
  const int64_t warp_first = tile.first_output + along * kWarpOutputs;
  const uint32_t first_column = tile.first_column + across * kColumns;
  const bool has_columns = first_column < task.num_columns;
  const bool is_busy = has_columns && warp_first < tile.num_outputs;

  auto* const window = reinterpret_cast<Sample*>(shared);
  uint4* const warp_taps = shared + task.window_bytes / sizeof(uint4) +
                           across * walk.step_slots * kColumns * sizeof(Tap) / sizeof(uint4);
  const Sample* const newest =
      window + task.history / kThreadOutputs + along * (kWarpOutputs / kThreadOutputs) + lane;
  const uint8_t* const input =
      (task.is_in_workspace ? memory.workspace : memory.samples) + task.input;
  const int64_t block_outputs = kWarpOutputs * kBlockWarps / task.warps_across;
  const auto branch_samples =
      task.history +
      static_cast<uint32_t>(min(block_outputs, tile.num_outputs - tile.first_output));

  const auto* const taps = reinterpret_cast<const TapGroup<kColumns, Tap>*>(warp_taps);

  Sums<kColumns> totals = {};
  uint32_t step_index = 0;
  for (uint32_t b = 0; b < walk.branch_steps; ++b) {
    for (uint32_t d = 0; d < walk.depth_steps; ++d, ++step_index) {
      if (kLong && step_index > 0) __syncthreads();
      Step step;
      step.first_branch = b * walk.branches;
      step.num_branches = min(walk.branches, min(walk.down, walk.num_taps) - step.first_branch);
      step.first_depth = d * walk.depth;
      if (has_columns) {
        BeginTaps<kColumns, Tap>(task, memory.workspace + columns[first_column].taps, tile.set,
                                 step_index, along, warp_taps);
      }
      LoadWindow(task, input, tile, step, branch_samples, window);
      __pipeline_commit();
      __pipeline_wait_prior(0);
      __syncthreads();
      if (!is_busy) continue;
      if constexpr (kLong) {
        Sums<kColumns> sums = {};
        AddStep<kColumns>(task, tile.set_taps, step, newest, taps, sums);
#pragma unroll
        for (uint32_t c = 0; c < kColumns; ++c) {
#pragma unroll
          for (uint32_t r = 0; r < kThreadOutputs; ++r) {
            totals[c][r].x = __fadd_rn(totals[c][r].x, sums[c][r].x);
            totals[c][r].y = __fadd_rn(totals[c][r].y, sums[c][r].y);
          }
        }
      } else {
        AddStep<kColumns>(task, tile.set_taps, step, newest, taps, totals);
      }
    }
  }
  if (!is_busy) return;
  const int64_t first = warp_first + lane * kThreadOutputs;
  bool is_suspect = false;
  if constexpr (kLooks) {
    is_suspect = task.looks && first_column == 0 &&
                 __any_sync(0xffffffffU, HasNonFinite(totals[0], tile.num_outputs - first));
  }
  Finish<kTurned>(task, columns + first_column, memory, tile, first, totals);
  if constexpr (kLooks) {
    if (is_suspect && SeesNonFinite<Sample>(tasks, num_tasks, kColumns, memory.samples) &&
        lane == 0) {
      memory.results[0].has_non_finite = 1;  // whoever writes it writes the same
    }
  }
}

using Kernel = void (*)(const ProductTask*, uint32_t, const Column*, Memory);

// By IndexOf(ProductKind). Samples that were mixed before are looked at by nobody.
template <bool kLooks>
constexpr Kernel kKernels[kNumProductKinds] = {
    ProductKernel<float2, float2, 1, false, kLooks>,
    ProductKernel<float2, float2, 1, true, kLooks>,
    ProductKernel<float2, float2, kQuad, false, kLooks>,
    ProductKernel<float2, float2, kQuad, true, kLooks>,
    ProductKernel<float, float2, 1, false, kLooks>,
    ProductKernel<float, float2, 1, true, kLooks>,
    ProductKernel<float, float2, kQuad, false, kLooks>,
    ProductKernel<float, float2, kQuad, true, kLooks>,
    ProductKernel<float2, float, 1, false, false>,
    ProductKernel<float2, float, 1, true, false>,
    nullptr,
    nullptr,
};

constexpr int kSharedBytes = 227 * 1024;  // that every device we support gives a block

}  // namespace

absl::Status LoadProducts() {
  for (const Kernel* const kernels : {kKernels<false>, kKernels<true>}) {
    for (int kind = 0; kind < kNumProductKinds; ++kind) {
      if (kernels[kind] == nullptr) continue;
      BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
          cudaFuncSetAttribute(kernels[kind], cudaFuncAttributeMaxDynamicSharedMemorySize,
                               kSharedBytes),
          "cudaFuncSetAttribute"));
    }
  }
  return absl::OkStatus();
}

absl::Status LaunchProducts(const GpuPlan& plan, const Memory& memory, cudaStream_t stream) {
  const auto* const tasks =
      reinterpret_cast<const ProductTask*>(memory.plan + plan.layout().products);
  const auto* const columns = reinterpret_cast<const Column*>(memory.plan + plan.layout().columns);
  for (const ProductLaunch& launch : plan.launches()) {
    if (launch.kind.samples == Samples::kComplexFixed) {
      BASEBAND_RETURN_IF_ERROR(LaunchFixedProduct(
          launch, plan.block().format, tasks + launch.first_task, columns, memory, stream));
      continue;
    }
    const Kernel kernel =
        (plan.is_float() ? kKernels<true> : kKernels<false>)[IndexOf(launch.kind)];
    kernel<<<static_cast<unsigned>(launch.num_blocks), kBlockThreads, launch.shared_bytes,
             stream>>>(tasks + launch.first_task, launch.num_tasks, columns, memory);
    BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaGetLastError(), "ProductKernel"));
  }
  return absl::OkStatus();
}

}  // namespace baseband::downconvert::gpu
