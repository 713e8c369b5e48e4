// In place of decode_shared_channel_cuda.cc in a CPU-only build, where no lane calls it.
#include "server/jobs/without_cuda.h"
#include "server/operations/shared_channel/decode_shared_channel_batch.h"

namespace baseband::server {

absl::Status PrepareDecodeSharedChannelCuda() { return NotBuilt(); }
absl::Status DecodeSharedChannelBatch::CudaCopyIn(const CudaLaneView&) { return NotBuilt(); }
absl::Status DecodeSharedChannelBatch::CudaRun(const CudaLaneView&) { return NotBuilt(); }
absl::Status DecodeSharedChannelBatch::CudaCopyOut(const CudaLaneView&) { return NotBuilt(); }
void DecodeSharedChannelBatch::CudaFinish() {}

}  // namespace baseband::server
