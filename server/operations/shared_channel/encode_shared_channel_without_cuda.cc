// In place of encode_shared_channel_cuda.cc in a CPU-only build, where no lane calls it.
#include "server/jobs/without_cuda.h"
#include "server/operations/shared_channel/encode_shared_channel_batch.h"

namespace baseband::server {

absl::Status PrepareEncodeSharedChannelCuda() { return NotBuilt(); }
absl::Status EncodeSharedChannelBatch::CudaCopyIn(const CudaLaneView&) { return NotBuilt(); }
absl::Status EncodeSharedChannelBatch::CudaRun(const CudaLaneView&) { return NotBuilt(); }
absl::Status EncodeSharedChannelBatch::CudaCopyOut(const CudaLaneView&) { return NotBuilt(); }

}  // namespace baseband::server
