// How `basebandctl top` looks at a server: which state its answers mean.
#include "client/ctl/operate/top_poller.h"

#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/loopback.h"

namespace baseband::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kMetrics[] = "200 OK\r\n\r\nbaseband_device_healthy{device=\"cpu\"} 1\n";
// A connection that is refused or served answers at once: this is for a machine that stands still.
constexpr absl::Duration kLong = absl::Seconds(60);

using Answers = std::map<std::string, std::string>;

// Answers each path with its text, after "HTTP/1.1 "; all others with 404; who lacks the
// `password`, as Base64 has it, with 401.
class PageServer {
 public:
  explicit PageServer(Answers answers, std::string password = "")
      : answers_(std::move(answers)),
        password_(std::move(password)),
        listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = testing::Loopback(0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    url_ = absl::StrCat("http://127.0.0.1:", ntohs(address.sin_port), "/metrics");
    thread_ = std::thread([this] { Serve(); });
  }
  ~PageServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  const std::string& url() const { return url_; }

 private:
  void Serve() {
    for (int fd = 0; (fd = accept(listener_, nullptr, nullptr)) >= 0; close(fd)) {
      std::string request;
      char buffer[1024];
      ssize_t size = 0;
      while (!absl::StrContains(request, "\r\n\r\n") &&
             (size = read(fd, buffer, sizeof(buffer))) > 0) {
        request.append(buffer, static_cast<size_t>(size));
      }
      const std::vector<std::string> words = absl::StrSplit(request, absl::ByAnyChar(" \r\n"));
      const auto found = answers_.find(words.size() > 1 ? words[1] : "");
      const bool admitted =
          password_.empty() || absl::StrContains(request, "Basic " + password_ + "\r\n");
      const std::string answer =
          absl::StrCat("HTTP/1.1 ", !admitted                 ? "401 Unauthorized\r\n\r\n"
                                    : found == answers_.end() ? "404 Not Found\r\n\r\n"
                                                              : found->second);
      EXPECT_EQ(write(fd, answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
    }
  }

  const Answers answers_;
  const std::string password_;
  const int listener_;
  std::string url_;
  std::thread thread_;
};

ServerState StateWhen(const std::string& ready) {
  const PageServer server(Answers{{"/metrics", kMetrics}, {"/readyz", ready}});
  return LookAt(server.url(), kLong, "").state;
}

TEST(TopPollerTest, TheStateIsWhatReadyzSays) {
  EXPECT_EQ(StateWhen("200 OK\r\n\r\nok\n"), ServerState::kServing);
  EXPECT_EQ(StateWhen("503 Service Unavailable\r\n\r\nstarting\n"), ServerState::kStarting);
  EXPECT_EQ(StateWhen("503 Service Unavailable\r\n\r\ndraining\n"), ServerState::kDraining);
  EXPECT_EQ(StateWhen("503 Service Unavailable\r\n\r\nno healthy device\n"),
            ServerState::kNoDevice);
}

TEST(TopPollerTest, WithoutReadyzTheDevicesHealthDecides) {
  const PageServer healthy(Answers{{"/metrics", kMetrics}});
  const Sample sample = LookAt(healthy.url(), kLong, "");
  EXPECT_EQ(sample.state, ServerState::kServing);
  EXPECT_EQ(sample.page.size(), 1);
  const PageServer lost(
      Answers{{"/metrics", "200 OK\r\n\r\nbaseband_device_healthy{device=\"c\"} 0\n"}});
  EXPECT_EQ(LookAt(lost.url(), kLong, "").state, ServerState::kNoDevice);
}

TEST(TopPollerTest, APageThatWantsAPasswordIsReadWithIt) {
  // Base64 of ":secret".
  const PageServer server(Answers{{"/metrics", kMetrics}}, "OnNlY3JldA==");
  const Sample refused = LookAt(server.url(), kLong, "");
  EXPECT_EQ(refused.state, ServerState::kUnreachable);
  EXPECT_THAT(refused.why, HasSubstr("status 401"));
  EXPECT_THAT(refused.page, IsEmpty());
  EXPECT_EQ(LookAt(server.url(), kLong, "secret").page.size(), 1);
}

TEST(TopPollerTest, ALookAtAllEndsWithASampleOfEach) {
  const PageServer server(Answers{{"/metrics", kMetrics}});
  TopPoller poller({server.url(), "http://127.0.0.1:1/metrics"}, kLong, "");
  EXPECT_EQ(poller.Last()[0].state, ServerState::kUnknown);
  for (int round = 0; round < 2; ++round) {
    poller.Ask();
    poller.WaitUntilIdle();
    const std::vector<Sample> samples = poller.Last();
    ASSERT_EQ(samples.size(), 2);
    EXPECT_EQ(samples[0].state, ServerState::kServing);
    EXPECT_EQ(samples[1].state, ServerState::kUnreachable);
    EXPECT_THAT(samples[1].why, HasSubstr("cannot connect"));
  }
}

}  // namespace
}  // namespace baseband::ctl
