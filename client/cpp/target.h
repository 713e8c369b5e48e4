// What ClientOptions::target says. Internal to the client libraries.
#ifndef BASEBAND_CLIENT_CPP_TARGET_H_
#define BASEBAND_CLIENT_CPP_TARGET_H_

#include <string>

#include "absl/status/statusor.h"

namespace baseband::client {

struct Target {
  std::string uri;  // as gRPC's resolvers take it
  // Several servers, or a name that may stand for several: calls go to all that serve, in turn.
  bool balanced = false;
  // Probably on this host, all of it: HTTP/2's bandwidth probing only costs time.
  bool same_host = false;
  // Certainly, all of it: a Unix socket, or literal loopback addresses. Nobody listens in.
  bool is_private = false;
};

// InvalidArgument: `target` is empty, without a port, a URL with another scheme than dns and unix,
// has a port that is none, or is a list of what gRPC cannot take as a list.
absl::StatusOr<Target> ParseTarget(const std::string& target);

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_TARGET_H_
