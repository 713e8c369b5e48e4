// Addresses to listen on: HOST:PORT, [IPV6]:PORT or unix:PATH.
#ifndef BASEBAND_SERVER_CONFIG_ADDRESS_H_
#define BASEBAND_SERVER_CONFIG_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace baseband::server {

struct Address {
  std::string unix_path;  // empty: TCP
  std::string host;       // without brackets
  int port = 0;           // 0: any free one

  bool is_unix() const { return !unix_path.empty(); }
  // Reachable from this host only: a Unix socket, localhost, 127.x.x.x or ::1.
  bool is_local() const;
};

// InvalidArgument says what is wrong with `text`; the caller names the setting.
absl::StatusOr<Address> ParseAddress(absl::string_view text);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONFIG_ADDRESS_H_
