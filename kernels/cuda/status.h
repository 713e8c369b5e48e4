// CUDA error codes as absl::Status.
#ifndef BASEBAND_KERNELS_CUDA_STATUS_H_
#define BASEBAND_KERNELS_CUDA_STATUS_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace baseband::cuda {

// OK, ResourceExhausted when memory ran out, Internal for anything else, with the call's name and
// CUDA's own text. Clears the error unless it is sticky.
inline absl::Status ToStatus(cudaError_t error, const char* call) {
  if (error == cudaSuccess) {
    return absl::OkStatus();
  }
  (void)cudaGetLastError();
  const std::string message =
      absl::StrCat(call, ": ", cudaGetErrorName(error), ": ", cudaGetErrorString(error));
  return error == cudaErrorMemoryAllocation ? absl::ResourceExhaustedError(message)
                                            : absl::InternalError(message);
}

}  // namespace baseband::cuda

#endif  // BASEBAND_KERNELS_CUDA_STATUS_H_
