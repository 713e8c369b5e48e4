// Who makes a call, by what the call proves, and which roles that gives.
#ifndef BASEBAND_SERVER_AUTH_IDENTITY_H_
#define BASEBAND_SERVER_AUTH_IDENTITY_H_

#include <grpcpp/server_context.h>

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "server/auth/role_set.h"
#include "server/auth/tokens.h"
#include "server/auth/unix_peers.h"
#include "server/config/access_rule.h"

namespace baseband::server {

// What a call brings with it.
struct Proof {
  std::string certificate;            // subject of the verified client certificate; empty: none
  absl::optional<std::string> token;  // empty if `authorization` is not "Bearer TOKEN", once
  absl::optional<UnixPeer> unix_peer;
  std::string peer;     // as gRPC has it
  std::string address;  // host part of that; "local" for a Unix socket
};

// "ipv4:192.0.2.7:50000" is "192.0.2.7", "ipv6:[2001:db8::7]:50000" is "2001:db8::7", also with the
// brackets written %5B and %5D; anything else is "local".
std::string HostOfPeer(absl::string_view peer);

// A certificate's subject is its first URI, else its first DNS name, else its common name.
Proof ReadProof(const grpc::ServerContextBase& context, const UnixPeers& unix_peers);

struct Identity {
  // The certificate's subject, else the token's name, else "uid:N", else the address.
  std::string name;
  bool is_known = false;   // more than an address
  bool bad_token = false;  // there is a token, and nobody holds it
  RoleSet roles;           // of all proofs together; none with a bad token
};

Identity Identify(const Proof& proof, absl::Span<const AccessRule> rules, const Tokens& tokens);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_AUTH_IDENTITY_H_
