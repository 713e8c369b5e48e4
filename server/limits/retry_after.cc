#include "server/limits/retry_after.h"

#include <cstdint>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"

namespace baseband::server {
namespace {

constexpr char kRetryAfter[] = "baseband/retry_after_us";

}  // namespace

void SetRetryAfter(absl::Status* status, absl::Duration delay) {
  status->SetPayload(kRetryAfter, absl::Cord(absl::StrCat(absl::ToInt64Microseconds(delay))));
}

absl::Duration RetryAfter(const absl::Status& status, absl::Duration otherwise) {
  const absl::optional<absl::Cord> delay = status.GetPayload(kRetryAfter);
  int64_t delay_us = 0;
  return delay.has_value() && absl::SimpleAtoi(std::string(*delay), &delay_us)
             ? absl::Microseconds(delay_us)
             : otherwise;
}

}  // namespace baseband::server
