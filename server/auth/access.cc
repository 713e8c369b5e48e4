#include "server/auth/access.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/config/quoted.h"
#include "server/metrics/unserved.h"

namespace baseband::server {

absl::StatusOr<std::unique_ptr<Access>> Access::Create(const Config& config) {
  BASEBAND_ASSIGN_OR_RETURN(std::unique_ptr<Tokens> tokens, Tokens::Create(config.tokens_file));
  std::unique_ptr<Access> access(new Access(config.access_is_limited(), std::move(tokens)));
  for (const std::string& text : config.allow) {
    BASEBAND_ASSIGN_OR_RETURN(AccessRule rule, ParseAccessRule(text));
    access->rules_.push_back(std::move(rule));
  }
  return access;
}

absl::StatusOr<Identity> Access::Admit(const grpc::ServerContextBase& context,
                                       absl::optional<Role> role, absl::string_view call) {
  const Proof proof = ReadProof(context, unix_peers_);
  const std::string stranger = strangers_.empty() ? "" : KeyOfPeer(proof.peer);
  // Whoever has a proxy on this host has its Unix socket in common with others.
  const bool is_guess =
      proof.token.has_value() && !stranger.empty() && !proof.unix_peer.has_value();
  if (is_guess && !strangers_.MayShowToken(stranger, SteadyNow())) {
    strangers_.CountCall(stranger, SteadyNow());
    return Because(
        UnservedReason::kBadToken,
        absl::UnauthenticatedError(absl::StrCat(
            "tokens that are not this server's have been shown on this connection: until "
            "one is right, another is looked at every ",
            1.0 / Strangers::kGuessesPerSecond, " s only")));
  }
  Identity identity = Identify(proof, rules_, *tokens_);
  if (is_guess && identity.bad_token) strangers_.CountGuess(stranger, SteadyNow());
  const bool may = role.has_value() ? identity.roles.Has(*role) : !identity.roles.empty();
  if (limited_ && !may) {
    if (!stranger.empty()) strangers_.CountCall(stranger, SteadyNow());
    return Deny(identity, role, call);
  }
  if (!stranger.empty()) strangers_.LetIn(stranger);
  return identity;
}

absl::StatusOr<Identity> Access::Admit(const UnixPeer& peer, Role role) {
  Proof proof;
  proof.unix_peer = peer;
  Identity identity = Identify(proof, rules_, *tokens_);
  if (limited_ && !identity.roles.Has(role)) return Deny(identity, role);
  return identity;
}

bool Access::IsStranger(const std::string& grpc_peer) const {
  return strangers_.HasAny(KeyOfPeer(grpc_peer)) && !HasRole(unix_peers_.Find(grpc_peer));
}

bool Access::HasRole(const absl::optional<UnixPeer>& peer) const {
  Proof proof;
  proof.unix_peer = peer;
  return peer.has_value() && !Identify(proof, rules_, *tokens_).roles.empty();
}

void Access::CountOpenCall(const std::string& grpc_peer) {
  if (!limited_ || strangers_.empty()) return;
  strangers_.CountCall(KeyOfPeer(grpc_peer), SteadyNow());
}

bool Access::AnyoneHas(Role role) const {
  return !limited_ || tokens_->AnyoneHas(role) ||
         std::any_of(rules_.begin(), rules_.end(),
                     [role](const AccessRule& rule) { return rule.role == role; });
}

absl::Status Access::Deny(const Identity& identity, absl::optional<Role> role,
                          absl::string_view call) {
  absl::Status status;
  if (identity.bad_token) {
    status = Because(UnservedReason::kBadToken,
                     absl::UnauthenticatedError("the token is not one of this server's"));
  } else if (!identity.is_known) {
    status = absl::UnauthenticatedError(
        "no credentials: this server wants a client certificate, a token or a Unix socket");
  } else {
    status = absl::PermissionDeniedError(absl::StrCat(
        identity.name, " does not have ",
        role.has_value() ? absl::StrCat("role ", kRoleNames[static_cast<size_t>(*role)])
                         : "any role"));
  }
  if (const absl::optional<int64_t> suppressed = log_limit_.Pass(SteadyNow())) {
    spdlog::warn("refused {}{}: {}{}", Quoted(identity.name),
                 call.empty() ? "" : absl::StrCat(" ", call), std::string(status.message()),
                 *suppressed > 0 ? absl::StrCat(" (and ", *suppressed, " more)") : "");
  }
  return status;
}

}  // namespace baseband::server
