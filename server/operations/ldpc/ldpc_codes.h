// Codes as they come over the wire.
#ifndef BASEBAND_SERVER_OPERATIONS_LDPC_LDPC_CODES_H_
#define BASEBAND_SERVER_OPERATIONS_LDPC_LDPC_CODES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "baseband/v1/baseband.pb.h"
#include "kernels/base/continue_check.h"
#include "kernels/ldpc/code.h"
#include "server/converters/bounded_cache.h"

namespace baseband::server {

// Turns messages into codes. Keeps the clients' own matrices that were used last. Thread-safe.
class LdpcCodes {
 public:
  // The code of `message` with its first `message.parity_rows()` rows, or all if that is 0. Takes
  // no longer than the message is. InvalidArgument names field, value and range;
  // ResourceExhausted: requests in flight use as many own matrices as there may be.
  absl::StatusOr<ldpc::CodePtr> FromProto(const v1::LdpcCode& message);

  // For Decode: where the message leaves the number of rows open, a NR code gets the rows that
  // `llr_count` received bits can use; llr_count 0 stands for all.
  absl::StatusOr<ldpc::CodePtr> FromProto(const v1::LdpcCode& message, uint32_t llr_count);

  // Finds out how to encode with `code`, which `message` became: as Code::FindEncodePlan.
  absl::Status FindEncodePlan(const v1::LdpcCode& message, const ldpc::Code& code,
                              const ContinueCheck& may_continue);

  // Lets go of what no request uses.
  void DropUnused() { custom_.DropUnused(); }

 private:
  static constexpr int64_t kMaxCustomBytes = 64 << 20;

  absl::StatusOr<ldpc::CodePtr> Custom(const v1::CustomCode& message, uint32_t parity_rows);

  // By the message, serialized, and the number of rows.
  BoundedCache<ldpc::Code> custom_{"custom matrices", kMaxCustomBytes};
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_LDPC_LDPC_CODES_H_
