// Kernels before their first launch. Seen by nvcc and host compilers alike.
#ifndef BASEBAND_KERNELS_CUDA_LOAD_KERNEL_H_
#define BASEBAND_KERNELS_CUDA_LOAD_KERNEL_H_

#include <cuda_runtime.h>

#include "absl/status/status.h"
#include "kernels/cuda/status.h"

namespace baseband::cuda {

// Loads `kernel` on the current device, which its first launch would do otherwise.
template <typename Kernel>
absl::Status LoadKernel(Kernel* kernel) {
  cudaFuncAttributes attributes;
  return ToStatus(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)),
                  "cudaFuncGetAttributes");
}

}  // namespace baseband::cuda

#endif  // BASEBAND_KERNELS_CUDA_LOAD_KERNEL_H_
