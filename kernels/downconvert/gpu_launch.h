// Inside of the GPU's down-conversion: how downconvert.cu starts its kernels. Host header.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_GPU_LAUNCH_H_
#define BASEBAND_KERNELS_DOWNCONVERT_GPU_LAUNCH_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "kernels/downconvert/gpu_plan.h"

namespace baseband::downconvert::gpu {

// Where the offsets of the plan's tables count from: device memory.
struct Memory {
  const uint8_t* samples = nullptr;
  const uint8_t* plan = nullptr;
  uint8_t* workspace = nullptr;
  uint8_t* output = nullptr;
  ChannelResult* results = nullptr;
};

// The steps of a launch, in this order; the plan's tables are in memory.plan by then.
absl::Status LaunchPrepare(const GpuPlan& plan, const Memory& memory, cudaStream_t stream);
absl::Status LaunchMix(const GpuPlan& plan, const Memory& memory, cudaStream_t stream);
absl::Status LaunchProducts(const GpuPlan& plan, const Memory& memory, cudaStream_t stream);
// One of LaunchProducts', of kind kComplexFixed; `tasks` are its own.
absl::Status LaunchFixedProduct(const ProductLaunch& launch, InputFormat format,
                                const ProductTask* tasks, const Column* columns,
                                const Memory& memory, cudaStream_t stream);

// Load their kernels on the current device.
absl::Status LoadPrepare();
absl::Status LoadMix();
absl::Status LoadProducts();
absl::Status LoadFixedProducts();

}  // namespace baseband::downconvert::gpu

#endif  // BASEBAND_KERNELS_DOWNCONVERT_GPU_LAUNCH_H_
