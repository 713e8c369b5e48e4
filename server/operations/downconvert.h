// Downconvert: what a job is, and how jobs lie in a batch.
#ifndef BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_H_
#define BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "kernels/downconvert/downconvert.h"
#include "server/operations/job.h"

namespace baseband::server {

using DownconvertChannels = std::shared_ptr<const std::vector<downconvert::Channel>>;

// One piece of a wideband signal and all its channels.
class DownconvertJob : public Job {
 public:
  // `block` has passed CheckBlock; its first samples are `before`, the others the request's
  // payload. Computes footprint, payload_bytes and reply_bytes.
  DownconvertJob(DownconvertChannels channels, const downconvert::Block& block,
                 std::vector<uint8_t> before);

  absl::Span<const downconvert::Channel> channels() const { return *channels_; }
  const downconvert::Block& block() const { return block_; }
  // By channel: its outputs, and where in `reply` they begin.
  absl::Span<const downconvert::OutputRange> ranges() const { return ranges_; }
  absl::Span<const int64_t> reply_offsets() const { return reply_offsets_; }
  int64_t output_bytes(size_t channel) const {
    return ranges_[channel].count * downconvert::BytesPerOutput((*channels_)[channel].output);
  }

  std::vector<downconvert::ChannelResult> results;  // by channel

 private:
  const DownconvertChannels channels_;
  const downconvert::Block block_;
  const std::vector<uint8_t> before_;
  std::vector<downconvert::OutputRange> ranges_;
  std::vector<int64_t> reply_offsets_;
};

std::unique_ptr<Batch> MakeDownconvertBatch(std::vector<JobPtr> jobs);

// What a GPU needs beside samples and outputs to convert the block: page-locked memory for the
// plan, and scratch. 0 without CUDA.
int64_t DownconvertPlanBytes(absl::Span<const downconvert::Channel> channels,
                             const downconvert::Block& block);
int64_t DownconvertWorkspaceBytes(absl::Span<const downconvert::Channel> channels,
                                  const downconvert::Block& block);
inline constexpr int64_t kMaxDownconvertWorkspaceBytes = int64_t{512} << 20;

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_H_
