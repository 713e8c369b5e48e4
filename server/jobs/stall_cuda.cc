// A pause on a GPU's stream. CUDA builds only.
#include <cuda_runtime_api.h>

#include <memory>

#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"
#include "server/device/cuda_lane_view.h"
#include "server/jobs/fault_injector.h"

namespace baseband::server {
namespace {

void Sleep(void* stall) {
  const std::unique_ptr<absl::Duration> duration(static_cast<absl::Duration*>(stall));
  absl::SleepFor(*duration);
}

}  // namespace

absl::Status StallStream(const CudaLaneView& lane, absl::Duration stall) {
  auto duration = std::make_unique<absl::Duration>(stall);
  BASEBAND_RETURN_IF_ERROR(
      cuda::ToStatus(cudaLaunchHostFunc(lane.stream, Sleep, duration.get()), "cudaLaunchHostFunc"));
  (void)duration.release();  // Sleep's
  return absl::OkStatus();
}

}  // namespace baseband::server
