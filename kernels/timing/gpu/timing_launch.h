// The stages of LaunchTiming, one a source file. Each checks nothing, enqueues its kernel on
// `stream` and does not wait. CUDA sources only.
#ifndef BASEBAND_KERNELS_TIMING_GPU_TIMING_LAUNCH_H_
#define BASEBAND_KERNELS_TIMING_GPU_TIMING_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "kernels/base/status_macros.h"
#include "kernels/cuda/load_kernel.h"
#include "kernels/cuda/status.h"
#include "kernels/timing/gpu/timing_task.cuh"

namespace baseband::timing {

template <typename Kernel, typename... Arguments>
absl::Status LaunchKernel(Kernel kernel, const char* name, const TimingTask& task, unsigned blocks,
                          unsigned threads, size_t shared_bytes, cudaStream_t stream,
                          const Arguments&... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  return cuda::ToStatus(cudaLaunchKernelEx(&config, kernel, task, arguments...), name);
}

// Each loads the kernels of its file on the current device.
absl::Status PreparePieces();
absl::Status PrepareSearch();
absl::Status PrepareMatch();
absl::Status PrepareRefineTiming();

absl::Status PlanFrames(const TimingTask& task, cudaStream_t stream);
absl::Status TransformPieces(const TimingTask& task, cudaStream_t stream);
absl::Status SearchLine(const TimingTask& task, cudaStream_t stream);
// `longest`: symbols of the longest frame.
absl::Status MatchSymbols(const TimingTask& task, uint32_t longest, cudaStream_t stream);
// Sums of a frame's refinement that are kept.
uint32_t RefineShares(uint32_t num_symbols);
absl::Status RefineTiming(const TimingTask& task, uint32_t longest, int multiprocessors,
                          cudaStream_t stream);

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_GPU_TIMING_LAUNCH_H_
