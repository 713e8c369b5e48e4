// Decode: what a job is, and how jobs lie in a batch.
#ifndef BASEBAND_SERVER_OPERATIONS_DECODE_DECODE_H_
#define BASEBAND_SERVER_OPERATIONS_DECODE_DECODE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "kernels/ldpc/code.h"
#include "kernels/ldpc/decode.h"
#include "server/jobs/job.h"

namespace baseband::server {

// `count` code blocks decoded alike.
struct DecodeGroup {
  ldpc::CodePtr code;
  ldpc::DecodeParameters parameters;
  int64_t count = 0;
  int num_filler = 0;
  int llr_count = 0;
  bool soft_output = false;

  int info_bits() const { return code->k() - num_filler; }
  int64_t bits_bytes() const { return (info_bits() + 7) / 8; }
  int64_t soft_bytes() const { return soft_output ? code->n() : 0; }
};

class DecodeJob final : public Job {
 public:
  // Computes footprint, payload_bytes and reply_bytes. At least one group, each with count >= 1.
  DecodeJob(const Operation& operation, std::vector<DecodeGroup> groups);

  JobPtr Copy() const override { return CopyJoined(1); }
  JobPtr CopyJoined(int64_t copies) const override;

  absl::Span<const DecodeGroup> groups() const { return groups_; }

  // `reply` holds the bits of all blocks, then from soft_offset() on their soft values.
  int64_t bits_bytes() const { return bits_bytes_; }
  int64_t soft_offset() const;
  int64_t soft_bytes() const { return soft_bytes_; }

  std::vector<ldpc::DecodeResult> results;  // by block

 private:
  const std::vector<DecodeGroup> groups_;
  int64_t bits_bytes_ = 0;
  int64_t soft_bytes_ = 0;
};

std::unique_ptr<Batch> MakeDecodeBatch(std::vector<JobPtr> jobs);

// On a GPU: loads the kernels on the one that is current; the scratch they take at most.
absl::Status PrepareDecodeCuda();
int64_t DecodeCudaWorkspaceBytes();

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_DECODE_DECODE_H_
