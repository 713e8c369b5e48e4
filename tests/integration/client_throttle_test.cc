// Calls that the client library does not send, for the server refuses most of their kind.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/cpp/submit_stream.h"
#include "tests/integration/client_calls.h"
#include "tests/support/matchers.h"

namespace baseband::client {
namespace {

constexpr int kPushbackMs = 20;

// Refuses Encode of normal priority for load, and takes all else.
class LoadedServer {
 public:
  LoadedServer() {
    server_.on_encode = [this](grpc::ServerContext* context, const v1::EncodeRequest& request,
                               v1::EncodeResponse* response) {
      if (context->client_metadata().count("baseband-priority") > 0) {
        return Echo(context, request, response);
      }
      ++refused_;
      context->AddTrailingMetadata("grpc-retry-pushback-ms", std::to_string(kPushbackMs));
      return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full");
    };
    server_.on_decode = [](auto&&...) { return grpc::Status::OK; };
    server_.Start();
  }
  const std::string& target() const { return server_.target(); }
  int refused() const { return refused_; }

 private:
  std::atomic<int> refused_{0};
  FakeBaseband server_;
};

template <typename Server>
std::unique_ptr<Client> ConnectTo(const Server& server, int max_attempts, bool throttle = true) {
  ClientOptions options;
  options.max_attempts = max_attempts;
  options.throttle = throttle;
  return Connect(server.target(), options);
}

// Makes `calls` calls that are all refused; those that the client did not send.
int CountWithheld(Client& client, int calls) {
  int withheld = 0;
  for (int i = 0; i < calls; ++i) {
    const absl::Status status = client.Encode(RequestOf(10)).status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_EQ(RetryAfter(status), absl::Milliseconds(kPushbackMs)) << status;
    withheld += absl::StartsWith(status.message(), "not sent: the server refused ");
  }
  return withheld;
}

TEST(ClientThrottleTest, AFloodThatIsRefusedIsMostlyNotSent) {
  const LoadedServer server;
  const auto client = ConnectTo(server, 1);
  const int withheld = CountWithheld(*client, 2000);
  EXPECT_GT(withheld, 1000);
  EXPECT_EQ(server.refused() + withheld, 2000);
}

TEST(ClientThrottleTest, CallsOfAnotherMethodOrPriorityAreSent) {
  const LoadedServer server;
  const auto client = ConnectTo(server, 1);
  ASSERT_GT(CountWithheld(*client, 1000), 0);
  CallOptions high;
  high.priority = Priority::kHigh;
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(client->Encode(RequestOf(10), high), IsOk());
    EXPECT_THAT(client->Decode(v1::DecodeRequest()), IsOk());
  }
}

TEST(ClientThrottleTest, WithoutItAllIsSent) {
  const LoadedServer server;
  const auto client = ConnectTo(server, 1, /*throttle=*/false);
  EXPECT_EQ(CountWithheld(*client, 1000), 0);
  EXPECT_EQ(server.refused(), 1000);
}

TEST(ClientThrottleTest, AnAttemptThatIsNotSentIsFollowedByAnotherAsARefusedOneIs) {
  const LoadedServer server;
  const auto client = ConnectTo(server, 2);
  const absl::Time begin = absl::Now();
  CountWithheld(*client, 50);
  EXPECT_GE(absl::Now() - begin, 50 * absl::Milliseconds(kPushbackMs - 1));
  EXPECT_LT(server.refused(), 100);
}

// Takes one call after the other, 10 ms each, whether anybody still waits for its answer.
class SlowServer {
 public:
  SlowServer() {
    server_.on_encode = [this](grpc::ServerContext* context, const v1::EncodeRequest& request,
                               v1::EncodeResponse* response) {
      const absl::MutexLock lock(&mutex_);
      absl::SleepFor(absl::Milliseconds(10));
      return Echo(context, request, response);
    };
    server_.Start();
  }
  const std::string& target() const { return server_.target(); }

 private:
  absl::Mutex mutex_;
  FakeBaseband server_;
};

// Thirty callers who go on at once; of a server that takes ten within their time.
TEST(ClientLimitTest, AsManyAreInFlightAsAreInTime) {
  const SlowServer server;
  const auto client = ConnectTo(server, 1);
  std::atomic<int> good{0};
  std::atomic<int> calls{0};
  const absl::Time begin = absl::Now();
  const absl::Time settled = begin + absl::Seconds(2);
  const absl::Time end = settled + absl::Seconds(3);
  std::vector<std::thread> callers;
  for (int i = 0; i < 30; ++i) {
    callers.emplace_back([&] {
      while (absl::Now() < end) {
        const auto answer = client->Encode(RequestOf(10), Within(absl::Milliseconds(100)));
        if (absl::Now() < settled) continue;
        ++calls;
        good += answer.ok() ? 1 : 0;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_GT(good, 150);    // of 300 that it takes
  EXPECT_LT(calls, 3000);  // 30 of at least half of their time each: they wait
}

TEST(ClientLimitTest, WhoWaitsIsCancelledWithItsClient) {
  const SlowServer server;
  auto client = ConnectTo(server, 1);
  std::atomic<int> ended{0};
  constexpr int kCalls = 200;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kCalls; ++i) {
      client->Encode(RequestOf(10), Within(absl::Milliseconds(200)),
                     [&](const absl::StatusOr<v1::EncodeResponse>&) { ++ended; });
    }
    if (round == 0) absl::SleepFor(absl::Milliseconds(400));
  }
  client.reset();
  EXPECT_EQ(ended, 2 * kCalls);
}

}  // namespace
}  // namespace baseband::client
