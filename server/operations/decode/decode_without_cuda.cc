// In place of decode_cuda.cc in a CPU-only build, where no lane calls it.
#include "server/jobs/without_cuda.h"
#include "server/operations/decode/decode_batch.h"

namespace baseband::server {

absl::Status PrepareDecodeCuda() { return NotBuilt(); }
int64_t DecodeCudaWorkspaceBytes() { return 0; }
absl::Status DecodeBatch::CudaCopyIn(const CudaLaneView&) { return NotBuilt(); }
absl::Status DecodeBatch::CudaRun(const CudaLaneView&) { return NotBuilt(); }
absl::Status DecodeBatch::CudaCopyOut(const CudaLaneView&) { return NotBuilt(); }

}  // namespace baseband::server
