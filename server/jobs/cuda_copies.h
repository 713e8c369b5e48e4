// Copies between the host and a lane of a GPU, enqueued on its stream. CUDA builds only.
#ifndef BASEBAND_SERVER_JOBS_CUDA_COPIES_H_
#define BASEBAND_SERVER_JOBS_CUDA_COPIES_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/device/cuda_lane_view.h"
#include "server/jobs/layout.h"

namespace baseband::server {

// The first `control_bytes` of control memory, and `runs` into input memory: one by one where they
// are few; where they are many, by one launch that reads all over the bus. The runs' memory is
// page-locked.
absl::Status CopyToDevice(int64_t control_bytes, absl::Span<const CopyRun> runs,
                          const CudaLaneView& lane);
// From device memory to device memory, which do not overlap.
absl::Status CopyOnDevice(void* target, const void* source, int64_t bytes,
                          const CudaLaneView& lane);
// From page-locked memory to an object's (object_store.h).
absl::Status CopyToObject(void* target, const void* host, int64_t bytes, const CudaLaneView& lane);
// From output memory.
absl::Status CopyFromDevice(absl::Span<const CopyRun> runs, const CudaLaneView& lane);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_JOBS_CUDA_COPIES_H_
