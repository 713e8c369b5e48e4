// gRPC's status as Abseil's. Internal to the client library.
#ifndef BASEBAND_CLIENT_CPP_TO_STATUS_H_
#define BASEBAND_CLIENT_CPP_TO_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace baseband::client {

// The same code and message; both libraries number the canonical codes alike.
absl::Status ToStatus(const grpc::Status& status);

// The same of a call that this side has not cancelled: CANCELLED is then gRPC's way of ending the
// calls of a stopping server, or of a client that stalls, and becomes Unavailable.
absl::Status ToStatusUncancelled(const grpc::Status& status);

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_TO_STATUS_H_
