// Where absl::Status becomes grpc::Status: the only place.
#ifndef BASEBAND_SERVER_GRPC_STATUS_H_
#define BASEBAND_SERVER_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace baseband::server {

// The codes are the same by definition; the message is cut at 1 KiB, for it travels in a header.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_GRPC_STATUS_H_
