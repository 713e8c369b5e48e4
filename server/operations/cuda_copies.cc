#include "server/operations/cuda_copies.h"

#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"

namespace baseband::server {
namespace {

absl::Status Copy(void* target, const void* source, int64_t bytes, cudaStream_t stream) {
  return cuda::ToStatus(
      cudaMemcpyAsync(target, source, static_cast<size_t>(bytes), cudaMemcpyDefault, stream),
      "cudaMemcpyAsync");
}

}  // namespace

absl::Status CopyToDevice(absl::Span<const CopyRun> runs, const CudaLaneView& lane) {
  for (const CopyRun& run : runs) {
    BASEBAND_RETURN_IF_ERROR(
        Copy(lane.input_device + run.device_offset, run.host, run.bytes, lane.stream));
  }
  return absl::OkStatus();
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
