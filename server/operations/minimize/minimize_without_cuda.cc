// In place of minimize_cuda.cc in a CPU-only build, where no lane calls it.
#include "server/jobs/without_cuda.h"
#include "server/operations/minimize/minimize_batch.h"

namespace baseband::server {

absl::Status PrepareMinimizeCuda() { return NotBuilt(); }
int64_t SearchImageBytes(const minimize::Problem&, absl::Span<Device* const>) { return 0; }
void WriteSearchImage(const minimize::Problem&, uint8_t*) {}
int64_t SearchScratchBytes(const minimize::Problem&, const minimize::Piece&) { return 0; }
bool FindPrograms(absl::Span<Device* const>, SearchPlan*) { return true; }
absl::Status MakePrograms(absl::Span<Device* const>, SearchPlan*) { return absl::OkStatus(); }
absl::Status AddProgram(Device*, SearchPlan*) { return absl::OkStatus(); }
absl::Status MinimizeBatch::CudaCopyIn(const CudaLaneView&) { return NotBuilt(); }
absl::Status MinimizeBatch::CudaRun(const CudaLaneView&) { return NotBuilt(); }
absl::Status MinimizeBatch::CudaCopyOut(const CudaLaneView&) { return NotBuilt(); }

}  // namespace baseband::server
