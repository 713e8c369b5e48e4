// Pages of servers that do what they should not.
#include "client/load/http_get.h"

#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/loopback.h"
#include "tests/support/matchers.h"

namespace baseband::load {
namespace {

// What an answer is waited for where it does come.
constexpr absl::Duration kLong = absl::Seconds(60);

// Answers one call by `answer`, which writes to the connection as long as the other side reads, and
// keeps the request.
class OneAnswer {
 public:
  explicit OneAnswer(std::function<void(int)> answer)
      : answer_(std::move(answer)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = testing::Loopback(0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    host_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
    thread_ = std::thread([this] {
      const int fd = accept(listener_, nullptr, nullptr);
      char buffer[4096];
      const ssize_t got = read(fd, buffer, sizeof(buffer));
      request_.assign(buffer, got > 0 ? static_cast<size_t>(got) : 0);
      answer_(fd);
      close(fd);
    });
  }
  ~OneAnswer() {
    shutdown(listener_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    close(listener_);
  }
  const std::string& host() const { return host_; }
  const std::string& request() {
    thread_.join();
    return request_;
  }

 private:
  const std::function<void(int)> answer_;
  const int listener_;
  std::string host_;
  std::string request_;
  std::thread thread_;
};

bool Send(int fd, const std::string& text) {
  return send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

TEST(HttpGetTest, APathIsOptionalAndThePasswordIsSent) {
  OneAnswer server([](int fd) { Send(fd, "HTTP/1.1 503 No\r\n\r\nstarting\n"); });
  const auto answer = HttpGet(server.host(), kLong, "secret");
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->body, "starting\n");
  // printf :secret | base64
  EXPECT_THAT(server.request(), AllOf(HasSubstr("GET /metrics HTTP/1.1\r\n"),
                                      HasSubstr("Authorization: Basic OnNlY3JldA==\r\n")));
}

TEST(HttpGetTest, RedirectsAreNotFollowed) {
  OneAnswer server([](int fd) {
    Send(fd, "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
  });
  EXPECT_EQ(HttpGet(server.host(), kLong)->status, 302);
}

TEST(HttpGetTest, WhatIsNoHttpIsNoAnswer) {
  for (const std::string& text :
       {std::string("SSH-2.0-OpenSSH\r\n"), std::string(),
        "HTTP/1.1 200 " + std::string(3 << 20, 'x') + "\r\n\r\npage",
        "HTTP/1.1 200 OK\r\nA: " + std::string(3 << 20, 'x') + "\r\n\r\npage",
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\npage"),
        std::string(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n")}) {
    OneAnswer server([&](int fd) { Send(fd, text); });
    EXPECT_THAT(HttpGet(server.host(), kLong),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("gave no answer")))
        << text.substr(0, 40);
  }
}

// The frame by which every gRPC server begins.
TEST(HttpGetTest, AtAGrpcServerItSaysWhereThePageIs) {
  OneAnswer server([](int fd) { Send(fd, std::string("\0\0\0\4\0\0\0\0\0", 9)); });
  EXPECT_THAT(HttpGet(server.host(), kLong),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("speaks another protocol, as gRPC at a server's --listen"),
                             HasSubstr("--metrics-listen"))));
}

TEST(HttpGetTest, APageWithoutEndIsGivenUp) {
  OneAnswer server([](int fd) {
    const std::string part(1 << 20, 'x');
    for (bool more = Send(fd, "HTTP/1.1 200 OK\r\n\r\n"); more; more = Send(fd, part)) {
    }
  });
  EXPECT_THAT(HttpGet(server.host(), kLong),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("gave no answer")));
}

TEST(HttpGetTest, TheTimeIsThatOfTheWholeAnswer) {
  // A line at a time, for ever: no single wait is long.
  OneAnswer server([](int fd) {
    for (bool more = Send(fd, "HTTP/1.1 200 OK\r\n\r\n"); more; more = Send(fd, "a 1\n")) {
      absl::SleepFor(absl::Milliseconds(10));
    }
  });
  EXPECT_THAT(HttpGet(server.host(), absl::Milliseconds(100)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("gave no answer")));
}

TEST(HttpGetTest, NobodyThereIsSaid) {
  std::string host;
  {
    OneAnswer server([](int) {});
    host = server.host();
  }
  EXPECT_THAT(HttpGet(host, kLong),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot connect to " + host)));
}

TEST(HttpGetTest, AddressesHaveOneForm) {
  for (const char* url : {"http://host:9151/metrics", "host:9151", "host",
                          "http://[fe80::1]:9151/x", "http://127.0.0.1/"}) {
    EXPECT_THAT(CheckUrl(url), IsOk()) << url;
  }
  for (const char* url : {"https://host/metrics", "", "http://", "http://host:99999/metrics",
                          "http://host:port/metrics", "http://a b/"}) {
    EXPECT_THAT(CheckUrl(url), IsInvalid("is not http://HOST:PORT/PATH")) << url;
  }
}

}  // namespace
}  // namespace baseband::load
