// Matchers for absl::Status and absl::StatusOr. Packaged Abseil 20220623 has none.
#ifndef BASEBAND_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define BASEBAND_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace baseband::testing {

inline const absl::Status& AsStatus(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& AsStatus(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << AsStatus(arg);
  return AsStatus(arg).ok();
}

// The code, and a matcher of the message.
MATCHER_P2(StatusIs, code, message_matcher,
           "has code " + absl::StatusCodeToString(code) + " and a message that " +
               ::testing::DescribeMatcher<std::string>(message_matcher)) {
  const absl::Status& status = AsStatus(arg);
  *result_listener << status;
  return status.code() == code &&
         ::testing::Matches(message_matcher)(std::string(status.message()));
}

// InvalidArgument, with `part` in its message.
inline auto IsInvalid(const std::string& part) {
  return StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr(part));
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_STATUS_MATCHERS_H_
