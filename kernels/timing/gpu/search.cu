// The search of each frame's line: line_search.cuh, a thread block a frame.
#include "kernels/timing/gpu/line_search.cuh"
#include "kernels/timing/gpu/timing_launch.h"
#include "kernels/timing/gpu/timing_task.cuh"

namespace baseband::timing {
namespace {

size_t SearchBytes(int points, uint32_t groups, int warps) {
  return groups * static_cast<size_t>(warps) * sizeof(double) +
         2 * static_cast<size_t>(points) * sizeof(float) + groups * sizeof(float);
}

// 4096 points, and groups of a roll-off of 0.05 from half a cycle below to half a cycle above.
constexpr int kMostSearchBytes = 96 << 10;

template <int kThreads>
__global__ void __launch_bounds__(kThreads) SearchKernel(const __grid_constant__ TimingTask task) {
  using Threads = LineThreads<kThreads>;
  extern __shared__ double search_memory[];
  __shared__ typename Threads::Memory memory;
  TimingState* const state = task.states + blockIdx.x;
  if (state->is_lost()) return;
  SearchArrays arrays;
  arrays.group_sums = search_memory;
  arrays.power = reinterpret_cast<float*>(search_memory + task.groups_row * Threads::kWarps);
  arrays.edge = arrays.power + task.points;
  arrays.weights = arrays.edge + task.points;
  LineSearch<kThreads> search(task, blockIdx.x, Threads(&memory), arrays);
  const PulseOnDevice& pulse = task.pulse;
  const LineVerdict verdict =
      search.Search(pulse.facts.line_strength, static_cast<int>(state->num_symbols));
  if (threadIdx.x != 0) return;
  state->verdict = verdict;
  state->places =
      SymbolPlaces(pulse.rows, pulse.before, pulse.samples, pulse.symbols,
                   task.parameters.max_clock_error, verdict.offset, verdict.clock_error);
  state->sample_turns = carrier::Turns64(verdict.centre / pulse.rate);
  state->symbol_turns = carrier::Turns64(verdict.centre * (1.0 + verdict.clock_error));
  state->first_turns = carrier::Turns64(verdict.centre * verdict.offset);
}

template <int kThreads>
absl::Status LaunchSearch(const TimingTask& task, cudaStream_t stream) {
  return LaunchKernel(SearchKernel<kThreads>, "SearchKernel", task, task.num_frames, kThreads,
                      SearchBytes(task.points, task.groups_row, kThreads / 32), stream);
}

}  // namespace

absl::Status SearchLine(const TimingTask& task, cudaStream_t stream) {
  switch (task.search_width) {
    case SearchWidth::kWarp:
      return LaunchSearch<32>(task, stream);
    case SearchWidth::kTwoWarps:
      return LaunchSearch<64>(task, stream);
    case SearchWidth::kWide:
      break;
  }
  return LaunchSearch<512>(task, stream);
}

absl::Status PrepareSearch() {
  for (auto* const kernel : {SearchKernel<32>, SearchKernel<64>, SearchKernel<512>}) {
    BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostSearchBytes),
        "cudaFuncSetAttribute"));
  }
  return absl::OkStatus();
}

}  // namespace baseband::timing
