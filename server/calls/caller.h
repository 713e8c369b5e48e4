// What a call's metadata says of how much it matters, and for how long.
#ifndef BASEBAND_SERVER_CALLS_CALLER_H_
#define BASEBAND_SERVER_CALLS_CALLER_H_

#include <grpcpp/server_context.h>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/jobs/caller.h"

namespace baseband::server {

// From the call's metadata `baseband-priority: high|normal|low`, normal without it;
// InvalidArgument for any other word.
absl::StatusOr<Priority> PriorityOf(const grpc::ServerContext& context);

// When the client wants its answer at the latest, by SteadyNow(); a call remembers it.
absl::Time DeadlineOf(const grpc::ServerContext& context);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_CALLER_H_
