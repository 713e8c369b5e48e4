#include "server/config/address.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace baseband::server {
namespace {

constexpr size_t kMaxUnixPath = sizeof(sockaddr_un::sun_path) - 1;

absl::StatusOr<Address> ParseUnix(absl::string_view path) {
  absl::ConsumePrefix(&path, "//");  // unix:///absolute/path
  if (path.empty() || path.size() > kMaxUnixPath) {
    return absl::InvalidArgumentError(absl::StrCat("is not a Unix socket: a path of 1 to ",
                                                   kMaxUnixPath, " bytes has to follow unix:"));
  }
  Address address;
  address.unix_path = std::string(path);
  return address;
}

}  // namespace

bool Address::is_local() const {
  if (is_unix() || absl::EqualsIgnoreCase(host, "localhost")) return true;
  in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6;
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

absl::StatusOr<Address> ParseAddress(absl::string_view text) {
  if (absl::ConsumePrefix(&text, "unix:")) return ParseUnix(text);
  if (absl::StartsWith(text, "unix-abstract:")) {
    return absl::InvalidArgumentError("is refused: abstract sockets have no file permissions");
  }
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) {
    return absl::InvalidArgumentError("has no port: expected HOST:PORT or unix:PATH");
  }
  absl::string_view host = text.substr(0, colon);
  const absl::string_view port = text.substr(colon + 1);
  Address address;
  if (!absl::SimpleAtoi(port, &address.port) || address.port < 0 || address.port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("has port '", port, "', not in [0, 65535]"));
  }
  const bool bracketed = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  if (!bracketed && absl::StrContains(host, ':')) {
    return absl::InvalidArgumentError("is ambiguous: write an IPv6 address as [ADDRESS]:PORT");
  }
  if (host.empty()) {
    return absl::InvalidArgumentError("has no host: write 0.0.0.0 or [::] to mean every interface");
  }
  address.host = std::string(host);
  return address;
}

}  // namespace baseband::server
