// The measuring part of `basebandctl load --stream` against the real server.
#include <signal.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "client/load/run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/traffic.h"

namespace baseband::load {
namespace {

using testing::EncodeOf;
using testing::IsInvalid;
using testing::IsOk;
using testing::NrCode;
using testing::ServerProcess;

// Encodes of one block and of many, whose answers must be of the right size.
std::vector<Workload> Mix() {
  std::vector<Workload> workloads(2);
  for (const int blocks : {1, 40}) {
    Workload& workload = workloads[blocks == 1 ? 0 : 1];
    workload.name = "encode " + std::to_string(blocks);
    workload.method = "/baseband.v1.Baseband/Encode";
    workload.priority = blocks == 1 ? client::Priority::kHigh : client::Priority::kLow;
    const std::string text = EncodeOf(NrCode(2, 64), blocks).SerializeAsString();
    const grpc::Slice slice(text);
    Request request;
    request.message = grpc::ByteBuffer(&slice, 1);
    request.check = [blocks](const grpc::ByteBuffer& reply) -> absl::StatusOr<int64_t> {
      constexpr int kCodewordBytes = 50 * 64 / 8;
      v1::EncodeResponse response;
      if (response.ParseFromString(ReplyView(reply).Rest()) &&
          response.payload().size() == static_cast<size_t>(blocks * kCodewordBytes)) {
        return 0;
      }
      return absl::DataLossError("not right");
    };
    workload.requests.push_back(std::move(request));
  }
  return workloads;
}

class LoadStreamTest : public ::testing::Test {
 protected:
  void Start(const std::vector<std::string>& flags) {
    auto server = ServerProcess::Start(flags);
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    spec_.client.target = server_->target();
    spec_.client.connections = 3;
    spec_.workers = 2;
    spec_.stream = true;
    spec_.warm_up = absl::Milliseconds(100);
    spec_.duration = absl::Seconds(1);
    spec_.timeout = absl::Seconds(60);
  }

  std::unique_ptr<ServerProcess> server_;
  LoadSpec spec_;
};

TEST_F(LoadStreamTest, LoopsOfBothKindsGetEveryAnswerAlsoBeyondTheCredits) {
  Start({"--submit-requests=4"});
  for (const Pace::Kind kind : {Pace::Kind::kClosed, Pace::Kind::kPoisson}) {
    spec_.pace.kind = kind;
    spec_.pace.in_flight = 60;
    spec_.pace.rate = 300;
    const auto result = RunLoad(spec_, Mix());
    ASSERT_THAT(result, IsOk());
    const Tally all = result->totals.All();
    EXPECT_GT(all.outcomes[Outcome::kGood], 0);
    EXPECT_EQ(all.outcomes[Outcome::kGood], all.outcomes.due()) << result->totals.wrong_example;
    for (const Tally& tally : result->totals.tallies) EXPECT_GT(tally.outcomes.due(), 0);
  }
  EXPECT_EQ(server_->Metric("baseband_requests_total", {"rpc=\"Submit\"", "code=\"OK\""}), 6);
  EXPECT_GT(server_->Metric("baseband_device_seconds_total", {"priority=\"high\""}), 0);
  EXPECT_GT(server_->Metric("baseband_device_seconds_total", {"priority=\"low\""}), 0);
}

TEST_F(LoadStreamTest, AServerThatDiesIsCountedAndEndsNothingEarly) {
  Start({});
  spec_.pace.kind = Pace::Kind::kPoisson;
  spec_.pace.rate = 200;
  spec_.duration = absl::Seconds(3);
  std::thread killer([this] {  // in the middle of it
    const double before = server_->Metric("baseband_device_seconds_total");
    const absl::Time end = absl::Now() + spec_.timeout;
    while (server_->Metric("baseband_device_seconds_total") == before && absl::Now() < end) {
      absl::SleepFor(absl::Milliseconds(5));
    }
    server_->process().Signal(SIGKILL);
  });
  const auto result = RunLoad(spec_, Mix());
  killer.join();
  ASSERT_THAT(result, IsOk());
  const Tally all = result->totals.All();
  EXPECT_GT(all.outcomes[Outcome::kRefused], 0);
  EXPECT_EQ(all.outcomes[Outcome::kRefused] + all.outcomes[Outcome::kGood], all.outcomes.due());
}

TEST_F(LoadStreamTest, WhatDoesNotGoThroughAStreamIsRefusedByName) {
  Start({});
  std::vector<Workload> workloads = Mix();
  workloads[1].name = "search";
  workloads[1].method = "/baseband.v1.Baseband/Minimize";
  EXPECT_THAT(RunLoad(spec_, workloads),
              IsInvalid("search: /baseband.v1.Baseband/Minimize does not go through"));
}

}  // namespace
}  // namespace baseband::load
