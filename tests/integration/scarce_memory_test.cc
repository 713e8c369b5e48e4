// A server whose memory becomes scarce refuses, and serves again when it is not.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/administered_server.h"
#include "tests/support/constants.h"
#include "tests/support/proxy.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kSmall = {"--cpu-threads=1", "--staging-mib=256", "--reply-mib=64"};

absl::StatusOr<std::unique_ptr<ServerProcess>> StartSmall(const std::vector<std::string>& more) {
  std::vector<std::string> flags = kSmall;
  flags.insert(flags.end(), more.begin(), more.end());
  return ServerProcess::Start(std::move(flags));
}

// What such a server has when nobody has called yet.
int CalmMib() {
  const auto server = StartSmall({});
  EXPECT_THAT(server, IsOk());
  return static_cast<int>((*server)->Metric("process_resident_memory_bytes") / (1 << 20));
}

class ScarceMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "a sanitizer's own memory comes on top, and stays";
#endif
  }
};

TEST_F(ScarceMemoryTest, AllAreRefusedWhileItIsAndServedAfterwards) {
  std::vector<std::string> flags = kSmall;
  flags.push_back(absl::StrCat("--memory-mib=", CalmMib() + 64));
  flags.insert(flags.end(), {"--allow-fault-injection", "--watchdog=0s"});
  const auto started = StartAdministered(flags);
  ASSERT_THAT(started, IsOk());
  ServerProcess& server = *started->server;
  const auto stub = Connect(server.target());
  const v1::EncodeRequest small = EncodeOf(NrCode(1, 384), 1);
  v1::EncodeResponse answer;
  ASSERT_TRUE(Call(*stub, small, &answer).ok());
  EXPECT_EQ(server.Metric("baseband_memory_step"), 0);

  v1::InjectFaultRequest stall;
  stall.set_kind(v1::InjectFaultRequest::STALL);
  stall.set_stall_ms(6000);
  stall.set_count(8);  // more than there are lanes
  ASSERT_THAT(started->admin->InjectFault(stall, absl::Seconds(60)), IsOk());

  // 5 MB each, which nobody works on for a while, until some are refused for want of memory.
  const v1::DecodeRequest large = DecodeOfZeros(NrCode(1, 384), 200);
  constexpr int kMost = 40;
  std::vector<grpc::ClientContext> contexts(kMost);
  std::atomic<int> refused{0};
  std::vector<std::thread> clients;
  const absl::Time deadline = absl::Now() + absl::Seconds(120);
  for (grpc::ClientContext& context : contexts) {
    if (refused > 0) break;
    clients.emplace_back([&] {
      v1::DecodeResponse response;
      const grpc::Status status = stub->Decode(&context, large, &response);
      if (absl::StrContains(status.error_message(), "memory is scarce")) {
        EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
        ++refused;
      }
    });
    // The next one comes once this one has, and the server has looked at its memory.
    const auto in_flight = static_cast<double>(clients.size());
    while (refused == 0 && absl::Now() < deadline &&
           server.Metric("baseband_requests_in_flight", {"rpc=\"Decode\""}) < in_flight) {
      absl::SleepFor(absl::Milliseconds(5));
    }
    absl::SleepFor(absl::Milliseconds(120));
  }
  const auto counted = [&server] {
    return server.Metric("baseband_requests_unserved_total", {"reason=\"memory\""});
  };
  while ((refused == 0 || counted() == 0) && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_GT(refused, 0);
  EXPECT_GE(counted(), 1);

  for (grpc::ClientContext& context : contexts) context.TryCancel();
  for (std::thread& client : clients) client.join();
  EXPECT_TRUE(server.WaitForMetric("baseband_memory_step", {}, 0)) << server.process().Output();
  EXPECT_TRUE(Call(*stub, small, &answer).ok());
  EXPECT_THAT(server.process().Output(), HasSubstr("every new request is refused"));
}

// Calls to `server` whose messages of 20 MiB come to about 70 MiB of each connection.
class HalfMessages {
 public:
  static constexpr int kConnections = 4;

  explicit HalfMessages(const ServerProcess& server) : proxy_(server.target(), Stalling()) {
    request_.set_payload(std::string(20 * kMib, 'x'));
    for (int i = 0; i < kConnections; ++i) {
      const std::shared_ptr<v1::Baseband::Stub> stub = Connect(proxy_.target());
      for (int k = 0; k < 4; ++k) {
        contexts_.push_back(std::make_unique<grpc::ClientContext>());
        calls_.emplace_back([this, stub, context = contexts_.back().get()] {
          v1::EncodeResponse response;
          const grpc::StatusCode code = stub->Encode(context, request_, &response).error_code();
          ended_ += code == grpc::StatusCode::RESOURCE_EXHAUSTED ? 1 : 0;
        });
      }
    }
  }
  ~HalfMessages() {
    for (const auto& context : contexts_) context->TryCancel();
    for (std::thread& call : calls_) call.join();
  }
  // By the server, for want of memory.
  int ended() const { return ended_; }
  bool have_all_stalled() const { return proxy_.stalled() >= kConnections; }

 private:
  static Plan Stalling() {
    Plan plan;
    plan.up.stall_after = 70 * kMib;
    return plan;
  }

  Proxy proxy_;
  v1::EncodeRequest request_;
  std::atomic<int> ended_{0};
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts_;
  std::vector<std::thread> calls_;
};

TEST_F(ScarceMemoryTest, HalfMessagesTakeNoMoreThanTheirMemory) {
  const auto started = StartSmall({"--grpc-mib=64"});
  ASSERT_THAT(started, IsOk());
  ServerProcess& server = **started;
  const double calm = server.Metric("process_resident_memory_bytes");
  const HalfMessages half(server);
  const absl::Time deadline = absl::Now() + absl::Seconds(120);
  double most = 0;
  const auto look = [&] {
    most = std::max(most, server.Metric("process_resident_memory_bytes"));
    absl::SleepFor(absl::Milliseconds(20));
  };
  while (half.ended() == 0 && !half.have_all_stalled() && absl::Now() < deadline) look();
  for (int i = 0; i < 50; ++i) look();
  EXPECT_GT(half.ended(), 0);
  EXPECT_LT(most - calm, 160 * kMib);  // of 280
  v1::EncodeResponse answer;
  EXPECT_TRUE(Call(*Connect(server.target()), EncodeOf(NrCode(1, 384), 1), &answer).ok());
}

// While gRPC's memory is full, what is freed of it wakes whoever is to give some back.
TEST_F(ScarceMemoryTest, WhileHalfMessagesFillItPayloadsOfOthersAreServedAndFreed) {
  const auto started = StartSmall({"--grpc-mib=64"});
  ASSERT_THAT(started, IsOk());
  ServerProcess& server = **started;
  std::atomic<bool> is_over{false};
  std::atomic<int> served{0};
  std::vector<std::thread> others;
  for (int i = 0; i < 4; ++i) {
    others.emplace_back([&] {
      const auto stub = Connect(server.target());
      const v1::EncodeRequest request = EncodeOf(NrCode(1, 384), 200);
      while (!is_over) {
        v1::EncodeResponse response;
        grpc::ClientContext context;
        context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
        served += stub->Encode(&context, request, &response).ok() ? 1 : 0;
      }
    });
  }
  for (int round = 0; round < 4 && server.process().IsRunning(); ++round) {
    const HalfMessages half(server);
    const absl::Time end = absl::Now() + absl::Seconds(2);
    while (absl::Now() < end && server.process().IsRunning())
      absl::SleepFor(absl::Milliseconds(10));
  }
  is_over = true;
  for (std::thread& other : others) other.join();
  EXPECT_TRUE(server.process().IsRunning()) << server.process().Output();
  EXPECT_GT(served, 0);
}

TEST_F(ScarceMemoryTest, WhoDoesNotSendOnIsRefusedAndKeepsNobodyOut) {
  const auto started = StartSmall({absl::StrCat("--memory-mib=", CalmMib() + 40), "--stall=1s"});
  ASSERT_THAT(started, IsOk());
  ServerProcess& server = **started;
  EXPECT_THAT(server.process().Output(), HasSubstr("messages alone can make it scarce"));
  Plan plan;
  plan.up.stall_after = 55 << 20;  // before any message is whole
  Proxy proxy(server.target(), plan);
  const std::shared_ptr<v1::Baseband::Stub> stub = Connect(proxy.target());
  v1::EncodeRequest request;
  request.set_payload(std::string(60 << 20, 'x'));
  std::vector<std::thread> calls;
  for (int i = 0; i < 3; ++i) {
    calls.emplace_back([&request, stub] {
      v1::EncodeResponse response;
      grpc::ClientContext context;
      const grpc::Status status = stub->Encode(&context, request, &response);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
      EXPECT_THAT(status.error_message(), HasSubstr("memory is scarce"));
    });
  }
  EXPECT_TRUE(server.WaitForMetric("baseband_requests_unserved_total", {"reason=\"memory\""}, 3))
      << server.process().Output();
  EXPECT_TRUE(server.WaitForMetric("baseband_memory_step", {}, 0)) << server.process().Output();
  v1::EncodeResponse answer;
  EXPECT_TRUE(Call(*Connect(server.target()), EncodeOf(NrCode(1, 384), 1), &answer).ok());
  for (std::thread& call : calls) call.join();
}

}  // namespace
}  // namespace baseband::testing
