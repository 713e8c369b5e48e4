// Down-conversion on a GPU. Host header, no device code; CUDA builds only. What is computed:
// downconvert.h.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_DOWNCONVERT_GPU_H_
#define BASEBAND_KERNELS_DOWNCONVERT_DOWNCONVERT_GPU_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/downconvert/downconvert.h"
#include "kernels/downconvert/gpu_plan.h"

namespace baseband::downconvert {

// A block that was planned, and where its results go. Device memory, 16-byte aligned, must live
// until the stream has passed the launch.
struct DownconvertLaunch {
  // Of a checked block and 1 .. kMaxChannels channels, whose output_offsets are multiples of 16.
  const gpu::GpuPlan* plan = nullptr;
  const uint8_t* samples = nullptr;  // block().num_samples
  uint8_t* output = nullptr;
  ChannelResult* results = nullptr;  // by channel; all bytes are zero before
  // The plan's tables, as its CopyTo writes them.
  const uint8_t* plan_device = nullptr;
  int64_t plan_bytes = 0;  // at least plan->layout().bytes
  // Scratch, not shared between launches that may run at the same time; null if it takes none.
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;  // at least plan->workspace_bytes()
};

// Loads the kernels on the current device: once, before the first launch there.
absl::Status PrepareDownconvert();

// Enqueues the conversion on `stream` and returns without waiting. InvalidArgument, with
// nothing enqueued, when a size above is broken; Internal when CUDA refuses. Channels do not depend
// on each other, but for what downconvert.h says of many channels of integers, nor an output on the
// block that it is computed in; whether a sample is not finite,
// results[0] says. Takes a few kernel launches, whatever the number of channels. Allocates nothing.
// Thread-safe for calls on different streams with different memory.
absl::Status LaunchDownconvert(const DownconvertLaunch& launch, cudaStream_t stream);

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_DOWNCONVERT_GPU_H_
