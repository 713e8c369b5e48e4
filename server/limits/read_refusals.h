// What clients are told whose message is not read.
#ifndef BASEBAND_SERVER_LIMITS_READ_REFUSALS_H_
#define BASEBAND_SERVER_LIMITS_READ_REFUSALS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace baseband::server {

// ResourceExhausted, with when to come back. `how_many` wait, "3 of 4" say.
absl::Status QueueFull(const std::string& how_many);
// Its request would be done in `time`, and has `left`.
absl::Status Backlog(absl::Duration time, absl::Duration left);
// DeadlineExceeded: an idle server would not do it in time either, or those like it were late.
absl::Status Unreachable(absl::Duration alone, absl::Duration left);
absl::Status LateInRow(int in_row, absl::Duration left);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_READ_REFUSALS_H_
