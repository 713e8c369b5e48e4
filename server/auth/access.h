// Lets calls in by role, or says why not; logs whom it refused.
#ifndef BASEBAND_SERVER_AUTH_ACCESS_H_
#define BASEBAND_SERVER_AUTH_ACCESS_H_

#include <grpcpp/server_context.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "server/auth/identity.h"
#include "server/auth/strangers.h"
#include "server/auth/tokens.h"
#include "server/auth/unix_peers.h"
#include "server/config/access_rule.h"
#include "server/config/config.h"
#include "server/config/log_limit.h"

namespace baseband::server {

// Thread-safe.
class Access {
 public:
  // The rules and the tokens of `config`.
  static absl::StatusOr<std::unique_ptr<Access>> Create(const Config& config);

  // Who calls, if it has `role` (nothing: any of them), or if access is not limited.
  // Unauthenticated: it proves nothing, or brings a token that nobody holds. PermissionDenied: it
  // is known, and has another role or none; not looked at is the token of a stranger who has shown
  // wrong ones: see Strangers. To be asked once for a call, before anything of its
  // request is read. The log has one line a second of who is denied, with `call`, if it says which.
  absl::StatusOr<Identity> Admit(const grpc::ServerContextBase& context, absl::optional<Role> role,
                                 absl::string_view call = "");

  // The same of a process at the other end of a Unix socket that is not gRPC's, which has nothing
  // to show but its ids.
  absl::StatusOr<Identity> Admit(const UnixPeer& peer, Role role);

  // By a rule or with a token; everybody, if access is not limited.
  bool AnyoneHas(Role role) const;

  bool is_limited() const { return limited_; }
  Tokens& tokens() { return *tokens_; }
  UnixPeers& unix_peers() { return unix_peers_; }
  // Whether nobody on the connection of `grpc_peer`, a ServerContext::peer(), has shown a role yet;
  // of a Unix socket, also whether the process behind it has none.
  bool IsStranger(const std::string& grpc_peer) const;
  // A call of `grpc_peer` that anybody may make: who may make no other may not make many.
  void CountOpenCall(const std::string& grpc_peer);
  // Who is let in is none of them any more.
  Strangers& strangers() { return strangers_; }

 private:
  Access(bool limited, std::unique_ptr<Tokens> tokens)
      : limited_(limited),
        tokens_(std::move(tokens)),
        strangers_(limited, [this](int fd) { return HasRole(PeerOf(fd)); }) {}
  // Whether the process behind a Unix socket has any by its ids.
  bool HasRole(const absl::optional<UnixPeer>& peer) const;
  absl::Status Deny(const Identity& identity, absl::optional<Role> role,
                    absl::string_view call = "");

  const bool limited_;
  std::vector<AccessRule> rules_;
  const std::unique_ptr<Tokens> tokens_;
  UnixPeers unix_peers_;
  Strangers strangers_;
  LogLimit log_limit_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_AUTH_ACCESS_H_
