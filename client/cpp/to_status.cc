#include "client/cpp/to_status.h"

#include "absl/strings/str_cat.h"

namespace baseband::client {
namespace {

std::string Meaning(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnimplemented:
      return "the server has no such call: it is of another version, or no Baseband server at all";
    case absl::StatusCode::kUnavailable:
      return "the server cannot be reached, or is stopping; it gave no reason";
    case absl::StatusCode::kDeadlineExceeded:
      return "the timeout passed";
    case absl::StatusCode::kCancelled:
      return "cancelled";
    case absl::StatusCode::kUnauthenticated:
      return "the server wants to know who calls: a token or a client's certificate; it gave no"
             " reason";
    case absl::StatusCode::kPermissionDenied:
      return "this client may not make that call; the server gave no reason";
    case absl::StatusCode::kResourceExhausted:
      return "the server has no room, or the client's quota is used up; it gave no reason";
    default:
      return absl::StrCat("the server answered ", absl::StatusCodeToString(code),
                          " and gave no reason");
  }
}

}  // namespace

absl::Status MakeStatus(absl::StatusCode code, const std::string& message) {
  if (code == absl::StatusCode::kOk) {
    return absl::OkStatus();
  }
  return absl::Status(code, message.empty() ? Meaning(code) : message);
}

absl::Status ToStatus(const grpc::Status& status) {
  return MakeStatus(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

absl::Status ToStatusUncancelled(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::CANCELLED
             ? absl::UnavailableError("the server cancelled the call; it is probably stopping")
             : ToStatus(status);
}

}  // namespace baseband::client
