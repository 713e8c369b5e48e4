// Connections that only exist.
#ifndef BASEBAND_TESTS_SUPPORT_IDLE_CONNECTION_H_
#define BASEBAND_TESTS_SUPPORT_IDLE_CONNECTION_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace baseband::testing {

// A client that connects, says the least that HTTP/2 wants, and then nothing.
class IdleConnection {
 public:
  explicit IdleConnection(const std::string& target)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    int port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(target.substr(target.rfind(':') + 1), &port));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const std::string hello("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
    send(fd_, hello.data(), hello.size(), MSG_NOSIGNAL);
  }
  ~IdleConnection() { close(fd_); }
  IdleConnection(const IdleConnection&) = delete;
  IdleConnection& operator=(const IdleConnection&) = delete;

  // Whether the server has ended it within `timeout`.
  bool IsClosed(absl::Duration timeout) const {
    const absl::Time deadline = absl::Now() + timeout;
    char bytes[256];
    for (;;) {
      pollfd polled = {fd_, POLLIN, 0};
      const auto left = absl::ToInt64Milliseconds(deadline - absl::Now());
      if (left <= 0 || poll(&polled, 1, static_cast<int>(left)) <= 0) return false;
      if (recv(fd_, bytes, sizeof(bytes), 0) <= 0) return true;
    }
  }

 private:
  const int fd_;
};

using Crowd = std::vector<std::unique_ptr<IdleConnection>>;

Crowd Gather(const std::string& target, int count) {
  Crowd crowd;
  for (int i = 0; i < count; ++i) crowd.push_back(std::make_unique<IdleConnection>(target));
  return crowd;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_IDLE_CONNECTION_H_
