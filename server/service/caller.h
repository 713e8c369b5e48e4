// Who makes a call, and how much it matters to them.
#ifndef BASEBAND_SERVER_SERVICE_CALLER_H_
#define BASEBAND_SERVER_SERVICE_CALLER_H_

#include <grpcpp/grpcpp.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/operations/caller.h"

namespace baseband::server {

// The priority from the call's metadata `baseband-priority: high|normal|low`, normal without it;
// InvalidArgument for any other word. The client from the peer's address: all connections of a host
// are one, and so are all of Unix sockets ("local").
absl::StatusOr<Caller> CallerOf(const grpc::ServerContext& context);

// "ipv4:192.0.2.7:50000" is "192.0.2.7", "ipv6:[2001:db8::7]:50000" is "2001:db8::7", also with the
// brackets written %5B and %5D, "unix:PATH" is "local".
std::string HostOfPeer(absl::string_view peer);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_CALLER_H_
