// In place of encode_cuda.cc in a CPU-only build, where no lane calls it.
#include "server/jobs/without_cuda.h"
#include "server/operations/encode/encode_batch.h"

namespace baseband::server {

absl::Status PrepareEncodeCuda() { return NotBuilt(); }

absl::Status EncodeBatch::CudaCopyIn(const CudaLaneView&) { return NotBuilt(); }
absl::Status EncodeBatch::CudaRun(const CudaLaneView&) { return NotBuilt(); }
absl::Status EncodeBatch::CudaCopyOut(const CudaLaneView&) { return NotBuilt(); }

}  // namespace baseband::server
