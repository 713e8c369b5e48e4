#include "server/jobs/cuda_copies.h"

#include <algorithm>

#include "kernels/base/status_macros.h"
#include "kernels/cuda/gather.h"
#include "kernels/cuda/status.h"

namespace baseband::server {
namespace {

absl::Status Copy(void* target, const void* source, int64_t bytes, cudaStream_t stream) {
  return cuda::ToStatus(
      cudaMemcpyAsync(target, source, static_cast<size_t>(bytes), cudaMemcpyDefault, stream),
      "cudaMemcpyAsync");
}

// More copies than that take longer to enqueue than a launch that does them all.
constexpr size_t kMaxCopies = 8;
// A long run is shared by several thread blocks.
constexpr int64_t kGatherBytes = 64 << 10;

// False: there is no room for so many pieces.
bool DescribeGather(absl::Span<const CopyRun> runs, const CudaLaneView& lane, int* num_pieces) {
  int next = 0;
  for (const CopyRun& run : runs) {
    for (int64_t done = 0; done < run.bytes; done += kGatherBytes) {
      if (next == lane.max_gather_pieces) return false;
      lane.gather_host[next++] = {run.host + done, lane.input_device + run.device_offset + done,
                                  std::min(kGatherBytes, run.bytes - done)};
    }
  }
  *num_pieces = next;
  return true;
}

}  // namespace

absl::Status CopyToDevice(absl::Span<const CopyRun> runs, const CudaLaneView& lane) {
  int num_pieces = 0;
  if (runs.size() > kMaxCopies && DescribeGather(runs, lane, &num_pieces)) {
    return cuda::LaunchGather(lane.gather_host, num_pieces, lane.stream);
  }
  for (const CopyRun& run : runs) {
    BASEBAND_RETURN_IF_ERROR(
        Copy(lane.input_device + run.device_offset, run.host, run.bytes, lane.stream));
  }
  return absl::OkStatus();
}

absl::Status CopyOnDevice(void* target, const void* source, int64_t bytes,
                          const CudaLaneView& lane) {
  return Copy(target, source, bytes, lane.stream);
}

absl::Status CopyToObject(void* target, const void* host, int64_t bytes, const CudaLaneView& lane) {
  return Copy(target, host, bytes, lane.stream);
}

absl::Status CopyControl(int64_t bytes, const CudaLaneView& lane) {
  return Copy(lane.control_device, lane.control_host, bytes, lane.stream);
}

absl::Status CopyFromDevice(absl::Span<const CopyRun> runs, const CudaLaneView& lane) {
  for (const CopyRun& run : runs) {
    BASEBAND_RETURN_IF_ERROR(
        Copy(run.host, lane.output_device + run.device_offset, run.bytes, lane.stream));
  }
  return absl::OkStatus();
}

}  // namespace baseband::server
