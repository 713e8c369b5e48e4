// The client library's attempts, pushback pauses, deadlines and cancellation, against a server in
// this process.
#include <atomic>
#include <future>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "client/cpp/submit_stream.h"
#include "tests/integration/client_calls.h"
#include "tests/support/matchers.h"
#include "tests/support/test_files.h"

namespace baseband::client {
namespace {

using ::testing::_;

// Fails the first `failures` calls with `code`, then echoes; `pushback_ms` < 0 sends no trailer.
class FailingServer {
 public:
  FailingServer(int failures, grpc::StatusCode code, int pushback_ms = -1) {
    server_.on_encode = [=](grpc::ServerContext* context, const v1::EncodeRequest& request,
                            v1::EncodeResponse* response) {
      if (calls_++ >= failures) return Echo(context, request, response);
      if (pushback_ms >= 0) {
        context->AddTrailingMetadata("grpc-retry-pushback-ms", absl::StrCat(pushback_ms));
      }
      return grpc::Status(code, "not now");
    };
    server_.Start();
  }
  const std::string& target() const { return server_.target(); }
  int calls() const { return calls_; }

 private:
  std::atomic<int> calls_{0};
  FakeBaseband server_;
};

TEST(ClientTest, UnavailableIsRetriedEvenForRequestsOverGrpcsRetryBuffer) {
  FailingServer server(2, grpc::StatusCode::UNAVAILABLE);
  const auto client = Connect(server.target());
  EXPECT_THAT(client->Encode(RequestOf(8 << 20)), IsOk());
  EXPECT_EQ(server.calls(), 3);
}

TEST(ClientTest, UnavailableEndsTheCallAfterMaxAttempts) {
  FailingServer server(100, grpc::StatusCode::UNAVAILABLE);
  ClientOptions options;
  options.max_attempts = 3;
  const auto client = Connect(server.target(), options);
  EXPECT_THAT(client->Encode(RequestOf(10)), StatusIs(absl::StatusCode::kUnavailable, "not now"));
  EXPECT_EQ(server.calls(), 3);
}

TEST(ClientTest, PushbackOfUnavailableIsHonoured) {
  FailingServer server(1, grpc::StatusCode::UNAVAILABLE, 300);
  const auto client = Connect(server.target());
  const absl::Time begin = absl::Now();
  EXPECT_THAT(client->Encode(RequestOf(10)), IsOk());
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(290));
}

TEST(ClientTest, ResourceExhaustedIsRetriedWhenTheServerSaysWhen) {
  FailingServer server(2, grpc::StatusCode::RESOURCE_EXHAUSTED, 20);
  const auto client = Connect(server.target());
  const absl::Time begin = absl::Now();
  const auto response = client->Encode(RequestOf(1 << 20));
  ASSERT_THAT(response, IsOk());
  EXPECT_THAT(response->payload(), SizeIs(1 << 20));
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(39));
  EXPECT_EQ(server.calls(), 3);
}

TEST(ClientTest, ResourceExhaustedWithoutPushbackIsFinal) {
  FailingServer server(1, grpc::StatusCode::RESOURCE_EXHAUSTED);
  const auto client = Connect(server.target());
  EXPECT_THAT(client->Encode(RequestOf(10)),
              StatusIs(absl::StatusCode::kResourceExhausted, "not now"));
  EXPECT_EQ(server.calls(), 1);
}

TEST(ClientTest, APushbackBeyondTheDeadlineIsNotWaitedFor) {
  FailingServer server(1, grpc::StatusCode::RESOURCE_EXHAUSTED, 60000);
  const auto client = Connect(server.target());
  EXPECT_THAT(client->Encode(RequestOf(10), Within(absl::Seconds(30))),
              StatusIs(absl::StatusCode::kResourceExhausted, _));
}

TEST(ClientTest, AStatusTellsWhenToComeBack) {
  const auto failure = [](grpc::StatusCode code, int pushback_ms) {
    FailingServer server(1, code, pushback_ms);
    return Connect(server.target())->Encode(RequestOf(10), Within(absl::Seconds(30))).status();
  };
  EXPECT_EQ(RetryAfter(failure(grpc::StatusCode::RESOURCE_EXHAUSTED, 60000)), absl::Seconds(60));
  EXPECT_EQ(RetryAfter(failure(grpc::StatusCode::RESOURCE_EXHAUSTED, -1)), absl::ZeroDuration());
  // At once is not the same as unsaid.
  EXPECT_GT(RetryAfter(failure(grpc::StatusCode::INVALID_ARGUMENT, 0)), absl::ZeroDuration());
  FakeBaseband server;
  server.on_encode = [](grpc::ServerContext* context, auto&&...) {
    context->AddTrailingMetadata("grpc-retry-pushback-ms", "never");
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too large");
  };
  server.Start();
  EXPECT_EQ(RetryAfter(Connect(server.target())->Encode(RequestOf(10)).status()),
            absl::ZeroDuration());
}

TEST(ClientTest, OtherErrorsAreFinal) {
  FailingServer server(1, grpc::StatusCode::INVALID_ARGUMENT, 10);
  const auto client = Connect(server.target());
  EXPECT_THAT(client->Encode(RequestOf(10)),
              StatusIs(absl::StatusCode::kInvalidArgument, "not now"));
  EXPECT_EQ(server.calls(), 1);
}

TEST(ClientTest, ACallThatTheServerCancelsIsUnavailable) {
  FailingServer server(1, grpc::StatusCode::CANCELLED);
  ClientOptions options;
  options.max_attempts = 1;
  const auto client = Connect(server.target(), options);
  EXPECT_THAT(client->Encode(RequestOf(10)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cancelled the call")));
}

TEST(ClientTest, TheDeadlineTravelsAndEndsTheCall) {
  FakeBaseband server;
  std::promise<absl::Duration> left;
  server.on_encode = [&](grpc::ServerContext* context, const v1::EncodeRequest&,
                         v1::EncodeResponse*) {
    left.set_value(absl::FromChrono(context->deadline()) - absl::Now());
    return Hang(context);
  };
  server.Start();
  const auto client = Connect(server.target());
  EXPECT_THAT(client->Encode(RequestOf(10), Within(absl::Seconds(3))),
              StatusIs(absl::StatusCode::kDeadlineExceeded, _));
  // On the wire it is a time span, rounded up, which begins anew where it arrives.
  EXPECT_LE(left.get_future().get(), absl::Milliseconds(3050));
}

TEST(ClientTest, CancelEndsACallInFlight) {
  FakeBaseband server;
  absl::Notification started;
  server.on_encode = [&](grpc::ServerContext* context, const v1::EncodeRequest&,
                         v1::EncodeResponse*) {
    started.Notify();
    return Hang(context);
  };
  server.Start();
  const auto client = Connect(server.target());
  std::promise<absl::Status> result;
  const CallHandle call = client->Encode(
      RequestOf(10), CallOptions(),
      [&](absl::StatusOr<v1::EncodeResponse> response) { result.set_value(response.status()); });
  started.WaitForNotification();
  call.Cancel();
  EXPECT_THAT(result.get_future().get(), StatusIs(absl::StatusCode::kCancelled, _));
  call.Cancel();  // harmless when all is over
}

TEST(ClientTest, CancelEndsAPushbackPause) {
  FailingServer server(1, grpc::StatusCode::RESOURCE_EXHAUSTED, 20000);
  const auto client = Connect(server.target());
  std::promise<absl::Status> result;
  const CallHandle call = client->Encode(
      RequestOf(10), CallOptions(),
      [&](absl::StatusOr<v1::EncodeResponse> response) { result.set_value(response.status()); });
  while (server.calls() == 0) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  absl::SleepFor(absl::Milliseconds(20));
  call.Cancel();
  EXPECT_THAT(result.get_future().get(), StatusIs(absl::StatusCode::kCancelled, _));
}

TEST(ClientTest, DestructionCancelsWhatIsInFlight) {
  FakeBaseband server;
  server.on_encode = [](grpc::ServerContext* context, const v1::EncodeRequest&,
                        v1::EncodeResponse*) { return Hang(context); };
  server.Start();
  auto client = Connect(server.target());
  std::atomic<int> cancelled{0};
  for (int i = 0; i < 10; ++i) {
    client->Encode(RequestOf(10), CallOptions(), [&](absl::StatusOr<v1::EncodeResponse> response) {
      cancelled += response.status().code() == absl::StatusCode::kCancelled;
    });
  }
  client.reset();
  EXPECT_EQ(cancelled, 10);
}

TEST(ClientTest, WaitForReadyWaitsUntilTheServerIsThere) {
  const std::string path = ::baseband::testing::FolderOfTests() + "/socket";
  const auto client = Connect("unix:" + path);
  CallOptions options = Within(absl::Seconds(30));
  options.wait_for_ready = true;
  std::promise<absl::Status> result;
  client->Encode(RequestOf(10), options, [&](absl::StatusOr<v1::EncodeResponse> response) {
    result.set_value(response.status());
  });
  absl::SleepFor(absl::Milliseconds(100));
  FakeBaseband server;
  server.on_encode = Echo;
  server.Start("unix:" + path);
  EXPECT_THAT(result.get_future().get(), IsOk());
}

}  // namespace
}  // namespace baseband::client
