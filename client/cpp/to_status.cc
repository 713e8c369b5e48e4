#include "client/cpp/to_status.h"

namespace baseband::client {

absl::Status ToStatus(const grpc::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace baseband::client
