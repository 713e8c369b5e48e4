#include "client/cpp/to_status.h"

namespace baseband::client {

absl::Status ToStatus(const grpc::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

absl::Status ToStatusUncancelled(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::CANCELLED
             ? absl::UnavailableError("the server cancelled the call; it is probably stopping")
             : ToStatus(status);
}

}  // namespace baseband::client
