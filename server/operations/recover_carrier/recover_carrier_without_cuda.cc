// In place of recover_carrier_cuda.cc in a CPU-only build, where no lane calls it.
#include "server/jobs/without_cuda.h"
#include "server/operations/recover_carrier/recover_carrier_batch.h"

namespace baseband::server {

absl::Status PrepareRecoverCarrierCuda() { return NotBuilt(); }
absl::Status RecoverCarrierBatch::CudaCopyIn(const CudaLaneView&) { return NotBuilt(); }
absl::Status RecoverCarrierBatch::CudaRun(const CudaLaneView&) { return NotBuilt(); }
absl::Status RecoverCarrierBatch::CudaCopyOut(const CudaLaneView&) { return NotBuilt(); }

}  // namespace baseband::server
