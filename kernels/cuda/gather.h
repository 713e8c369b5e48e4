// Brings scattered pieces of page-locked host memory to a device in one launch. Host header; CUDA
// builds only.
//
// A copy costs the host a few microseconds however small it is: 16 MiB in slices of 16 KiB take 1.3
// ms of enqueueing, and a launch that reads the same slices over the bus 3 us, at the bus's rate.
#ifndef BASEBAND_KERNELS_CUDA_GATHER_H_
#define BASEBAND_KERNELS_CUDA_GATHER_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"

namespace baseband::cuda {

// A piece is one thread block's: those of more than 64 KiB or so are better cut.
struct GatherPiece {
  const uint8_t* from = nullptr;  // page-locked memory of the host, or the device's; any alignment
  uint8_t* to = nullptr;          // device memory; any alignment
  int64_t bytes = 0;              // >= 0
};

// Enqueues the copies of `pieces`, `num_pieces` >= 0 of them in memory that the device can read,
// and returns without waiting. The pieces' targets do not overlap. All memory must live until
// `stream` has passed. Reads and writes nothing outside of the pieces. Internal when CUDA refuses.
absl::Status LaunchGather(const GatherPiece* pieces, int num_pieces, cudaStream_t stream);

// Loads the kernel on the current device, so that no later launch does.
absl::Status PrepareGather();

}  // namespace baseband::cuda

#endif  // BASEBAND_KERNELS_CUDA_GATHER_H_
