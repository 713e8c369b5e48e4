// What systemd listens at: a datagram socket of the Unix kind.
#ifndef BASEBAND_TESTS_SUPPORT_NOTIFY_SOCKET_H_
#define BASEBAND_TESTS_SUPPORT_NOTIFY_SOCKET_H_

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace baseband::testing {

class NotifySocket {
 public:
  // `name`: a path, or "@" and an abstract name.
  explicit NotifySocket(std::string name) : name_(std::move(name)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name_.data(), name_.size());
    if (name_[0] == '@') address.sun_path[0] = '\0';
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size())),
              0)
        << std::strerror(errno);
    const timeval patience = {60, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }
  ~NotifySocket() {
    close(fd_);
    if (name_[0] != '@') unlink(name_.c_str());
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  const std::string& name() const { return name_; }
  // The next datagram; empty if none comes for a minute, or none is there now.
  std::string Hear() const { return Receive(0); }
  std::string HearNow() const { return Receive(MSG_DONTWAIT); }

 private:
  std::string Receive(int flags) const {
    char buffer[4096];
    const ssize_t n = recv(fd_, buffer, sizeof(buffer), flags);
    return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : "";
  }

  const std::string name_;
  const int fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_NOTIFY_SOCKET_H_
