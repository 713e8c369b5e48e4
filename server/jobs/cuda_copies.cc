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
bool DescribeGather(int64_t control_bytes, absl::Span<const CopyRun> runs, const CudaLaneView& lane,
                    int* num_pieces) {
  const auto add = [&](const uint8_t* from, uint8_t* to, int64_t bytes) {
    for (int64_t done = 0; done < bytes; done += kGatherBytes) {
      if (*num_pieces == lane.max_gather_pieces) return false;
      lane.gather_host[(*num_pieces)++] = {from + done, to + done,
                                           std::min(kGatherBytes, bytes - done)};
    }
    return true;
  };
  return add(lane.control_host, lane.control_device, control_bytes) &&
         std::all_of(runs.begin(), runs.end(), [&](const CopyRun& run) {
           return add(run.host, lane.input_device + run.device_offset, run.bytes);
         });
}

}  // namespace

absl::Status CopyToDevice(int64_t control_bytes, absl::Span<const CopyRun> runs,
                          const CudaLaneView& lane) {
  int num_pieces = 0;
  if (runs.size() > kMaxCopies && DescribeGather(control_bytes, runs, lane, &num_pieces)) {
    return cuda::LaunchGather(lane.gather_host, num_pieces, lane.stream);
  }
  if (control_bytes > 0) {
    BASEBAND_RETURN_IF_ERROR(
        Copy(lane.control_device, lane.control_host, control_bytes, lane.stream));
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

absl::Status CopyFromDevice(absl::Span<const CopyRun> runs, const CudaLaneView& lane) {
  for (const CopyRun& run : runs) {
    BASEBAND_RETURN_IF_ERROR(
        Copy(run.host, lane.output_device + run.device_offset, run.bytes, lane.stream));
  }
  return absl::OkStatus();
}

}  // namespace baseband::server
