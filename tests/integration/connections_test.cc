// Many connections, too many, and no descriptors left: calls on those that are in go on.
#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "client/cpp/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/idle_connection.h"
#include "tests/support/quiescence.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {
namespace {

std::unique_ptr<client::Client> OneConnection(const std::string& target) {
  client::ClientOptions options;
  options.target = target;
  options.connections = 1;
  options.max_attempts = 1;
  return std::move(client::Client::Create(options)).value();
}

int64_t CountOf(const std::string& what, const std::string& text) {
  int64_t count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++count;
  return count;
}

TEST(ConnectionsTest, OneTooManyIsClosedAndThePlaceOfWhoLeavesIsFree) {
  // The address for administration has a bound of its own.
  const auto server = ServerProcess::Start({"--max-connections=8", "--admin-listen=127.0.0.1:0"});
  ASSERT_THAT(server, IsOk());
  const std::string& target = (*server)->target();
  const auto client = OneConnection(target);
  EXPECT_THAT(client->GetCapabilities(), IsOk());
  ASSERT_TRUE((*server)->WaitForMetric("baseband_open_connections", {}, 1));
  EXPECT_EQ((*server)->Metric("baseband_max_connections"), 8);

  std::vector<std::unique_ptr<client::Client>> others;
  while (others.size() < 7) {
    others.push_back(OneConnection(target));
    ASSERT_THAT(others.back()->GetCapabilities(), IsOk());
  }
  ASSERT_TRUE((*server)->WaitForMetric("baseband_open_connections", {}, 8));
  EXPECT_TRUE(IdleConnection(target).IsClosed(absl::Seconds(20)));
  EXPECT_EQ((*server)->Metric("baseband_connections_refused_total"), 1);
  const char* said = "closed a connection: 8 are open, and more may not be";
  EXPECT_THAT((*server)->process().OutputWith(said), ::testing::HasSubstr(said));
  EXPECT_THAT(client->GetCapabilities(), IsOk());

  others.pop_back();
  ASSERT_TRUE((*server)->WaitForMetric("baseband_open_connections", {}, 7));
  IdleConnection silent(target);
  EXPECT_FALSE(silent.IsClosed(absl::Seconds(1)));
  EXPECT_THAT(OneConnection(target)->GetCapabilities(), IsOk());
  EXPECT_TRUE(silent.IsClosed(absl::Seconds(20))) << "it makes room for who may call";
  EXPECT_THAT(client->GetCapabilities(), IsOk());
}

TEST(ConnectionsTest, WithoutDescriptorsCallsGoOnAndLaterOthersComeIn) {
  const auto server = ServerProcess::Start();
  ASSERT_THAT(server, IsOk());
  const std::string& target = (*server)->target();
  const pid_t pid = (*server)->process().pid();
  const auto client = OneConnection(target);
  EXPECT_THAT(client->GetCapabilities(), IsOk());

  rlimit before{};
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, nullptr, &before), 0);
  const rlimit few = {static_cast<rlim_t>(CountDescriptors(pid) + 3), before.rlim_max};
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, &few, nullptr), 0);
  const absl::Time begin = absl::Now();
  const Crowd crowd = Gather(target, 50);
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(client->GetCapabilities(), IsOk());
    absl::SleepFor(absl::Milliseconds(20));
  }

  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, &before, nullptr), 0);
  EXPECT_THAT(OneConnection(target)->GetCapabilities(), IsOk());
  EXPECT_GT((*server)->Metric("baseband_connections_refused_total"), 0);
  // Said once a second, not once an attempt.
  const std::string log = (*server)->process().Output();
  const auto lines = CountOf("cannot accept connections, they wait: Too many open files", log);
  EXPECT_GE(lines, 1);
  EXPECT_LE(lines, 1 + absl::ToInt64Seconds(absl::Now() - begin));
  EXPECT_EQ((*server)->Terminate(), 0);
}

TEST(ConnectionsTest, OldConnectionsAreAskedToComeAnewWithoutAFailedCall) {
  const auto server = ServerProcess::Start({"--max-connection-age=1s"});
  ASSERT_THAT(server, IsOk());
  const auto client = OneConnection((*server)->target());
  const absl::Time end = absl::Now() + absl::Seconds(4);
  while (absl::Now() < end) {
    client::CallOptions options;
    options.wait_for_ready = true;
    EXPECT_THAT(client->GetCapabilities(options), IsOk());
    absl::SleepFor(absl::Milliseconds(10));
  }
}

}  // namespace
}  // namespace baseband::testing
