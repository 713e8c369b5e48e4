#include "server/process/listening_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace baseband::server {
namespace {

constexpr int kBacklog = 4096;  // the kernel takes no more than net.core.somaxconn of it

absl::Status CannotListen(absl::string_view why) {
  return absl::UnavailableError(
      absl::StrCat(why, errno == EADDRINUSE ? ": is another server running there?" : ""));
}

// Whether somebody accepts at `address`.
bool IsAlive(const sockaddr_un& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  // Somebody who wants packets is one, too.
  const bool alive = result == 0 || errno == EAGAIN || errno == EACCES || errno == EPROTOTYPE;
  close(fd);
  return alive;
}

// What the kernel's ENOENT means of a socket's file, which need not be there.
std::string WhyNoFile(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  struct stat file {};
  if (errno != ENOENT || stat(folder.c_str(), &file) == 0) return std::strerror(errno);
  errno = ENOENT;
  return absl::StrCat("there is no folder ", folder, ": make it first");
}

int PortOfSocket(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

// A socket that listens at `info`, with `port` in place of its own; -1 and errno if there is none.
int ListenAtOne(const addrinfo& info, int port) {
  const int fd =
      socket(info.ai_family, info.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, info.ai_protocol);
  if (fd < 0) return -1;
  sockaddr_storage address{};
  std::memcpy(&address, info.ai_addr, info.ai_addrlen);
  const auto net_port = htons(static_cast<uint16_t>(port));
  const int on = 1;
  const int off = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (info.ai_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&address)->sin6_port = net_port;
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));  // [::] is IPv4's, too
  } else {
    reinterpret_cast<sockaddr_in*>(&address)->sin_port = net_port;
  }
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), info.ai_addrlen) == 0 &&
      listen(fd, kBacklog) == 0) {
    return fd;
  }
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

// Who connects to `fd` can pass on no descriptors, where the kernel (Linux 6.16) lets us say so:
// nobody here takes any, and to drop the last one of a file is as much work as its owner likes.
void TakeNoDescriptors(int fd) {
  constexpr int kPassRights = 83;  // SO_PASSRIGHTS, which older headers do not have
  const int off = 0;
  (void)setsockopt(fd, SOL_SOCKET, kPassRights, &off, sizeof(off));
}

absl::StatusOr<ListeningSocket> ListenUnix(const std::string& path, int type, int mode) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  struct stat file {};
  if (lstat(path.c_str(), &file) == 0 && S_ISSOCK(file.st_mode) && !IsAlive(address)) {
    unlink(path.c_str());
  }
  const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  TakeNoDescriptors(fd);
  // The file never has more permissions than `mode`; afterwards it has those that umask took.
  if (fd < 0 || fchmod(fd, static_cast<mode_t>(mode)) != 0 ||
      bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      chmod(path.c_str(), static_cast<mode_t>(mode)) != 0 || listen(fd, kBacklog) != 0) {
    const absl::Status status = CannotListen(WhyNoFile(path));
    close(fd);
    return status;
  }
  lstat(path.c_str(), &file);
  return ListeningSocket{fd, path, file.st_ino};
}

absl::StatusOr<std::vector<ListeningSocket>> ListenTcp(const Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &found);
  if (error != 0) return CannotListen(gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> infos(found, &freeaddrinfo);
  int port = address.port;
  std::vector<ListeningSocket> sockets;
  for (const addrinfo* info = infos.get(); info != nullptr; info = info->ai_next) {
    const int fd = ListenAtOne(*info, port);
    // A host without IPv6 has names with an IPv6 address all the same.
    if (fd < 0 && (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) &&
        (!sockets.empty() || info->ai_next != nullptr)) {
      continue;
    }
    if (fd < 0) {
      absl::Status status = CannotListen(std::strerror(errno));
      for (const ListeningSocket& socket : sockets) CloseListening(socket);
      return status;
    }
    port = PortOfSocket(fd);
    sockets.push_back({fd, "", 0});
  }
  return sockets;
}

}  // namespace

absl::StatusOr<std::vector<ListeningSocket>> ListenAt(const Address& address, int socket_mode) {
  if (!address.is_unix()) return ListenTcp(address);
  BASEBAND_ASSIGN_OR_RETURN(ListeningSocket socket,
                            ListenUnix(address.unix_path, SOCK_STREAM, socket_mode));
  return std::vector<ListeningSocket>{std::move(socket)};
}

absl::StatusOr<ListeningSocket> ListenForPackets(const std::string& unix_path, int socket_mode) {
  return ListenUnix(unix_path, SOCK_SEQPACKET, socket_mode);
}

int PortOf(const ListeningSocket& socket) { return PortOfSocket(socket.fd); }

void CloseListening(const ListeningSocket& socket) {
  close(socket.fd);
  struct stat file {};
  if (!socket.unix_path.empty() && lstat(socket.unix_path.c_str(), &file) == 0 &&
      file.st_ino == socket.inode) {
    unlink(socket.unix_path.c_str());
  }
}

}  // namespace baseband::server
