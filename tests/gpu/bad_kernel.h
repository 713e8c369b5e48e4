// A kernel that does what none may.
#ifndef BASEBAND_TESTS_GPU_BAD_KERNEL_H_
#define BASEBAND_TESTS_GPU_BAD_KERNEL_H_

#include <cuda_runtime_api.h>

namespace baseband::testing {

// Enqueues a write to an address where nothing is: an error that stays, for the whole context.
cudaError_t LaunchIllegalWrite(cudaStream_t stream);

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_GPU_BAD_KERNEL_H_
