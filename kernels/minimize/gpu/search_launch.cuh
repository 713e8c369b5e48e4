// The search of built-in functionals: the kernel around a functor (search_kernel.cuh), and its
// launch. Device code, included once in a file.
#ifndef BASEBAND_KERNELS_MINIMIZE_GPU_SEARCH_LAUNCH_CUH_
#define BASEBAND_KERNELS_MINIMIZE_GPU_SEARCH_LAUNCH_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/cuda/load_kernel.h"
#include "kernels/cuda/status.h"
#include "kernels/minimize/gpu/search_kernel.cuh"

namespace baseband::minimize {
namespace {

template <typename Functor>
__global__ void __launch_bounds__(kSearchThreads)
    SearchKernel(const __grid_constant__ SearchTask task, const __grid_constant__ Functor functor) {
  SearchBlock(task, functor);
}

template <typename Functor>
absl::Status LaunchSearch(const SearchTask& task, const Functor& functor, int64_t num_blocks,
                          cudaStream_t stream) {
  SearchKernel<Functor>
      <<<static_cast<unsigned>(num_blocks), kSearchThreads, 0, stream>>>(task, functor);
  return cuda::ToStatus(cudaGetLastError(), "SearchKernel");
}

template <typename Functor>
absl::Status LoadSearch() {
  return cuda::LoadKernel(SearchKernel<Functor>);
}

}  // namespace
}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_GPU_SEARCH_LAUNCH_CUH_
