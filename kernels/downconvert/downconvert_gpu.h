// Down-conversion on a GPU. Host header, no device code; CUDA builds only. What is computed:
// downconvert.h.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_DOWNCONVERT_GPU_H_
#define BASEBAND_KERNELS_DOWNCONVERT_DOWNCONVERT_GPU_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/downconvert/downconvert.h"

namespace baseband::downconvert {

// A block and where its results go. Device memory, 16-byte aligned, must live until the stream has
// passed the launch, but for `channels`, which are read before Launch returns.
struct DownconvertLaunch {
  absl::Span<const Channel> channels;  // 1 .. kMaxChannels
  Block block;                         // checked
  const uint8_t* samples = nullptr;    // readable 64 bytes past its end
  uint8_t* output = nullptr;
  absl::Span<const int64_t> output_offsets;  // by channel, bytes in `output`, multiples of 16
  ChannelResult* results = nullptr;          // [channels.size()], written whole
  // Plans are described in this memory: page-locked, and its copy on the device. PlanBytes() of it.
  uint8_t* plan_host = nullptr;
  uint8_t* plan_device = nullptr;
  // Scratch for filters of several stages, WorkspaceBytes() of it; not shared between launches that
  // may run at the same time.
  void* workspace = nullptr;
};

// What a launch takes of plan memory and of scratch, at most.
int64_t PlanBytes(absl::Span<const Channel> channels, const Block& block);
int64_t WorkspaceBytes(absl::Span<const Channel> channels, const Block& block);

// Loads the kernels on the current device.
absl::Status PrepareDownconvert();

// Enqueues the plan's copy and the conversion on `stream` and returns without waiting. Writes
// plan_host: it may be used again once the stream has passed the launch. InvalidArgument, with nothing
// enqueued, when a size above is broken; Internal when CUDA refuses. Channels do not depend on each
// other, nor an output on the block that it is computed in. Allocates nothing. Thread-safe for calls
// on different streams with different memory.
absl::Status LaunchDownconvert(const DownconvertLaunch& launch, cudaStream_t stream);

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_DOWNCONVERT_GPU_H_
