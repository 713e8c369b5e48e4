// Codes as they come over the wire.
#ifndef BASEBAND_SERVER_CONVERTERS_LDPC_CODES_H_
#define BASEBAND_SERVER_CONVERTERS_LDPC_CODES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "baseband/v1/baseband.pb.h"
#include "kernels/ldpc/code.h"
#include "server/converters/recent_cache.h"

namespace baseband::server {

// Turns messages into codes. Keeps the clients' own matrices that were used last, for the analysis
// of one may take milliseconds. Thread-safe.
class LdpcCodes {
 public:
  // The code of `message` with its first `message.parity_rows()` rows, or all if that is 0.
  // InvalidArgument names field, value and range.
  absl::StatusOr<ldpc::CodePtr> FromProto(const v1::LdpcCode& message);

  // For Decode: where the message leaves the number of rows open, a NR code gets the rows that
  // `llr_count` received bits can use; llr_count 0 stands for all.
  absl::StatusOr<ldpc::CodePtr> FromProto(const v1::LdpcCode& message, uint32_t llr_count);

 private:
  static constexpr size_t kMaxCustomCodes = 256;

  absl::StatusOr<ldpc::CodePtr> Custom(const v1::CustomCode& message, uint32_t parity_rows);

  // By the message, serialized, and the number of rows.
  RecentCache<ldpc::CodePtr> custom_{kMaxCustomCodes};
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONVERTERS_LDPC_CODES_H_
