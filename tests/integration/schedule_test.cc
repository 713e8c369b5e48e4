// The real server under more work than it can do: quotas by name, deadlines it cannot keep, and
// classes.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "tests/support/server_process.h"
#include "tests/support/server_test.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  grpc::Status status;
  int pushback_ms = -1;  // the trailer; negative: none
};

Outcome Decode(v1::Baseband::Stub& stub, const v1::DecodeRequest& request,
               const std::string& priority = "",
               absl::Duration timeout = absl::InfiniteDuration()) {
  grpc::ClientContext context;
  if (timeout < absl::InfiniteDuration()) {
    context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  }
  if (!priority.empty()) context.AddMetadata("baseband-priority", priority);
  v1::DecodeResponse response;
  Outcome outcome;
  outcome.status = stub.Decode(&context, request, &response);
  const auto& trailers = context.GetServerTrailingMetadata();
  if (const auto found = trailers.find("grpc-retry-pushback-ms"); found != trailers.end()) {
    EXPECT_TRUE(absl::SimpleAtoi(std::string(found->second.data(), found->second.size()),
                                 &outcome.pushback_ms));
  }
  return outcome;
}

// Sends `request` from `threads` connections over and over until it is destroyed.
class Load {
 public:
  Load(const ServerProcess& server, int threads, const v1::DecodeRequest& request,
       const std::string& priority) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this, &server, request, priority] {
        const auto stub = Connect(server.target());
        while (!stop_) {
          const grpc::Status status = Decode(*stub, request, priority).status;
          if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) continue;
          EXPECT_TRUE(status.ok()) << status.error_message();
          ++served_;
        }
      });
    }
  }
  ~Load() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  int served() const { return served_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> served_{0};
  std::vector<std::thread> threads_;
};

TEST(ScheduleTest, AQuotaOfAClientIsRefusedByNameWithARetryHint) {
  const auto server = StartServer({"--cpu-threads=1", "--client-requests=2"});
  ASSERT_NE(server, nullptr);
  const auto stub = Connect(server->target());
  {
    const Load load(*server, 2, SlowDecode(100), "");
    ASSERT_TRUE(server->WaitForMetric("baseband_requests_in_flight", {}, 2));
    bool refused = false;
    for (int i = 0; i < 1000 && !refused; ++i) {  // between two calls of the load there is room
      const Outcome outcome = Decode(*stub, DecodeOfZeros(NrCode(2, 16), 1));
      refused = !outcome.status.ok();
      if (!refused) continue;
      EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
      EXPECT_THAT(outcome.status.error_message(),
                  HasSubstr("client_requests: 2 requests of this client are in flight, of 2"));
      EXPECT_GT(outcome.pushback_ms, 0);
    }
    EXPECT_TRUE(refused);
  }
  EXPECT_TRUE(server->WaitForMetric("baseband_requests_in_flight", {}, 0));
  EXPECT_GT(server->Metric("baseband_requests_unserved_total", {"client_requests"}), 0);
  EXPECT_EQ(server->Terminate(), 0) << server->process().Output();
}

TEST(ScheduleTest, ADeadlineThatEvenAnIdleServerMissesIsRefusedAtOnce) {
  const auto server = StartServer({"--cpu-threads=1"});
  ASSERT_NE(server, nullptr);
  const auto stub = Connect(server->target());
  const v1::DecodeRequest slow = SlowDecode(400);
  ASSERT_TRUE(Decode(*stub, slow).status.ok());
  // What the first one took is known for a second; the deadline is far below that, and yet long
  // enough for the refusal to come back.
  const absl::Duration took =
      absl::Seconds(server->Metric("baseband_device_seconds_total", {"priority=\"normal\""}));
  for (int i = 0; server->Metric("baseband_requests_unserved_total", {"deadline_unreachable"}) == 0;
       ++i) {
    ASSERT_LT(i, 20) << "a Decode took " << took;
    const grpc::Status status = Decode(*stub, slow, "", took / 3).status;
    ASSERT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
    ASSERT_TRUE(Decode(*stub, slow).status.ok());
  }
  EXPECT_EQ(server->Terminate(), 0) << server->process().Output();
}

TEST(ScheduleTest, WhatTheBacklogMakesLateIsToldWhenToComeBack) {
  const auto server = StartServer({"--cpu-threads=1"});
  ASSERT_NE(server, nullptr);
  const auto stub = Connect(server->target());
  {
    const Load load(*server, 16, SlowDecode(50), "");
    bool refused = false;
    for (int i = 0; i < 500 && !refused; ++i) {
      const v1::DecodeRequest request = SlowDecode(50);
      const double batches = server->Metric("baseband_batches_total");
      const double took = server->Metric("baseband_device_seconds_total") / std::max(1.0, batches);
      // Time for itself and for some of what goes before it; how many share a batch, nobody knows,
      // nor how much faster it would go if nobody else used the processor.
      const Outcome outcome = Decode(*stub, request, "", absl::Seconds(took / 8 * (1 << i % 7)));
      if (outcome.status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED) continue;
      refused = true;
      EXPECT_THAT(outcome.status.error_message(), HasSubstr("goes before it; its deadline is in"));
      EXPECT_GT(outcome.pushback_ms, 0);
    }
    EXPECT_TRUE(refused);
    // Of what was admitted once such work was known.
    for (int i = 0; i < 1000 && server->Metric("baseband_prediction_ratio_count") == 0; ++i) {
      absl::SleepFor(absl::Milliseconds(50));
    }
  }
  EXPECT_TRUE(server->WaitForMetric("baseband_requests_in_flight", {}, 0));
  EXPECT_GT(server->Metric("baseband_requests_unserved_total", {"backlog"}), 0);
  EXPECT_GT(server->Metric("baseband_prediction_ratio_count"), 0);
  EXPECT_EQ(server->Terminate(), 0) << server->process().Output();
}

TEST(ScheduleTest, HighWorkIsDoneBesideLowWorkThatFillsTheServerAndBothGoOn) {
  const auto server = StartServer({"--cpu-threads=2"});
  ASSERT_NE(server, nullptr);
  const auto stub = Connect(server->target());
  {
    const Load low(*server, 8, SlowDecode(50), "low");
    ASSERT_TRUE(server->WaitForMetric("baseband_requests_in_flight", {}, 8));
    for (int i = 0; i < 100; ++i) {
      const Outcome outcome = Decode(*stub, DecodeOfZeros(NrCode(1, 384), 4), "high");
      ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
    }
    const int before = low.served();
    for (int i = 0; i < 1000 && low.served() == before; ++i) absl::SleepFor(absl::Milliseconds(10));
    EXPECT_GT(low.served(), before);
  }
  EXPECT_GT(server->Metric("baseband_device_seconds_total", {"priority=\"high\""}), 0);
  EXPECT_GT(server->Metric("baseband_device_seconds_total", {"priority=\"low\""}), 0);
  EXPECT_EQ(server->Metric("baseband_device_seconds_total", {"priority=\"normal\""}), 0);
  EXPECT_EQ(server->Terminate(), 0) << server->process().Output();
}

TEST(ScheduleTest, APriorityThatIsNoneIsRefused) {
  const auto server = StartServer({});
  ASSERT_NE(server, nullptr);
  const auto stub = Connect(server->target());
  const grpc::Status status = Decode(*stub, DecodeOfZeros(NrCode(2, 16), 1), "urgent").status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(),
              HasSubstr("metadata baseband-priority urgent is not one of high, normal, low"));
  EXPECT_EQ(server->Terminate(), 0) << server->process().Output();
}

TEST(ScheduleTest, PointsOfConstellationsThatNobodyHasUsedStopNobodysCalls) {
  const auto server = StartServer({"--grpc-threads=1"});
  ASSERT_NE(server, nullptr);
  const auto stub = Connect(server->target());
  v1::GetCapabilitiesRequest request;
  v1::GetCapabilitiesResponse capabilities;
  grpc::ClientContext context;
  ASSERT_TRUE(stub->GetCapabilities(&context, request, &capabilities).ok());
  *request.mutable_points_of() = capabilities.carrier().constellations();
  std::atomic<bool> answered{false};
  std::thread patient([&] {  // for seconds
    grpc::ClientContext own;
    v1::GetCapabilitiesResponse response;
    EXPECT_TRUE(stub->GetCapabilities(&own, request, &response).ok());
    EXPECT_EQ(response.carrier().points_size(), request.points_of_size());
    answered = true;
  });
  EXPECT_TRUE(server->WaitForMetric("baseband_requests_in_flight", {"rpc=\"GetCapabilities\""}, 1));
  v1::EncodeResponse response;
  EXPECT_TRUE(Call(*stub, EncodeOf(NrCode(2, 16), 1), &response).ok());
  EXPECT_FALSE(answered);
  patient.join();
  EXPECT_EQ(server->Terminate(), 0) << server->process().Output();
}

}  // namespace
}  // namespace baseband::testing
