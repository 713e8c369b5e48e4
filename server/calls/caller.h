// What a call's metadata says of how much it matters, and for how long.
#ifndef BASEBAND_SERVER_CALLS_CALLER_H_
#define BASEBAND_SERVER_CALLS_CALLER_H_

#include <grpcpp/server_context.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "server/jobs/caller.h"

namespace baseband::server {

// From the call's metadata `baseband-priority: high|normal|low`, normal without it;
// InvalidArgument for any other word.
absl::StatusOr<Priority> PriorityOf(const grpc::ServerContext& context);

// From the call's metadata `baseband-request-bytes`: how many bytes its one request message has, at
// most `most`; nothing without it. InvalidArgument for any other word.
absl::StatusOr<absl::optional<int64_t>> RequestBytesOf(const grpc::ServerContext& context,
                                                       int64_t most);

// When the client wants its answer at the latest, by SteadyNow(), as gRPC says, which is a
// millisecond off; a call remembers it.
absl::Time DeadlineOf(const grpc::ServerContext& context);

// From the call's metadata `baseband-timeout-us`: how long after its arrival; infinite without
// it. InvalidArgument for any other word than a number of microseconds, at most those of a year.
absl::StatusOr<absl::Duration> TimeoutOf(const grpc::ServerContext& context);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_CALLER_H_
