// Encode: what a job is, and how jobs lie in a batch.
#ifndef BASEBAND_SERVER_OPERATIONS_ENCODE_ENCODE_H_
#define BASEBAND_SERVER_OPERATIONS_ENCODE_ENCODE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "kernels/ldpc/code.h"
#include "server/jobs/job.h"

namespace baseband::server {

enum class EncodeOutput { kParity, kCodeword, kFullCodeword };

// `count` code blocks encoded alike. Payload and reply hold their blocks one after the other.
struct EncodeGroup {
  ldpc::CodePtr code;  // has an encode plan
  int64_t count = 0;
  int num_filler = 0;
  EncodeOutput output = EncodeOutput::kParity;

  int info_bits() const { return code->k() - num_filler; }
  int64_t info_bytes() const { return (info_bits() + 7) / 8; }
  int64_t output_bits() const;
  int64_t output_bytes() const { return (output_bits() + 7) / 8; }
  int64_t parity_bytes() const { return (code->parity_bits() + 7) / 8; }
};

class EncodeJob final : public Job {
 public:
  // Computes footprint, payload_bytes and reply_bytes. At least one group, each with count >= 1.
  EncodeJob(const Operation& operation, std::vector<EncodeGroup> groups);

  JobPtr Copy() const override { return CopyJoined(1); }
  JobPtr CopyJoined(int64_t copies) const override;

  absl::Span<const EncodeGroup> groups() const { return groups_; }

 private:
  const std::vector<EncodeGroup> groups_;
};

// Joins the information of a block with its parity to what `group` asks for. `reply` receives
// group.output_bytes().
void JoinCodeword(const EncodeGroup& group, const uint8_t* info, const uint8_t* parity,
                  uint8_t* reply);

std::unique_ptr<Batch> MakeEncodeBatch(std::vector<JobPtr> jobs);

// Loads the kernels on the GPU that is current.
absl::Status PrepareEncodeCuda();

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_ENCODE_ENCODE_H_
