// gRPC's statuses as Abseil's. Internal to the client libraries.
#ifndef BASEBAND_CLIENT_CPP_TO_STATUS_H_
#define BASEBAND_CLIENT_CPP_TO_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace baseband::client {

// An error never comes without a message: where `message` is empty, one that says what the code
// means here.
absl::Status MakeStatus(absl::StatusCode code, const std::string& message);

absl::Status ToStatus(const grpc::Status& status);

// The status of a call that this side did not cancel: if it says CANCELLED, that was the server,
// which only does so when it stops, so it is Unavailable.
absl::Status ToStatusUncancelled(const grpc::Status& status);

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_TO_STATUS_H_
