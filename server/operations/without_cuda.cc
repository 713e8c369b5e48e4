// What takes the place of *_cuda.cc in a CPU-only build, where no lane calls it.
#include "server/operations/decode_batch.h"
#include "server/operations/downconvert_batch.h"
#include "server/operations/encode_batch.h"
#include "server/operations/fault_injector.h"
#include "server/operations/minimize_batch.h"
#include "server/operations/recover_carrier_batch.h"

namespace baseband::server {
namespace {

absl::Status NotBuilt() { return absl::UnimplementedError("this build has no CUDA device"); }

}  // namespace

absl::Status EncodeBatch::CudaCopyIn(const CudaLaneView&) { return NotBuilt(); }
absl::Status EncodeBatch::CudaRun(const CudaLaneView&) { return NotBuilt(); }
absl::Status EncodeBatch::CudaCopyOut(const CudaLaneView&) { return NotBuilt(); }
absl::Status DecodeBatch::CudaCopyIn(const CudaLaneView&) { return NotBuilt(); }
absl::Status DecodeBatch::CudaRun(const CudaLaneView&) { return NotBuilt(); }
absl::Status DecodeBatch::CudaCopyOut(const CudaLaneView&) { return NotBuilt(); }
absl::Status DownconvertBatch::CudaCopyIn(const CudaLaneView&) { return NotBuilt(); }
absl::Status DownconvertBatch::CudaRun(const CudaLaneView&) { return NotBuilt(); }
absl::Status DownconvertBatch::CudaCopyOut(const CudaLaneView&) { return NotBuilt(); }
absl::Status RecoverCarrierBatch::CudaCopyIn(const CudaLaneView&) { return NotBuilt(); }
absl::Status RecoverCarrierBatch::CudaRun(const CudaLaneView&) { return NotBuilt(); }
absl::Status RecoverCarrierBatch::CudaCopyOut(const CudaLaneView&) { return NotBuilt(); }

absl::Status MinimizeBatch::CudaCopyIn(const CudaLaneView&) { return NotBuilt(); }
absl::Status MinimizeBatch::CudaRun(const CudaLaneView&) { return NotBuilt(); }
absl::Status MinimizeBatch::CudaCopyOut(const CudaLaneView&) { return NotBuilt(); }

absl::Status StallStream(const CudaLaneView&, absl::Duration) { return NotBuilt(); }

int64_t SearchImageBytes(const minimize::Problem&, absl::Span<Device* const>) { return 0; }
void WriteSearchImage(const minimize::Problem&, uint8_t*) {}
int64_t SearchScratchBytes(const minimize::Problem&, const minimize::Piece&) { return 0; }
bool FindPrograms(absl::Span<Device* const>, SearchPlan*) { return true; }
absl::Status MakePrograms(absl::Span<Device* const>, SearchPlan*) { return absl::OkStatus(); }
absl::Status AddProgram(Device*, SearchPlan*) { return absl::OkStatus(); }

int64_t DownconvertPlanBytes(absl::Span<const downconvert::Channel>, const downconvert::Block&) {
  return 0;
}
int64_t DownconvertWorkspaceBytes(absl::Span<const downconvert::Channel>,
                                  const downconvert::Block&) {
  return 0;
}

}  // namespace baseband::server
