#include "client/cpp/target.h"

#include <arpa/inet.h>

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace baseband::client {
namespace {

absl::string_view WithoutScheme(absl::string_view address) {
  for (const char* scheme : {"ipv4:", "ipv6:", "dns:///", "dns:"}) {
    if (absl::ConsumePrefix(&address, scheme)) break;
  }
  return address;
}

struct Address {
  int family = AF_UNSPEC;  // this: none
  in6_addr bytes{};        // of both families; IPv4's in the first four
};

// "A.B.C.D:PORT" or "[A::B]:PORT", the port optional, as inet_pton takes addresses: no short forms,
// no other bases, no zones.
Address ParseAddress(absl::string_view server, bool needs_port) {
  Address address;
  absl::string_view host = server;
  const bool in_brackets = absl::ConsumePrefix(&host, "[");
  const size_t end = in_brackets ? host.find(']') : host.find(':');
  absl::string_view port = end == absl::string_view::npos ? "" : host.substr(end);
  int number = 0;
  if ((in_brackets && !absl::ConsumePrefix(&port, "]")) ||
      (port.empty() ? needs_port
                    : !absl::ConsumePrefix(&port, ":") || !absl::SimpleAtoi(port, &number))) {
    return address;
  }
  const int family = in_brackets ? AF_INET6 : AF_INET;
  if (inet_pton(family, std::string(host.substr(0, end)).c_str(), &address.bytes) == 1) {
    address.family = family;
  }
  return address;
}

bool IsLoopback(const Address& address) {
  const uint8_t* const bytes = address.bytes.s6_addr;
  return address.family == AF_INET ? bytes[0] == 127
         : address.family == AF_INET6
             ? IN6_IS_ADDR_LOOPBACK(&address.bytes) ||
                   (IN6_IS_ADDR_V4MAPPED(&address.bytes) && bytes[12] == 127)
             : false;
}

// Whether one server is certainly on this host, whoever resolves names.
bool IsPrivate(const std::string& target) {
  if (absl::StartsWith(target, "unix:") || absl::StartsWith(target, "unix-abstract:")) return true;
  return IsLoopback(
      ParseAddress(absl::StrReplaceAll(WithoutScheme(target), {{"%5B", "["}, {"%5D", "]"}}),
                   /*needs_port=*/false));
}

bool IsSameHost(const std::string& target) {
  for (const char* prefix : {"localhost:", "dns:///localhost:", "dns:localhost:"}) {
    if (absl::StartsWith(target, prefix)) return true;
  }
  return IsPrivate(target);
}

bool AreAddresses(int family, const std::vector<std::string>& servers) {
  for (const std::string& server : servers) {
    if (ParseAddress(server, /*needs_port=*/true).family != family) return false;
  }
  return true;
}

// Of addresses that have no port.
constexpr absl::string_view kPortless[] = {"unix:", "unix-abstract:", "vsock:"};

// What gRPC takes for the port; empty: it takes none. Of two colons and more without brackets, all
// are an IPv6 address's.
absl::string_view PortOf(absl::string_view address) {
  for (const absl::string_view scheme : kPortless) {
    if (absl::StartsWith(address, scheme)) return "";
  }
  address = WithoutScheme(address);
  if (absl::ConsumePrefix(&address, "//")) address.remove_prefix(address.find('/') + 1);  // a DNS's
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return "";
  const absl::string_view host = address.substr(0, colon);
  const bool in_brackets = absl::EndsWith(host, "]") || absl::EndsWith(host, "%5D");
  return in_brackets || !absl::StrContains(host, ':') ? address.substr(colon + 1) : "";
}

// gRPC would take any scheme for a name, and a port modulo 65536.
absl::Status CheckAddress(absl::string_view address) {
  const absl::string_view scheme = address.substr(0, address.find("://"));
  if (scheme.size() < address.size() && scheme != "dns" && scheme != "unix") {
    return absl::InvalidArgumentError(absl::StrCat(
        "target '", address, "': it takes no ", scheme,
        "://, but HOST:PORT, unix:PATH or dns:///NAME:PORT: leave ", scheme, ":// out"));
  }
  int64_t port = 0;
  const absl::string_view digits = PortOf(address);
  if (!digits.empty() && std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit) &&
      (!absl::SimpleAtoi(digits, &port) || port < 1 || port > 65535)) {
    return absl::InvalidArgumentError(
        absl::StrCat("target '", address, "': port ", digits, " is not in [1, 65535]"));
  }
  return absl::OkStatus();
}

// Or a path. Without a port gRPC would take that of the web.
bool HasPort(absl::string_view server) {
  for (const absl::string_view scheme : kPortless) {
    if (absl::ConsumePrefix(&server, scheme)) return !server.empty();
  }
  return !PortOf(server).empty();
}

}  // namespace

absl::StatusOr<Target> ParseTarget(const std::string& target) {
  if (target.empty()) return absl::InvalidArgumentError("target is empty");
  Target parsed;
  const std::vector<std::string> servers = absl::StrSplit(target, ',');
  for (const std::string& server : servers) {
    if (absl::Status status = CheckAddress(server); !status.ok()) return status;
  }
  if (servers.size() == 1) {
    if (!HasPort(target)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "target '", target, "' is not HOST:PORT, unix:PATH or a list ADDRESS:PORT,ADDRESS:PORT"));
    }
    parsed.uri = target;
    parsed.balanced = absl::StartsWith(target, "dns:");
    parsed.same_host = IsSameHost(target);
    parsed.is_private = IsPrivate(target);
    return parsed;
  }
  parsed.balanced = true;
  parsed.is_private = true;
  for (const std::string& server : servers) parsed.is_private &= IsPrivate(server);
  parsed.same_host = parsed.is_private;
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
