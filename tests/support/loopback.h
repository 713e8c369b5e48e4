// Sockets of 127.0.0.1, of other IPv4 addresses, and of the file system.
#ifndef BASEBAND_TESTS_SUPPORT_LOOPBACK_H_
#define BASEBAND_TESTS_SUPPORT_LOOPBACK_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"

namespace baseband::testing {

inline sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// The port of "HOST:PORT"; 0 if there is none.
inline int PortOf(const std::string& target) {
  int port = 0;
  return absl::SimpleAtoi(target.substr(target.rfind(':') + 1), &port) ? port : 0;
}

inline int ConnectToUnix(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un peer{};
  peer.sun_family = AF_UNIX;
  path.copy(peer.sun_path, sizeof(peer.sun_path) - 1);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&peer), sizeof(peer)) != 0) {
    shutdown(fd, SHUT_RDWR);
  }
  return fd;
}

// A socket connected to `target`, "127.0.0.1:PORT", another IPv4 address or "unix:PATH", or not, if
// nobody listens there. With `receive_bytes` the kernel keeps about that much of what has not been
// read.
inline int ConnectTo(const std::string& target, int receive_bytes = 0) {
  if (target.rfind("unix:", 0) == 0) return ConnectToUnix(target.substr(5));
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_bytes > 0) {
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
  }
  sockaddr_in peer = Loopback(PortOf(target));
  inet_pton(AF_INET, target.substr(0, target.rfind(':')).c_str(), &peer.sin_addr);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&peer), sizeof(peer)) != 0) {
    shutdown(fd, SHUT_RDWR);
  }
  return fd;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_LOOPBACK_H_
