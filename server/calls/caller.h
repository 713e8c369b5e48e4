// Who makes a call, and how much it matters to them.
#ifndef BASEBAND_SERVER_CALLS_CALLER_H_
#define BASEBAND_SERVER_CALLS_CALLER_H_

#include <grpcpp/grpcpp.h>

#include "absl/status/statusor.h"
#include "server/auth/access.h"
#include "server/operations/caller.h"

namespace baseband::server {

// The priority from the call's metadata `baseband-priority: high|normal|low`, normal without it;
// InvalidArgument for any other word. The client is who Access says it is.
absl::StatusOr<Caller> CallerOf(const grpc::ServerContext& context, const Access& access);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_CALLER_H_
