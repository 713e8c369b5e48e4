// The copies of a batch's layout. CUDA builds only.
#ifndef BASEBAND_SERVER_OPERATIONS_CUDA_COPIES_H_
#define BASEBAND_SERVER_OPERATIONS_CUDA_COPIES_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/device/cuda_lane_view.h"
#include "server/operations/layout.h"

namespace baseband::server {

// Enqueues the copies of `runs` to the lane's input memory.
absl::Status CopyToDevice(absl::Span<const CopyRun> runs, const CudaLaneView& lane);
// Enqueues the copy of the first `bytes` of control memory.
absl::Status CopyControl(int64_t bytes, const CudaLaneView& lane);
// Enqueues the copies of `runs` from the lane's output memory.
absl::Status CopyFromDevice(absl::Span<const CopyRun> runs, const CudaLaneView& lane);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_CUDA_COPIES_H_
