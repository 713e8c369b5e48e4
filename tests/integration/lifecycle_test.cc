// Ends of processes: the server's under load, and its clients'.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/support/proxy.h"
#include "tests/support/server_process.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using HealthResponse = grpc::health::v1::HealthCheckResponse;

TEST(LifecycleTest, SigtermUnderLoadAnswersEveryAcceptedRequest) {
  auto started = ServerProcess::Start({"--drain=300s"});
  ASSERT_TRUE(started.ok()) << started.status();
  ServerProcess& server = **started;

  // A call gets its right answer, or was turned away before it was accepted.
  std::atomic<int> answered{0};
  std::atomic<int> turned_away{0};
  std::atomic<int> lost{0};
  std::vector<std::thread> clients;
  for (int client = 0; client < 16; ++client) {
    clients.emplace_back([&, client] {
      const auto stub = Connect(server.target());
      const v1::DecodeRequest request = DecodeOfZeros(NrCode(1, 384), 10 + client);
      bool is_first = true;
      for (;;) {
        v1::DecodeResponse response;
        // Once connected it does not wait for another server: gRPC sends again what a connection
        // that ended had not taken.
        grpc::ClientContext context;
        context.set_wait_for_ready(is_first);
        context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(280)));
        const grpc::Status status = stub->Decode(&context, request, &response);
        is_first = false;
        if (status.ok() &&
            response.payload() == std::string(static_cast<size_t>(10 + client) * 1056, '\0')) {
          ++answered;
        } else if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
          ++turned_away;
          return;
        } else {
          ++lost;
          ADD_FAILURE() << status.error_code() << " " << status.error_message();
          return;
        }
      }
    });
  }
  while (answered < 200) absl::SleepFor(absl::Milliseconds(5));
  const absl::optional<int> exit_code = server.Terminate(absl::Seconds(280));
  for (std::thread& client : clients) client.join();

  EXPECT_EQ(exit_code, 0) << server.process().Output();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(turned_away, 16);
}

TEST(LifecycleTest, RequestsInFlightAtSigtermAreAnsweredBeforeTheProcessEnds) {
  auto started = ServerProcess::Start({"--cpu-threads=1", "--drain=300s"});
  ASSERT_TRUE(started.ok()) << started.status();
  ServerProcess& server = **started;
  v1::DecodeRequest slow = DecodeOfZeros(NrCode(1, 384), 100);
  slow.mutable_groups(0)->set_max_iterations(100);
  slow.mutable_groups(0)->set_fixed_iterations(true);

  std::vector<std::thread> clients;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      const auto stub = Connect(server.target());
      v1::DecodeResponse response;
      const grpc::Status status = Call(*stub, slow, &response, absl::Seconds(280));
      EXPECT_TRUE(status.ok()) << status.error_message();
      if (response.payload() == std::string(100 * 1056, '\0')) ++right;
    });
  }
  EXPECT_TRUE(server.WaitForMetric("baseband_requests_in_flight", {}, 4));
  const absl::optional<int> exit_code = server.Terminate(absl::Seconds(280));
  for (std::thread& client : clients) client.join();

  EXPECT_EQ(exit_code, 0) << server.process().Output();
  EXPECT_EQ(right, 4);
}

TEST(LifecycleTest, HealthWatchersSeeServingTurnIntoNotServing) {
  auto started = ServerProcess::Start({"--drain=600s"});
  ASSERT_TRUE(started.ok()) << started.status();
  ServerProcess& server = **started;
  const auto stub = grpc::health::v1::Health::NewStub(
      grpc::CreateChannel(server.target(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto watch = stub->Watch(&context, grpc::health::v1::HealthCheckRequest());
  HealthResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthResponse::SERVING);

  server.process().Signal(SIGTERM);

  HealthResponse last;
  while (watch->Read(&response)) last = response;
  EXPECT_EQ(last.status(), HealthResponse::NOT_SERVING);
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  // A stream without end does not hold the drain up.
  EXPECT_EQ(server.process().Wait(absl::Seconds(120)), 0) << server.process().Output();
}

TEST(LifecycleTest, NobodyHearsThatTheServerCancelledWhatItsEndCutsOff) {
  auto started = ServerProcess::Start({"--drain=300s"});
  ASSERT_TRUE(started.ok()) << started.status();
  ServerProcess& server = **started;
  const auto stub = Connect(server.target());
  grpc::ClientContext submit_context;
  const auto submit = stub->Submit(&submit_context);
  grpc::ClientContext stream_context;
  const auto stream = stub->DownconvertStream(&stream_context);
  EXPECT_TRUE(server.WaitForMetric("baseband_requests_in_flight", {"rpc=\"Submit\""}, 1));

  // At any moment some are on their way in.
  v1::EncodeRequest request;
  request.set_payload(std::string(8 << 20, 'x'));
  std::atomic<int> refused{0};
  std::vector<std::thread> uploads;
  for (int i = 0; i < 6; ++i) {
    uploads.emplace_back([&] {
      const auto own = Connect(server.target());
      grpc::Status status;
      for (;; ++refused) {
        v1::EncodeResponse response;
        status = Call(*own, request, &response, absl::Seconds(280));
        if (status.error_code() != grpc::StatusCode::INVALID_ARGUMENT) break;  // it has no code
      }
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
    });
  }
  while (refused < 30) absl::SleepFor(absl::Milliseconds(5));
  const absl::optional<int> exit_code = server.Terminate(absl::Seconds(280));
  for (std::thread& upload : uploads) upload.join();
  EXPECT_EQ(exit_code, 0) << server.process().Output();
  for (v1::SubmitResponse one; submit->Read(&one);) {
  }
  EXPECT_EQ(submit->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  for (v1::DownconvertResponse one; stream->Read(&one);) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

// gRPC itself cancels what comes while it shuts down.
TEST(LifecycleTest, WhoCallsUntilTheEndHearsUnavailableAndNothingElse) {
  auto started = ServerProcess::Start({});
  ASSERT_TRUE(started.ok()) << started.status();
  ServerProcess& server = **started;
  std::vector<std::thread> clients;
  std::atomic<int> watching{0};
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      const auto channel = OwnChannel(server.target());
      const auto health = grpc::health::v1::Health::NewStub(channel);
      const auto stub = v1::Baseband::NewStub(channel);
      grpc::ClientContext context;
      const auto watch = health->Watch(&context, grpc::health::v1::HealthCheckRequest());
      for (HealthResponse response; watch->Read(&response); ++watching) {
      }
      EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
      for (int call = 0; call < 30; ++call) {
        v1::DecodeResponse response;
        grpc::ClientContext own;
        const grpc::Status status = stub->Decode(&own, DecodeOfZeros(NrCode(1, 384), 1), &response);
        EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
      }
    });
  }
  while (watching < 8) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(server.Terminate(absl::Seconds(280)), 0) << server.process().Output();
  for (std::thread& client : clients) client.join();
}

// gRPC says that an answer is sent once the system has it.
TEST(LifecycleTest, AnAnswerOnASlowNetworkArrivesBeforeTheEnd) {
  auto started = ServerProcess::Start({"--drain=300s"});
  ASSERT_TRUE(started.ok()) << started.status();
  ServerProcess& server = **started;
  Plan plan;
  plan.down.bytes_per_ms = 4000;
  Proxy proxy(server.target(), plan);
  const auto stub = Connect(proxy.target());
  const v1::EncodeRequest request = EncodeOf(NrCode(1, 384), 4000);  // 12 MB of code words
  v1::EncodeResponse response;
  std::thread call([&] {
    const grpc::Status status = Call(*stub, request, &response, absl::Seconds(280));
    EXPECT_TRUE(status.ok()) << status.error_message();
  });
  EXPECT_TRUE(
      server.WaitForMetric("baseband_requests_total", {"rpc=\"Encode\"", "code=\"OK\""}, 1));
  EXPECT_EQ(server.Terminate(absl::Seconds(280)), 0) << server.process().Output();
  call.join();
  EXPECT_GT(response.payload().size(), 10u << 20);
}

TEST(LifecycleTest, ASecondSignalEndsTheDrainAtOnce) {
  auto started = ServerProcess::Start({"--cpu-threads=1", "--drain=600s"});
  ASSERT_TRUE(started.ok()) << started.status();
  ServerProcess& server = **started;
  v1::DecodeRequest slow = DecodeOfZeros(NrCode(1, 384), 2000);
  slow.mutable_groups(0)->set_max_iterations(100);
  slow.mutable_groups(0)->set_fixed_iterations(true);
  std::thread client([&] {
    v1::DecodeResponse response;
    Call(*Connect(server.target()), slow, &response);
  });
  EXPECT_TRUE(server.WaitForMetric("baseband_requests_in_flight", {}, 1));

  server.process().Signal(SIGTERM);
  while (!absl::StrContains(server.process().Output(), "draining")) {
    ASSERT_TRUE(server.process().IsRunning());
    absl::SleepFor(absl::Milliseconds(5));
  }
  server.process().Signal(SIGTERM);

  EXPECT_EQ(server.process().Wait(absl::Seconds(120)), 130) << server.process().Output();
  client.join();
}

TEST(LifecycleTest, ClientsKilledInMidTransferLeaveTheServerServingAndItsMemoryBounded) {
  // Small pools, which a few requests have touched from end to end.
  auto started = ServerProcess::Start({"--staging-mib=64", "--reply-mib=64"});
  ASSERT_TRUE(started.ok()) << started.status();
  ServerProcess& server = **started;
  std::mt19937 random(9);
  const auto kill_some = [&](int count) {
    for (int i = 0; i < count; ++i) {
      ChildProcess client(ProgramPath("flooding_client"), {server.target()});
      // Not before it has sent something; then at any moment.
      const double before = server.Metric("baseband_request_bytes_total");
      for (int wait = 0; server.Metric("baseband_request_bytes_total") == before; ++wait) {
        ASSERT_LT(wait, 2000) << client.Output();
        absl::SleepFor(absl::Milliseconds(10));
      }
      absl::SleepFor(absl::Milliseconds(random() % 100));
      client.Signal(SIGKILL);
      EXPECT_EQ(client.Wait(absl::Seconds(60)), 128 + SIGKILL) << client.Output();
    }
    EXPECT_TRUE(server.WaitForMetric("baseband_requests_in_flight", {}, 0));
    EXPECT_TRUE(server.WaitForMetric("baseband_pool_used_bytes", {}, 0));
    EXPECT_TRUE(server.WaitForMetric("baseband_queue_bytes", {}, 0));
  };

  kill_some(10);
  const double after_few = server.Metric("process_resident_memory_bytes");
  const double descriptors = server.Metric("process_open_fds");
  kill_some(10);
  const double after_many = server.Metric("process_resident_memory_bytes");

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // whose shadows grow
  EXPECT_LT(after_many - after_few, 64e6);
#else
  EXPECT_GT(after_many, after_few / 2);
#endif
  EXPECT_LE(server.Metric("process_open_fds"), descriptors + 2);
  EXPECT_EQ(RoundTrip(*Connect(server.target()), &random), "");
  EXPECT_EQ(server.Terminate(), 0) << server.process().Output();
}

}  // namespace
}  // namespace baseband::testing
