// Connections that only exist.
#ifndef BASEBAND_TESTS_SUPPORT_IDLE_CONNECTION_H_
#define BASEBAND_TESTS_SUPPORT_IDLE_CONNECTION_H_

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/support/loopback.h"

namespace baseband::testing {

// The least that HTTP/2 wants of a client.
inline std::string LeastHello() {
  return std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
}

// A client that connects, says `hello`, and then nothing.
class IdleConnection {
 public:
  explicit IdleConnection(const std::string& target, const std::string& hello = LeastHello())
      : fd_(ConnectTo(target)) {
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

inline Crowd Gather(const std::string& target, int count, const std::string& hello = LeastHello()) {
  Crowd crowd;
  for (int i = 0; i < count; ++i) crowd.push_back(std::make_unique<IdleConnection>(target, hello));
  return crowd;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_IDLE_CONNECTION_H_
