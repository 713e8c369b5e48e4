// soft_pack.h on a GPU. Host header, no device code; CUDA builds only.
#ifndef BASEBAND_KERNELS_NR_SOFT_PACK_GPU_H_
#define BASEBAND_KERNELS_NR_SOFT_PACK_GPU_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"

namespace baseband::nr {

// The soft bits of one code block. Memory of the device, both aligned to 16 bytes.
struct alignas(16) SoftPackBlock {
  int8_t* soft = nullptr;     // [count], filled up with zeros to a multiple of 16
  uint8_t* packed = nullptr;  // [HeldSoftBytes(size, count)]
  uint32_t count = 0;
  uint32_t size = 0;  // bits of each: 6 or 4
};

// Enqueue on `stream`, and return without waiting: soft from packed, packed from soft, to the bit
// as the CPU. `blocks` [num_blocks] is readable by the device and lives until `stream` has passed;
// num_blocks is 1 .. 2^20. InvalidArgument, with nothing enqueued, for a broken range; Internal
// when CUDA refuses the launch. Allocate nothing; thread-safe for calls on different streams.
absl::Status LaunchUnpackSoft(const SoftPackBlock* blocks, int num_blocks, cudaStream_t stream);
absl::Status LaunchPackSoft(const SoftPackBlock* blocks, int num_blocks, cudaStream_t stream);

// Loads the kernels on the current device, so that no later launch does.
absl::Status PrepareSoftPackKernels();

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_SOFT_PACK_GPU_H_
