#include "server/process/systemd.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace baseband::server {
namespace {

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::Duration SystemdWatchdogInterval() {
  const std::string pid = Variable("WATCHDOG_PID");
  int64_t usec = 0;
  if (!absl::SimpleAtoi(Variable("WATCHDOG_USEC"), &usec) || usec <= 0) return absl::ZeroDuration();
  return pid.empty() || pid == absl::StrCat(getpid()) ? absl::Microseconds(usec)
                                                      : absl::ZeroDuration();
}

}  // namespace

Systemd::Systemd() : Systemd(Variable("NOTIFY_SOCKET"), SystemdWatchdogInterval()) {}

Systemd::Systemd(std::string notify_socket, absl::Duration watchdog)
    : socket_(std::move(notify_socket)), watchdog_(watchdog) {}

void Systemd::Ready(const std::string& status, std::function<bool()> is_alive) {
  Send("READY=1\nSTATUS=" + status);
  if (socket_.empty() || watchdog_ == absl::ZeroDuration()) return;
  pulse_ = std::make_unique<PeriodicThread>(watchdog_ / 2, [this, is_alive = std::move(is_alive)] {
    if (is_alive()) Send("WATCHDOG=1");
  });
}

void Systemd::Stopping(const std::string& status, absl::Duration timeout) {
  Send(absl::StrCat("STOPPING=1\nSTATUS=", status,
                    "\nEXTEND_TIMEOUT_USEC=", absl::ToInt64Microseconds(timeout)));
}

void Systemd::Send(const std::string& lines) const {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof(address.sun_path)) return;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_[0] == '@') address.sun_path[0] = '\0';
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  // Nobody to tell it to but systemd, which notices the silence.
  (void)sendto(fd, lines.data(), lines.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
               reinterpret_cast<const sockaddr*>(&address),
               static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size()));
  close(fd);
}

}  // namespace baseband::server
