// What the metrics port answers to whom.
#include "server/metrics/metrics_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "kernels/base/steady_time.h"
#include "server/metrics/metrics.h"
#include "tests/support/matchers.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A connection to loopback that has sent `bytes`.
class Caller {
 public:
  Caller(int port, const std::string& bytes) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  ~Caller() { close(fd_); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // Sends without end, until the server hears no more. Bytes sent.
  size_t SendOn() {
    const std::string more(1 << 16, 'x');
    size_t sent = 0;
    for (ssize_t n = 0; (n = send(fd_, more.data(), more.size(), MSG_NOSIGNAL)) > 0;) {
      sent += static_cast<size_t>(n);
    }
    return sent;
  }

  // All that comes until the server has said all.
  std::string Hear() {
    std::string reply;
    char buffer[4096];
    for (ssize_t n = 0; (n = recv(fd_, buffer, sizeof(buffer), 0)) > 0;) {
      reply.append(buffer, static_cast<size_t>(n));
    }
    return reply;
  }

 private:
  const int fd_;
};

// What the server answers to `request_line`, a first line without its version.
std::string Ask(int port, const std::string& request_line, const std::string& header = "") {
  return Caller(port, request_line + " HTTP/1.0\r\n" + header + "\r\n").Hear();
}

std::string StatusLine(int port, const std::string& header) {
  const std::string reply = Ask(port, "GET /metrics", header);
  return reply.substr(0, reply.find('\r'));
}

std::string HeadOf(const std::string& reply) { return reply.substr(0, reply.find("\r\n\r\n")); }

std::string BodyOf(const std::string& reply) {
  const size_t body = reply.find("\r\n\r\n");
  return body == std::string::npos ? "no end of headers" : reply.substr(body + 4);
}

// A server whose pages are not made before Release.
class HeldPages {
 public:
  HeldPages() {
    metrics_.BeforeScrape([this](Metrics&) {
      ++count_;
      go_.WaitForNotification();
    });
    server_ = MetricsServer::Start("127.0.0.1:0", metrics_);
    EXPECT_THAT(server_, IsOk());
  }
  int port() const { return (*server_)->port(); }
  int count() const { return count_; }  // that were begun
  void AwaitFirst() const {
    while (count_ == 0) absl::SleepFor(absl::Milliseconds(1));
  }
  void Release() { go_.Notify(); }

 private:
  absl::Notification go_;
  std::atomic<int> count_{0};
  Metrics metrics_{"1", TestOperations().counted()};
  absl::StatusOr<std::unique_ptr<MetricsServer>> server_;  // last: ends before what it serves
};

TEST(MetricsServerTest, ProbesSayOkOrWhyNotToEverybody) {
  Metrics metrics("1", TestOperations().counted());
  std::string why_not_ready = "starting";
  MetricsServer::Probes probes;
  probes.ready = [&] { return why_not_ready; };
  const auto server = MetricsServer::Start(
      "127.0.0.1:0", metrics, [](const std::string&) { return false; }, probes);
  ASSERT_TRUE(server.ok()) << server.status();
  const int port = (*server)->port();

  const std::string live = Ask(port, "GET /livez");
  EXPECT_THAT(live, HasSubstr("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(BodyOf(live), "ok\n");
  const std::string starting = Ask(port, "GET /readyz");
  EXPECT_THAT(starting, HasSubstr("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_EQ(BodyOf(starting), "starting\n");
  why_not_ready = "";
  EXPECT_EQ(BodyOf(Ask(port, "GET /readyz")), "ok\n");
  EXPECT_EQ(BodyOf(Ask(port, "HEAD /readyz")), "");
  EXPECT_THAT(Ask(port, "POST /readyz"), HasSubstr("405 Method Not Allowed"));
  EXPECT_THAT(Ask(port, "GET /nothing"), HasSubstr("404 Not Found"));
}

TEST(MetricsServerTest, ThePageIsGzippedForWhoTakesThat) {
  Metrics metrics("1", TestOperations().counted());
  const auto server = MetricsServer::Start("127.0.0.1:0", metrics);
  ASSERT_TRUE(server.ok()) << server.status();
  const int port = (*server)->port();

  const std::string plain = Ask(port, "GET /metrics");
  EXPECT_THAT(BodyOf(plain), HasSubstr("baseband_build_info{version=\"1\"} 1\n"));
  const std::string packed = Ask(port, "GET /metrics", "Accept-Encoding: gzip\r\n");
  EXPECT_THAT(packed, HasSubstr("Content-Encoding: gzip\r\n"));
  EXPECT_THAT(BodyOf(packed), StartsWith("\x1f\x8b"));
  EXPECT_LT(packed.size(), plain.size() / 4);
  for (const char* no :
       {"gzip;q=0", "identity, gzip; q=0.0", "xgzip", "deflate", "gzip;q=much", ""}) {
    EXPECT_THAT(HeadOf(Ask(port, "GET /metrics", std::string("Accept-Encoding: ") + no + "\r\n")),
                Not(HasSubstr("Content-Encoding")))
        << no;
  }
  for (const char* yes : {"deflate, GZIP;q=0.5", "deflate\r\nAccept-Encoding: gzip"}) {
    EXPECT_THAT(HeadOf(Ask(port, "GET /metrics", std::string("Accept-Encoding: ") + yes + "\r\n")),
                HasSubstr("Content-Encoding"))
        << yes;
  }
}

TEST(MetricsServerTest, APasswordLetsInWhereOneIsAskedFor) {
  Metrics metrics("1", TestOperations().counted());
  const auto open = MetricsServer::Start("127.0.0.1:0", metrics);
  const auto closed = MetricsServer::Start(
      "127.0.0.1:0", metrics, [](const std::string& password) { return password == "secret"; });
  ASSERT_TRUE(open.ok() && closed.ok());

  EXPECT_EQ(StatusLine((*open)->port(), ""), "HTTP/1.1 200 OK");
  EXPECT_EQ(StatusLine((*closed)->port(), ""), "HTTP/1.1 401 Unauthorized");
  // "anybody:guess", "anybody:secret"
  EXPECT_EQ(StatusLine((*closed)->port(), "Authorization: Basic YW55Ym9keTpndWVzcw==\r\n"),
            "HTTP/1.1 401 Unauthorized");
  EXPECT_EQ(StatusLine((*closed)->port(), "Authorization: Basic YW55Ym9keTpzZWNyZXQ=\r\n"),
            "HTTP/1.1 200 OK");
  EXPECT_EQ(StatusLine((*closed)->port(), "authorization: basic YW55Ym9keTpzZWNyZXQ=\r\n"),
            "HTTP/1.1 200 OK");
}

TEST(MetricsServerTest, WhatIsNoRequestIsToldSo) {
  Metrics metrics("1", TestOperations().counted());
  const auto server = MetricsServer::Start("127.0.0.1:0", metrics);
  ASSERT_THAT(server, IsOk());
  const int port = (*server)->port();

  EXPECT_THAT(Caller(port, "\x16\x03\x01\x02 a handshake\r\n\r\n").Hear(),
              StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(Ask(port, "GET /livez", "X: " + std::string(10000, 'x') + "\r\n"),
              StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(Ask(port, "POST /livez", "Content-Length: 3\r\n\r\nabc"),
              StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"));
  EXPECT_THAT(Ask(port, "POST /livez", "Content-Length: 3000000\r\n"),
              StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"));
  EXPECT_THAT(Ask(port, "GET /livez?verbose"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST(MetricsServerTest, WhoStandsStillKeepsNobodyWaitingAndTheOldestGoFirst) {
  Metrics metrics("1", TestOperations().counted());
  const auto server = MetricsServer::Start("127.0.0.1:0", metrics);
  ASSERT_THAT(server, IsOk());
  const int port = (*server)->port();

  std::vector<std::unique_ptr<Caller>> callers;
  for (size_t i = 0; i < 2 * MetricsServer::kMaxConnections; ++i) {
    callers.push_back(std::make_unique<Caller>(port, i % 2 == 0 ? "GET /metr" : ""));
  }
  const absl::Time start = SteadyNow();
  EXPECT_EQ(BodyOf(Ask(port, "GET /livez")), "ok\n");
  EXPECT_THAT(Ask(port, "GET /metrics"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_LT(SteadyNow() - start, MetricsServer::kPatience) << "it waited for their time to end";
  EXPECT_EQ(callers.front()->Hear(), "");
  EXPECT_LT(SteadyNow() - start, MetricsServer::kPatience) << "the oldest was not the first to go";
  EXPECT_EQ(callers.back()->Hear(), "") << "nobody stays for good";
}

TEST(MetricsServerTest, WhoNeverStopsSendingIsCutOff) {
  Metrics metrics("1", TestOperations().counted());
  const auto server = MetricsServer::Start("127.0.0.1:0", metrics);
  ASSERT_THAT(server, IsOk());
  Caller caller((*server)->port(), "GET /livez HTTP/1.1\r\n\r\n");
  // What it does not read waits in the kernel's buffers.
  EXPECT_LT(caller.SendOn(), size_t{64} << 20);
}

TEST(MetricsServerTest, SilentConnectionsDriveOutNobodyWhoWaitsForAPage) {
  HeldPages held;
  const int port = held.port();

  Caller scraper(port, "GET /metrics HTTP/1.1\r\n\r\n");
  held.AwaitFirst();
  std::vector<std::unique_ptr<Caller>> callers;
  for (size_t i = 0; i < 2 * MetricsServer::kMaxConnections; ++i) {
    callers.push_back(std::make_unique<Caller>(port, ""));
  }
  EXPECT_EQ(callers.front()->Hear(), "") << "that it went says that they have been accepted";
  EXPECT_EQ(BodyOf(Ask(port, "GET /livez")), "ok\n");
  held.Release();
  EXPECT_THAT(scraper.Hear(), HasSubstr("baseband_build_info"));
}

TEST(MetricsServerTest, OfThoseWhoWaitForAPageTheOldestGoAndTheOthersHaveIt) {
  HeldPages held;
  const int port = held.port();

  std::vector<std::unique_ptr<Caller>> callers;
  for (size_t i = 0; i < 3 * MetricsServer::kMaxConnections; ++i) {
    callers.push_back(std::make_unique<Caller>(port, "GET /metrics HTTP/1.1\r\n\r\n"));
  }
  EXPECT_EQ(BodyOf(Ask(port, "GET /livez")), "ok\n");
  EXPECT_EQ(callers.front()->Hear(), "");
  held.Release();
  EXPECT_THAT(callers.back()->Hear(), HasSubstr("baseband_build_info"));
}

TEST(MetricsServerTest, APageIsMadeForAllWhoWaitAndProbesDoNotWaitForIt) {
  HeldPages held;
  const int port = held.port();

  const std::string request = "GET /metrics HTTP/1.1\r\n\r\n";
  Caller first(port, request);
  held.AwaitFirst();
  std::vector<std::unique_ptr<Caller>> others;
  for (int i = 0; i < 20; ++i) others.push_back(std::make_unique<Caller>(port, request));
  EXPECT_EQ(BodyOf(Ask(port, "GET /livez")), "ok\n");  // those before it have been read, too
  held.Release();
  EXPECT_THAT(first.Hear(), HasSubstr("baseband_build_info"));
  for (const auto& caller : others) {
    EXPECT_THAT(caller->Hear(), HasSubstr("baseband_build_info"));
  }
  EXPECT_EQ(held.count(), 2) << "one for the first, and one for all who came while it was made";
}

TEST(MetricsServerTest, ItEndsWhileSomebodyWaits) {
  Metrics metrics("1", TestOperations().counted());
  auto server = MetricsServer::Start("127.0.0.1:0", metrics);
  ASSERT_THAT(server, IsOk());
  Caller half((*server)->port(), "GET /met");
  Caller page((*server)->port(), "GET /metrics HTTP/1.1\r\n\r\n");
  server->reset();
  EXPECT_EQ(half.Hear(), "");
}

TEST(MetricsServerTest, APortThatIsTakenIsAnError) {
  Metrics metrics("1", TestOperations().counted());
  const auto first = MetricsServer::Start("127.0.0.1:0", metrics);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_GT((*first)->port(), 0);

  const auto second =
      MetricsServer::Start("127.0.0.1:" + std::to_string((*first)->port()), metrics);

  EXPECT_THAT(second, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot be had")));
}

TEST(MetricsServerTest, AnAddressNobodyCanHaveIsAnError) {
  Metrics metrics("1", TestOperations().counted());
  EXPECT_FALSE(MetricsServer::Start("192.0.2.1:9151", metrics).ok());
}

}  // namespace
}  // namespace baseband::server
