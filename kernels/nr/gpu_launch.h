// What the launchers of this folder share: checks, the launch itself, and what their files say to
// each other. CUDA builds only.
#ifndef BASEBAND_KERNELS_NR_GPU_LAUNCH_H_
#define BASEBAND_KERNELS_NR_GPU_LAUNCH_H_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/cuda/status.h"
#include "kernels/nr/transmit_gpu.h"

namespace baseband::nr {

// Of LaunchCheckCrc.
absl::Status PrepareCheckCrc();

inline constexpr int kMaxNrBlocksPerLaunch = 1 << 20;

inline absl::Status CheckNumBlocks(int num_blocks) {
  if (num_blocks >= 1 && num_blocks <= kMaxNrBlocksPerLaunch) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("num_blocks ", num_blocks, " is not in [1, ", kMaxNrBlocksPerLaunch, "]"));
}
inline absl::Status CheckSharedBytes(int shared_bytes, int most) {
  if (shared_bytes >= 1 && shared_bytes <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("shared_bytes ", shared_bytes, " is not in [1, ", most, "]"));
}
inline absl::Status CheckPointer(const char* field, const void* pointer) {
  if (pointer != nullptr && reinterpret_cast<uintptr_t>(pointer) % 16 == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(field, " is null or not aligned to 16 bytes"));
}

struct LaunchShape {
  dim3 grid;
  uint32_t threads = 0;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};

template <typename... Parameters, typename... Arguments>
absl::Status LaunchKernel(const char* name, const LaunchShape& shape, void (*kernel)(Parameters...),
                          Arguments... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = shape.stream;
  return cuda::ToStatus(cudaLaunchKernelEx(&config, kernel, arguments...), name);
}

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_GPU_LAUNCH_H_
