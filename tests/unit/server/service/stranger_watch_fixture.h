// TCP connections, both ends of them, and a watch over strangers. For the tests of this folder.
#ifndef BASEBAND_TESTS_UNIT_SERVER_SERVICE_STRANGER_WATCH_FIXTURE_H_
#define BASEBAND_TESTS_UNIT_SERVER_SERVICE_STRANGER_WATCH_FIXTURE_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/service/stranger_watch.h"
#include "tests/support/constants.h"

namespace baseband::server {

inline constexpr absl::Duration kLook = StrangerWatch::kInterval;

inline sockaddr_in Loopback(const char* address, int port) {
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, address, &loopback.sin_addr);
  return loopback;
}

class StrangerWatchTest : public ::testing::Test {
 protected:
  // A TCP connection, both ends of it; the server's is read as gRPC would.
  class Connection {
   public:
    // Comes from `from`, and port `port` of that if it is not 0.
    Connection(int listener, const char* from, int port)
        : client_(socket(AF_INET, SOCK_STREAM, 0)) {
      const int on = 1;
      setsockopt(client_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
      const sockaddr_in own = Loopback(from, port);
      EXPECT_EQ(bind(client_, reinterpret_cast<const sockaddr*>(&own), sizeof(own)), 0);
      sockaddr_in to{};
      socklen_t size = sizeof(to);
      getsockname(listener, reinterpret_cast<sockaddr*>(&to), &size);
      EXPECT_EQ(connect(client_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
      server_ = accept(listener, nullptr, nullptr);
      Send(1);
    }
    ~Connection() {
      CloseClient();
      if (server_ >= 0) close(server_);
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    int fd() const { return server_; }
    int port() const {
      sockaddr_in own{};
      socklen_t size = sizeof(own);
      getsockname(client_, reinterpret_cast<sockaddr*>(&own), &size);
      return ntohs(own.sin_port);
    }
    void Send(int64_t bytes) const {
      const std::string text(static_cast<size_t>(bytes), 'x');
      EXPECT_EQ(send(client_, text.data(), text.size(), MSG_NOSIGNAL), bytes);
    }
    // So much is sent, and taken by the server but for one byte, by which it is seen.
    void Bring(int64_t bytes) const {
      std::string text(16 << 10, '\0');
      while (bytes > 0) {
        const int64_t part = std::min<int64_t>(bytes, static_cast<int64_t>(text.size()));
        Send(part);
        EXPECT_EQ(recv(server_, text.data(), static_cast<size_t>(part), MSG_WAITALL), part);
        bytes -= part;
      }
    }
    bool IsReset() const {
      char bytes[8] = {};
      return recv(server_, bytes, sizeof(bytes), MSG_DONTWAIT) >= 0 &&
             recv(server_, bytes, sizeof(bytes), MSG_DONTWAIT) == 0;
    }
    void ResetByClient() {
      const linger at_once = {1, 0};
      setsockopt(client_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
      CloseClient();
    }

   private:
    void CloseClient() {
      if (client_ >= 0) close(client_);
      client_ = -1;
    }

    int client_ = -1;
    int server_ = -1;
  };

  StrangerWatchTest() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    const sockaddr_in any = Loopback("127.0.0.1", 0);
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&any), sizeof(any)), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
  }
  ~StrangerWatchTest() override { close(listener_); }

  std::unique_ptr<Connection> Connect(const char* from = "127.0.0.1", int port = 0) const {
    return std::make_unique<Connection>(listener_, from, port);
  }
  // From a new connection of 127.0.0.1, at `now`, until it is reset.
  void Offend(absl::Time now) {
    const auto offender = Connect();
    if (watch_.Admit(offender->fd(), now) > absl::ZeroDuration()) {
      EXPECT_TRUE(watch_.Pass(offender->fd(), now));
    }
    offender->Bring(StrangerWatch::kBytesAtMost + 1);
    EXPECT_EQ(Look(now), 1);
  }
  // Whoever has sent something is seen by the first look, and judged by the second at the latest.
  int64_t Look(absl::Time now, const std::vector<int>& kept = {}) {
    const int64_t reset = watch_.Look(now, kept);
    return reset + watch_.Look(now + kLook, kept);
  }

  const int listener_;
  Strangers strangers_;
  StrangerWatch watch_{&strangers_};
};

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_UNIT_SERVER_SERVICE_STRANGER_WATCH_FIXTURE_H_
