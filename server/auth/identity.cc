#include "server/auth/identity.h"

#include <grpc/grpc_security_constants.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace baseband::server {
namespace {

constexpr absl::string_view kScheme = "bearer ";

std::string SubjectOf(const grpc::AuthContext* context) {
  if (context == nullptr) return "";
  for (const char* property :
       {GRPC_PEER_URI_PROPERTY_NAME, GRPC_PEER_DNS_PROPERTY_NAME, GRPC_X509_CN_PROPERTY_NAME}) {
    const std::vector<grpc::string_ref> values = context->FindPropertyValues(property);
    if (!values.empty()) return std::string(values[0].data(), values[0].size());
  }
  return "";
}

absl::optional<std::string> TokenOf(const grpc::ServerContextBase& context) {
  const auto range = context.client_metadata().equal_range("authorization");
  if (range.first == range.second) return absl::nullopt;
  const absl::string_view value(range.first->second.data(), range.first->second.size());
  if (std::next(range.first) != range.second || !absl::StartsWithIgnoreCase(value, kScheme)) {
    return "";
  }
  return std::string(value.substr(kScheme.size()));
}

bool Matches(const AccessRule& rule, const Proof& proof) {
  if (rule.kind == AccessRule::Kind::kCertificate) {
    return rule.MatchesCertificate(proof.certificate);
  }
  if (!proof.unix_peer.has_value()) return false;
  const UnixPeer& peer = *proof.unix_peer;
  return rule.kind == AccessRule::Kind::kUid
             ? peer.uid == rule.id
             : std::find(peer.gids.begin(), peer.gids.end(), rule.id) != peer.gids.end();
}

}  // namespace

std::string HostOfPeer(absl::string_view peer) {
  if (!absl::ConsumePrefix(&peer, "ipv4:") && !absl::ConsumePrefix(&peer, "ipv6:")) return "local";
  peer = peer.substr(0, peer.rfind(':'));
  if (absl::ConsumePrefix(&peer, "%5B")) {
    absl::ConsumeSuffix(&peer, "%5D");
  } else if (absl::ConsumePrefix(&peer, "[")) {
    absl::ConsumeSuffix(&peer, "]");
  }
  return std::string(peer);
}

Proof ReadProof(const grpc::ServerContextBase& context, const UnixPeers& unix_peers) {
  Proof proof;
  proof.peer = context.peer();
  proof.certificate = SubjectOf(context.auth_context().get());
  proof.token = TokenOf(context);
  proof.unix_peer = unix_peers.Find(proof.peer);
  proof.address = HostOfPeer(proof.peer);
  return proof;
}

Identity Identify(const Proof& proof, absl::Span<const AccessRule> rules, const Tokens& tokens) {
  Identity identity;
  absl::optional<Tokens::Holder> holder;
  if (proof.token.has_value()) {
    holder = tokens.Find(*proof.token);
    identity.bad_token = !holder.has_value();
  }
  identity.is_known =
      !proof.certificate.empty() || holder.has_value() || proof.unix_peer.has_value();
  identity.name = !proof.certificate.empty()    ? proof.certificate
                  : holder.has_value()          ? holder->name
                  : proof.unix_peer.has_value() ? absl::StrCat("uid:", proof.unix_peer->uid)
                                                : proof.address;
  if (identity.bad_token) return identity;
  if (holder.has_value()) identity.roles.Add(holder->roles);
  for (const AccessRule& rule : rules) {
    if (Matches(rule, proof)) identity.roles.Add(rule.role);
  }
  return identity;
}

}  // namespace baseband::server
