// EncodeSharedChannel: what a job is, and how jobs lie in a batch.
#ifndef BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_ENCODE_SHARED_CHANNEL_H_
#define BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_ENCODE_SHARED_CHANNEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "kernels/ldpc/code.h"
#include "kernels/nr/symbols.h"
#include "server/jobs/job.h"
#include "server/operations/shared_channel/shared_channel_block.h"

namespace baseband::server {

// `count` blocks encoded alike. Payload and reply hold their blocks one after the other.
struct EncodeSharedChannelGroup {
  SharedChannelBlock block;
  ldpc::CodePtr code;  // has an encode plan
  int64_t count = 0;
  absl::optional<nr::SymbolLayout> symbols;  // not set: packed bits

  int64_t output_bytes() const {
    return symbols.has_value() ? block.num_symbols() * nr::BytesPerSymbol(symbols->format)
                               : block.coded_bytes();
  }
};

class EncodeSharedChannelJob final : public Job {
 public:
  // Computes footprint, payload_bytes and reply_bytes. At least one group, each with count >= 1.
  EncodeSharedChannelJob(const Operation& operation, std::vector<EncodeSharedChannelGroup> groups);

  JobPtr Copy() const override { return CopyJoined(1); }
  JobPtr CopyJoined(int64_t copies) const override;

  absl::Span<const EncodeSharedChannelGroup> groups() const { return groups_; }

 private:
  const std::vector<EncodeSharedChannelGroup> groups_;
};

std::unique_ptr<Batch> MakeEncodeSharedChannelBatch(std::vector<JobPtr> jobs);

// On a GPU: loads the kernels on the one that is current.
absl::Status PrepareEncodeSharedChannelCuda();

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_ENCODE_SHARED_CHANNEL_H_
