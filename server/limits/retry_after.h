// When whoever was refused should come again.
#ifndef BASEBAND_SERVER_LIMITS_RETRY_AFTER_H_
#define BASEBAND_SERVER_LIMITS_RETRY_AFTER_H_

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace baseband::server {

// A ResourceExhausted status, and others, may say when to come back.
void SetRetryAfter(absl::Status* status, absl::Duration delay);
absl::Duration RetryAfter(const absl::Status& status, absl::Duration otherwise);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_RETRY_AFTER_H_
