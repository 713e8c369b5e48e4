#include "client/cpp/target.h"

#include <arpa/inet.h>

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace baseband::client {
namespace {

bool IsSameHost(const std::string& target) {
  for (const char* prefix : {"unix:", "unix-abstract:", "127.", "localhost:", "[::1]:", "ipv4:127.",
                             "ipv6:[::1]", "dns:///localhost:", "dns:localhost:"}) {
    if (absl::StartsWith(target, prefix)) return true;
  }
  return target == "localhost";
}

// "A.B.C.D:PORT", or "[A::B]:PORT" for AF_INET6.
bool IsAddress(int family, absl::string_view server) {
  const size_t colon = server.rfind(':');
  if (colon == absl::string_view::npos || colon + 1 == server.size()) return false;
  absl::string_view host = server.substr(0, colon);
  if (family == AF_INET6) {
    if (host.size() < 2 || host.front() != '[' || host.back() != ']') return false;
    host = host.substr(1, host.size() - 2);
  }
  in6_addr parsed{};  // the larger of the two
  return inet_pton(family, std::string(host).c_str(), &parsed) == 1;
}

bool AreAddresses(int family, const std::vector<std::string>& servers) {
  for (const std::string& server : servers) {
    if (!IsAddress(family, server)) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<Target> ParseTarget(const std::string& target) {
  if (target.empty()) return absl::InvalidArgumentError("target is empty");
  Target parsed;
  const std::vector<std::string> servers = absl::StrSplit(target, ',');
  if (servers.size() == 1) {
    parsed.uri = target;
    parsed.balanced = absl::StartsWith(target, "dns:");
    parsed.same_host = IsSameHost(target);
    return parsed;
  }
  parsed.balanced = true;
  parsed.same_host = true;
  for (const std::string& server : servers) parsed.same_host &= IsSameHost(server);
  if (AreAddresses(AF_INET, servers)) {
    parsed.uri = absl::StrCat("ipv4:", target);
  } else if (AreAddresses(AF_INET6, servers)) {
    parsed.uri = absl::StrCat("ipv6:", absl::StrReplaceAll(target, {{"[", "%5B"}, {"]", "%5D"}}));
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "target '", target,
        "' is not a list of IPv4 addresses or of IPv6 addresses with their ports; several servers"
        " by a name are dns:///NAME:PORT, with all their addresses in the DNS"));
  }
  return parsed;
}

}  // namespace baseband::client
