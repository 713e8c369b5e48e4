// Down-conversion on a GPU. Host header, no device code; CUDA builds only. What is computed:
// downconvert.h.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_DOWNCONVERT_GPU_H_
#define BASEBAND_KERNELS_DOWNCONVERT_DOWNCONVERT_GPU_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/downconvert/downconvert.h"

namespace baseband::downconvert {

// Memory that a launch takes beside samples and results.
struct LaunchSizes {
  int64_t plan_bytes = 0;       // the launch's tables and the filters' taps
  int64_t workspace_bytes = 0;  // turned taps, and what is between the stages of filters
};
// Of a checked block; as much work for the CPU as a launch.
LaunchSizes LaunchSizesOf(absl::Span<const Channel> channels, const Block& block);

// A block and where its results go. Device memory, 16-byte aligned, must live until the stream has
// passed the launch, but for `channels`, which are read before LaunchDownconvert returns.
struct DownconvertLaunch {
  absl::Span<const Channel> channels;  // 1 .. kMaxChannels
  Block block;                         // checked
  const uint8_t* samples = nullptr;
  uint8_t* output = nullptr;
  absl::Span<const int64_t> output_offsets;  // by channel, bytes in `output`, multiples of 16
  ChannelResult* results = nullptr;          // [channels.size()], written whole
  // What is to be done is described in this memory: page-locked, and its copy on the device.
  uint8_t* plan_host = nullptr;
  uint8_t* plan_device = nullptr;
  int64_t plan_bytes = 0;  // at least LaunchSizesOf()
  // Scratch, not shared between launches that may run at the same time; null if it takes none.
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;  // at least LaunchSizesOf()
};

// Loads the kernels on the current device: once, before the first launch there.
absl::Status PrepareDownconvert();

// Enqueues the plan's copy and the conversion on `stream` and returns without waiting. Writes
// plan_host: it may be used again once the stream has passed the launch. InvalidArgument, with
// nothing enqueued, when a size above is broken; Internal when CUDA refuses. Channels do not depend
// on each other, nor an output on the block that it is computed in. Takes a few kernel launches,
// whatever the number of channels. Allocates no memory of the device, and none of the host once the
// thread has launched as much before. Thread-safe for calls on different streams with different
// memory.
absl::Status LaunchDownconvert(const DownconvertLaunch& launch, cudaStream_t stream);

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_DOWNCONVERT_GPU_H_
