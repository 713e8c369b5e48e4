// In place of stall_cuda.cc in a CPU-only build.
#include "server/jobs/fault_injector.h"
#include "server/jobs/without_cuda.h"

namespace baseband::server {

absl::Status StallStream(const CudaLaneView&, absl::Duration) { return NotBuilt(); }

}  // namespace baseband::server
