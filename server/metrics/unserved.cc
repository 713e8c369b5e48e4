#include "server/metrics/unserved.h"

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace baseband::server {
namespace {

constexpr char kReason[] = "baseband/unserved_reason";

UnservedReason ReasonOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
      return UnservedReason::kInvalidRequest;
    case absl::StatusCode::kUnauthenticated:
      return UnservedReason::kNoCredentials;
    case absl::StatusCode::kPermissionDenied:
      return UnservedReason::kNotAllowed;
    case absl::StatusCode::kDeadlineExceeded:
      return UnservedReason::kDeadlinePassed;
    case absl::StatusCode::kCancelled:
      return UnservedReason::kCancelled;
    case absl::StatusCode::kUnavailable:
      return UnservedReason::kNoDevice;
    default:
      return UnservedReason::kFailed;
  }
}

}  // namespace

absl::Status Because(UnservedReason reason, absl::Status status) {
  const char number = static_cast<char>(reason);
  status.SetPayload(kReason, absl::Cord(absl::string_view(&number, 1)));
  return status;
}

UnservedReason ReasonOf(const absl::Status& status) {
  const absl::optional<absl::Cord> reason = status.GetPayload(kReason);
  return reason.has_value() ? static_cast<UnservedReason>((*reason)[0]) : ReasonOf(status.code());
}

}  // namespace baseband::server
