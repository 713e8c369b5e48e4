// In place of downconvert_cuda.cc in a CPU-only build, where no lane calls it.
#include "server/jobs/without_cuda.h"
#include "server/operations/downconvert/downconvert_batch.h"

namespace baseband::server {

absl::Status PrepareDownconvertCuda() { return NotBuilt(); }
DownconvertPlanPtr PlanDownconvert(DownconvertChannels, const downconvert::Block&,
                                   absl::Span<const int64_t>, DownconvertPlanPtr) {
  return nullptr;
}
absl::Status DownconvertBatch::CudaCopyIn(const CudaLaneView&) { return NotBuilt(); }
absl::Status DownconvertBatch::CudaRun(const CudaLaneView&) { return NotBuilt(); }
absl::Status DownconvertBatch::CudaCopyOut(const CudaLaneView&) { return NotBuilt(); }

}  // namespace baseband::server
