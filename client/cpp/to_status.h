// gRPC's status as Abseil's. Internal to the client library.
#ifndef BASEBAND_CLIENT_CPP_TO_STATUS_H_
#define BASEBAND_CLIENT_CPP_TO_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace baseband::client {

// The same code and message; both libraries number the canonical codes alike.
absl::Status ToStatus(const grpc::Status& status);

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_TO_STATUS_H_
