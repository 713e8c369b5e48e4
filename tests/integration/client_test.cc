// The client library against a server in this process: pool, retries, deadlines, cancellation.
#include "client/cpp/client.h"

#include <unistd.h>

#include <atomic>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fake_baseband.h"
#include "tests/support/status_matchers.h"

namespace baseband::client {
namespace {

using ::baseband::testing::FakeBaseband;
using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::unique_ptr<Client> Connect(const std::string& target, ClientOptions options = {}) {
  options.target = target;
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Create(options);
  EXPECT_THAT(client, IsOk());
  return *std::move(client);
}

CallOptions Within(absl::Duration timeout) {
  CallOptions options;
  options.timeout = timeout;
  return options;
}

// Answers with the payload it got.
grpc::Status Echo(grpc::ServerContext*, const v1::EncodeRequest& request,
                  v1::EncodeResponse* response) {
  response->set_payload(request.payload());
  return grpc::Status::OK;
}

// Fails the first `failures` calls with `code`, then echoes; `pushback_ms` < 0 sends no trailer.
struct FailFirst {
  int failures;
  grpc::StatusCode code;
  int pushback_ms;
  std::atomic<int>* calls;

  grpc::Status operator()(grpc::ServerContext* context, const v1::EncodeRequest& request,
                          v1::EncodeResponse* response) const {
    if ((*calls)++ >= failures) {
      return Echo(context, request, response);
    }
    if (pushback_ms >= 0) {
      context->AddTrailingMetadata("grpc-retry-pushback-ms", absl::StrCat(pushback_ms));
    }
    return grpc::Status(code, "not now");
  }
};

// Waits until the call is cancelled or its deadline has passed.
grpc::Status Hang(grpc::ServerContext* context) {
  while (!context->IsCancelled()) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  return grpc::Status(grpc::StatusCode::CANCELLED, "gone");
}

v1::EncodeRequest RequestOf(size_t payload_bytes) {
  v1::EncodeRequest request;
  request.set_payload(std::string(payload_bytes, 'b'));
  return request;
}

TEST(ClientTest, RefusesOptionsOutOfRange) {
  ClientOptions options;
  options.connections = 0;
  EXPECT_THAT(Client::Create(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("connections 0")));
}

TEST(ClientTest, SixteenMebibytesTravelBothWays) {
  FakeBaseband server;
  server.on_encode = Echo;
  server.Start();
  const auto client = Connect(server.target());
  const auto response = client->Encode(RequestOf(16 << 20));
  ASSERT_THAT(response, IsOk());
  EXPECT_THAT(response->payload(), SizeIs(16 << 20));
}

TEST(ClientTest, ServesUnixSocketsToo) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/client_test.", getpid());
  FakeBaseband server;
  server.on_encode = Echo;
  server.Start("unix:" + path);
  const auto client = Connect(server.target());
  EXPECT_THAT(client->Encode(RequestOf(1000)), IsOk());
}

TEST(ClientTest, ThePriorityTravelsAsMetadataAndNormalAsNone) {
  FakeBaseband server;
  server.on_encode = [](grpc::ServerContext* context, const v1::EncodeRequest&,
                        v1::EncodeResponse* response) {
    const auto found = context->client_metadata().find("baseband-priority");
    if (found != context->client_metadata().end()) {
      response->set_payload(std::string(found->second.data(), found->second.size()));
    }
    return grpc::Status::OK;
  };
  server.Start();
  const auto client = Connect(server.target());
  for (const auto& [priority, word] :
       {std::make_pair(Priority::kHigh, "high"), std::make_pair(Priority::kNormal, ""),
        std::make_pair(Priority::kLow, "low")}) {
    CallOptions options;
    options.priority = priority;
    const auto response = client->Encode(RequestOf(1), options);
    ASSERT_THAT(response, IsOk());
    EXPECT_EQ(response->payload(), word);
  }
}

TEST(ClientTest, EveryChannelOfThePoolIsAConnectionOfItsOwn) {
  FakeBaseband server;
  server.on_encode = Echo;
  ClientOptions options;
  options.connections = 5;
  server.Start();
  const auto client = Connect(server.target(), options);
  for (int i = 0; i < 20; ++i) {
    ASSERT_THAT(client->Encode(RequestOf(10)), IsOk());
  }
  EXPECT_THAT(server.peers(), SizeIs(5));
}

TEST(ClientTest, UnavailableIsRetriedEvenForRequestsOverGrpcsRetryBuffer) {
  FakeBaseband server;
  std::atomic<int> calls{0};
  server.on_encode = FailFirst{2, grpc::StatusCode::UNAVAILABLE, -1, &calls};
  server.Start();
  const auto client = Connect(server.target());
  EXPECT_THAT(client->Encode(RequestOf(8 << 20)), IsOk());
  EXPECT_EQ(calls, 3);
}

TEST(ClientTest, UnavailableEndsTheCallAfterMaxAttempts) {
  FakeBaseband server;
  std::atomic<int> calls{0};
  server.on_encode = FailFirst{100, grpc::StatusCode::UNAVAILABLE, -1, &calls};
  ClientOptions options;
  options.max_attempts = 3;
  server.Start();
  const auto client = Connect(server.target(), options);
  EXPECT_THAT(client->Encode(RequestOf(10)), StatusIs(absl::StatusCode::kUnavailable, "not now"));
  EXPECT_EQ(calls, 3);
}

TEST(ClientTest, PushbackOfUnavailableIsHonoured) {
  FakeBaseband server;
  std::atomic<int> calls{0};
  server.on_encode = FailFirst{1, grpc::StatusCode::UNAVAILABLE, 300, &calls};
  server.Start();
  const auto client = Connect(server.target());
  const absl::Time begin = absl::Now();
  EXPECT_THAT(client->Encode(RequestOf(10)), IsOk());
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(290));
}

TEST(ClientTest, ResourceExhaustedIsRetriedWhenTheServerSaysWhen) {
  FakeBaseband server;
  std::atomic<int> calls{0};
  server.on_encode = FailFirst{2, grpc::StatusCode::RESOURCE_EXHAUSTED, 20, &calls};
  server.Start();
  const auto client = Connect(server.target());
  const absl::Time begin = absl::Now();
  const auto response = client->Encode(RequestOf(1 << 20));
  ASSERT_THAT(response, IsOk());
  EXPECT_THAT(response->payload(), SizeIs(1 << 20));
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(39));
  EXPECT_EQ(calls, 3);
}

TEST(ClientTest, ResourceExhaustedWithoutPushbackIsFinal) {
  FakeBaseband server;
  std::atomic<int> calls{0};
  server.on_encode = FailFirst{1, grpc::StatusCode::RESOURCE_EXHAUSTED, -1, &calls};
  server.Start();
  const auto client = Connect(server.target());
  EXPECT_THAT(client->Encode(RequestOf(10)),
              StatusIs(absl::StatusCode::kResourceExhausted, "not now"));
  EXPECT_EQ(calls, 1);
}

TEST(ClientTest, APushbackBeyondTheDeadlineIsNotWaitedFor) {
  FakeBaseband server;
  std::atomic<int> calls{0};
  server.on_encode = FailFirst{1, grpc::StatusCode::RESOURCE_EXHAUSTED, 60000, &calls};
  server.Start();
  const auto client = Connect(server.target());
  EXPECT_THAT(client->Encode(RequestOf(10), Within(absl::Seconds(30))),
              StatusIs(absl::StatusCode::kResourceExhausted, _));
}

TEST(ClientTest, OtherErrorsAreFinal) {
  FakeBaseband server;
  std::atomic<int> calls{0};
  server.on_encode = FailFirst{1, grpc::StatusCode::INVALID_ARGUMENT, 10, &calls};
  server.Start();
  const auto client = Connect(server.target());
  EXPECT_THAT(client->Encode(RequestOf(10)),
              StatusIs(absl::StatusCode::kInvalidArgument, "not now"));
  EXPECT_EQ(calls, 1);
}

TEST(ClientTest, ACallThatTheServerCancelsIsUnavailable) {
  FakeBaseband server;
  std::atomic<int> calls{0};
  server.on_encode = FailFirst{1, grpc::StatusCode::CANCELLED, -1, &calls};
  server.Start();
  const auto client = Connect(server.target());
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
  EXPECT_THAT(client->Encode(RequestOf(10), Within(absl::Milliseconds(200))),
              StatusIs(absl::StatusCode::kDeadlineExceeded, _));
  // On the wire it is a time span, rounded up, which begins anew where it arrives.
  EXPECT_LE(left.get_future().get(), absl::Milliseconds(250));
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
  FakeBaseband server;
  std::atomic<int> calls{0};
  server.on_encode = FailFirst{1, grpc::StatusCode::RESOURCE_EXHAUSTED, 20000, &calls};
  server.Start();
  const auto client = Connect(server.target());
  std::promise<absl::Status> result;
  const CallHandle call = client->Encode(
      RequestOf(10), CallOptions(),
      [&](absl::StatusOr<v1::EncodeResponse> response) { result.set_value(response.status()); });
  while (calls == 0) {
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

TEST(ClientTest, ACallbackMayStartTheNextCall) {
  FakeBaseband server;
  server.on_encode = Echo;
  server.Start();
  const auto client = Connect(server.target());
  absl::BlockingCounter left(100);
  Client::Callback<v1::EncodeResponse> next;
  std::atomic<int> started{8};
  next = [&](absl::StatusOr<v1::EncodeResponse> response) {
    EXPECT_THAT(response, IsOk());
    if (started++ < 100) {
      client->Encode(RequestOf(100), CallOptions(), next);
    }
    left.DecrementCount();
  };
  for (int i = 0; i < 8; ++i) {
    client->Encode(RequestOf(100), CallOptions(), next);
  }
  left.Wait();
}

TEST(ClientTest, FramesTravelToRecoverCarrierAndTheirResultsBack) {
  FakeBaseband server;
  server.on_recover_carrier = [](grpc::ServerContext*, const v1::RecoverCarrierRequest& request,
                                 v1::RecoverCarrierResponse* response) {
    response->add_frames()->set_frequency(request.groups(0).max_frequency());
    response->set_payload(request.payload());
    return grpc::Status::OK;
  };
  server.Start();
  const auto client = Connect(server.target());
  v1::RecoverCarrierRequest request;
  request.add_groups()->set_max_frequency(0.25);
  request.set_payload(std::string(1 << 20, 's'));
  const auto response = client->RecoverCarrier(request);
  ASSERT_THAT(response, IsOk());
  EXPECT_THAT(response->frames(), SizeIs(1));
  EXPECT_EQ(response->frames(0).frequency(), 0.25);
  EXPECT_EQ(response->payload(), request.payload());
}

TEST(ClientTest, CapabilitiesCanBeAskedForByName) {
  FakeBaseband server;
  server.on_capabilities = [](grpc::ServerContext*, const v1::GetCapabilitiesRequest& request,
                              v1::GetCapabilitiesResponse* response) {
    for (const std::string& name : request.points_of()) {
      response->mutable_carrier()->add_points()->set_name(name);
    }
    return grpc::Status::OK;
  };
  server.Start();
  const auto client = Connect(server.target());
  EXPECT_THAT(client->GetCapabilities()->carrier().points(), SizeIs(0));
  v1::GetCapabilitiesRequest request;
  request.add_points_of("QPSK");
  EXPECT_EQ(client->GetCapabilities(request)->carrier().points(0).name(), "QPSK");
}

TEST(ClientTest, WithoutAServerConnectAndCallsFailAtOnce) {
  const auto client = Connect("127.0.0.1:1");
  const absl::Time begin = absl::Now();
  EXPECT_THAT(client->Connect(absl::Seconds(20)), StatusIs(absl::StatusCode::kUnavailable, _));
  EXPECT_THAT(client->GetCapabilities(), StatusIs(absl::StatusCode::kUnavailable, _));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
}

TEST(ClientTest, WaitForReadyWaitsUntilTheServerIsThere) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/client_wait.", getpid());
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

TEST(ClientTest, HealthIsToldPerService) {
  FakeBaseband server;
  server.Start();
  server.SetHealth("up", true);
  server.SetHealth("down", false);
  const auto client = Connect(server.target());
  EXPECT_EQ(client->CheckHealth("up").value(), Health::kServing);
  EXPECT_EQ(client->CheckHealth("down").value(), Health::kNotServing);
  EXPECT_THAT(client->CheckHealth("unknown"), StatusIs(absl::StatusCode::kNotFound, _));
}

}  // namespace
}  // namespace baseband::client
