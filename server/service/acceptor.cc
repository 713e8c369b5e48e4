#include "server/service/acceptor.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"

namespace baseband::server {
namespace {

constexpr int kBacklog = 4096;  // the kernel takes no more than net.core.somaxconn of it
// Without descriptors there is nothing to do but wait.
constexpr int kPauseMs = 100;

absl::Status CannotListen(const char* why) {
  return absl::UnavailableError(
      absl::StrCat(why, errno == EADDRINUSE ? ": is another server running there?" : ""));
}

int64_t RoomFor(int64_t max_connections) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) {
    return max_connections;
  }
  const int64_t room = static_cast<int64_t>(files.rlim_cur) - Acceptor::kSpareDescriptors;
  if (room < max_connections) {
    spdlog::warn(
        "max_connections {} is more than the {} descriptors of this process allow: {} it is",
        max_connections, files.rlim_cur, std::max<int64_t>(room, 1));
  }
  return std::clamp<int64_t>(room, 1, max_connections);
}

// Whether somebody accepts at `address`.
bool IsAlive(const sockaddr_un& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const bool alive = result == 0 || errno == EAGAIN || errno == EACCES;
  close(fd);
  return alive;
}

int PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

// A socket that listens at `info`, with `port` in place of its own; -1 and errno if there is none.
int ListenAt(const addrinfo& info, int port) {
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

}  // namespace

Acceptor::Acceptor(int64_t max_connections, absl::Duration patience, Metrics* metrics)
    : metrics_(metrics),
      connections_(RoomFor(max_connections), patience),
      stop_fd_(eventfd(0, EFD_CLOEXEC)) {}

Acceptor::~Acceptor() {
  Stop();
  close(stop_fd_);
}

absl::StatusOr<int> Acceptor::Listen(const Address& address, int socket_mode, HandOver hand_over) {
  return address.is_unix() ? ListenUnix(address.unix_path, socket_mode, std::move(hand_over))
                           : ListenTcp(address, std::move(hand_over));
}

absl::StatusOr<int> Acceptor::ListenUnix(const std::string& path, int mode, HandOver hand_over) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  struct stat file {};
  if (lstat(path.c_str(), &file) == 0 && S_ISSOCK(file.st_mode) && !IsAlive(address)) {
    unlink(path.c_str());
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  // The file never has more permissions than `mode`; afterwards it has those that umask took.
  if (fd < 0 || fchmod(fd, static_cast<mode_t>(mode)) != 0 ||
      bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      chmod(path.c_str(), static_cast<mode_t>(mode)) != 0 || listen(fd, kBacklog) != 0) {
    const absl::Status status = CannotListen(std::strerror(errno));
    close(fd);
    return status;
  }
  lstat(path.c_str(), &file);
  listeners_.push_back({fd, path, file.st_ino, std::move(hand_over)});
  return 0;
}

absl::StatusOr<int> Acceptor::ListenTcp(const Address& address, HandOver hand_over) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &found);
  if (error != 0) return CannotListen(gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> infos(found, &freeaddrinfo);
  int port = address.port;
  absl::Status status;
  bool any = false;
  for (const addrinfo* info = infos.get(); info != nullptr; info = info->ai_next) {
    const int fd = ListenAt(*info, port);
    // A host without IPv6 has names with an IPv6 address all the same.
    if (fd < 0 && (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) &&
        (any || info->ai_next != nullptr)) {
      continue;
    }
    if (fd < 0) return CannotListen(std::strerror(errno));
    port = PortOf(fd);
    listeners_.push_back({fd, "", 0, hand_over});
    any = true;
  }
  return port;
}

void Acceptor::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Acceptor::Stop() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    const ssize_t written = write(stop_fd_, &one, sizeof(one));
    static_cast<void>(written);  // it cannot fail: nobody has written before
    thread_.join();
  }
  for (const Listener& listener : listeners_) {
    close(listener.fd);
    struct stat file {};
    if (!listener.unix_path.empty() && lstat(listener.unix_path.c_str(), &file) == 0 &&
        file.st_ino == listener.inode) {
      unlink(listener.unix_path.c_str());
    }
  }
  listeners_.clear();
}

void Acceptor::Run() {
  std::vector<pollfd> polled = {{stop_fd_, POLLIN, 0}};
  for (const Listener& listener : listeners_) polled.push_back({listener.fd, POLLIN, 0});
  ResetDead(SteadyNow());
  bool pause = false;
  for (;;) {
    const auto left = absl::ToInt64Milliseconds(
        absl::Ceil(std::max(connections_.NextLook() - SteadyNow(), absl::ZeroDuration()),
                   absl::Milliseconds(1)));
    // During a pause only the order to stop is waited for.
    const int events = poll(polled.data(), pause ? 1 : polled.size(),
                            static_cast<int>(pause ? std::min<int64_t>(kPauseMs, left) : left));
    if (events > 0 && polled[0].revents != 0) return;
    if (const absl::Time now = SteadyNow(); now >= connections_.NextLook()) ResetDead(now);
    pause = false;
    for (const Listener& listener : listeners_) pause |= !AcceptAll(listener);
  }
}

bool Acceptor::AcceptAll(const Listener& listener) {
  for (;;) {
    const int fd = accept4(listener.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EAGAIN) return true;
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        const char* const why = std::strerror(errno);
        metrics_->CountRefusedConnection();
        if (const auto others = no_descriptor_.Pass(SteadyNow()); others.has_value()) {
          spdlog::warn("cannot accept connections, they wait: {} ({} times more before)", why,
                       *others);
        }
        return false;
      }
      continue;  // the other side has gone already
    }
    if (!connections_.Admit(fd, SteadyNow())) {
      metrics_->CountRefusedConnection();
      close(fd);
      if (const auto others = no_room_.Pass(SteadyNow()); others.has_value()) {
        spdlog::warn("closed a connection: {} are open, and more may not be ({} more before)",
                     connections_.max(), *others);
      }
      continue;
    }
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // a Unix socket does not mind
    listener.hand_over(listener.fd, fd);
  }
}

void Acceptor::ResetDead(absl::Time now) {
  const int64_t dead = connections_.ResetDead(now);
  if (dead == 0) return;
  if (const auto others = dead_.Pass(now); others.has_value()) {
    spdlog::warn("closed {} connections whose clients have read nothing for {} ({} times before)",
                 dead, absl::FormatDuration(connections_.patience()), *others);
  }
}

}  // namespace baseband::server
