// One client, three servers, each on a host of its own: its calls are shared evenly, and whatever
// happens to one of the servers, none of them fails.
#include <signal.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fleet.h"
#include "tests/support/mixed_load.h"
#include "tests/support/quiescence.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {
namespace {

using Code = absl::StatusCode;

constexpr int kServers = 3;

class ManyServersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(fleet_.StartAll(), IsOk());
    const auto learner = client::Client::Create(LoadOf(fleet_[0]->target()).client);
    auto mix = Mix::Learn(**learner);
    ASSERT_TRUE(mix.ok()) << mix.status();
    mix_ = std::make_unique<Mix>(*std::move(mix));
  }

  static std::vector<std::string> Flags() {
    std::vector<std::string> flags = SmallPools();
    flags.push_back("--cpu-threads=1");
    return flags;
  }
  MixedLoadOptions Calls() const {
    MixedLoadOptions options = LoadOf(fleet_.target());
    options.client.max_attempts = 4;
    options.unary = 4;
    options.submit = options.streams = options.searches = 0;
    return options;
  }

  // Requests of the operations that this process of the server has answered.
  double Answered(int server) {
    double sum = 0;
    for (const char* rpc : {"Encode", "Decode", "EncodeSharedChannel", "DecodeSharedChannel",
                            "RecoverCarrier", "Downconvert"}) {
      sum += fleet_[server]->Metric("baseband_requests_total", {absl::StrCat("rpc=\"", rpc, "\"")});
    }
    return sum;
  }
  // Waits until each server has so many.
  void AwaitConnections(int count) {
    for (int i = 0; i < kServers; ++i) {
      ASSERT_TRUE(fleet_[i]->WaitForMetric("baseband_open_connections", {}, count, kPatience)) << i;
    }
  }
  // Waits until `server` answers calls again, and there are more of the right answers.
  void AwaitShare(int server) {
    const double before = Answered(server);
    const absl::Time deadline = absl::Now() + kPatience;
    while (Answered(server) < before + 20) {
      ASSERT_LT(absl::Now(), deadline) << "server " << server << " gets no calls";
      absl::SleepFor(absl::Milliseconds(20));
    }
  }
  void AwaitMore(int64_t answers) {
    ASSERT_TRUE(log_.AwaitCount(Code::kOk, log_.Count(Code::kOk) + answers))
        << log_.Faults({Code::kOk});
  }

  Fleet fleet_{kServers, Flags()};
  std::unique_ptr<Mix> mix_;
  RequestLog log_;  // ends after the load that writes into it
};

TEST_F(ManyServersTest, CallsAreSharedWithinATenth) {
  AwaitConnections(0);  // the learner's are gone
  const MixedLoadOptions options = Calls();
  const auto client = client::Client::Create(options.client).value();
  client::CallOptions patient;  // a server that has just been started may think it needs minutes
  patient.timeout = absl::Hours(24);
  const auto call = [&](int batches) {
    for (int i = 0; i < batches; ++i) {
      Batch batch(&log_);
      for (int which = 0; which < 12; ++which) {
        mix_->Call(*client, which % mix_->size(), patient, batch.Enter());
      }
      ASSERT_THAT(batch.Wait(), IsOk());
    }
  };
  call(1);
  AwaitConnections(options.client.connections);
  call(10);  // the client knows of them too

  // Nothing is on its way while it is counted.
  std::vector<double> share;
  for (int i = 0; i < kServers; ++i) share.push_back(-Answered(i));
  call(50);
  for (int i = 0; i < kServers; ++i) share[static_cast<size_t>(i)] += Answered(i);
  const double sum = std::accumulate(share.begin(), share.end(), 0.0);
  for (const double one : share) EXPECT_NEAR(one / sum, 1.0 / kServers, 0.1 / kServers);
  EXPECT_EQ(log_.Faults({Code::kOk}), "");
}

TEST_F(ManyServersTest, OneKilledOneDrainedAndBothAddedBackCostNoCall) {
  MixedLoad load(*mix_, Calls(), &log_);
  for (int i = 0; i < kServers; ++i) AwaitShare(i);
  fleet_[0]->process().Signal(SIGKILL);
  AwaitMore(200);
  ASSERT_THAT(fleet_.Start(0), IsOk());
  AwaitShare(0);

  EXPECT_EQ(fleet_[1]->Terminate(kPatience), 0) << fleet_[1]->process().Output();
  AwaitMore(200);
  ASSERT_THAT(fleet_.Start(1), IsOk());
  AwaitShare(1);
  AwaitMore(100);
  load.Stop();
  EXPECT_EQ(log_.Faults({Code::kOk}), "");
}

TEST_F(ManyServersTest, ARollingUpgradeOfAllFailsNoCall) {
  MixedLoad load(*mix_, Calls(), &log_);
  for (int i = 0; i < kServers; ++i) {
    AwaitShare(i);
    EXPECT_EQ(fleet_[i]->Terminate(kPatience), 0) << fleet_[i]->process().Output();
    AwaitMore(50);
    ASSERT_THAT(fleet_.Start(i), IsOk());
  }
  for (int i = 0; i < kServers; ++i) AwaitShare(i);
  load.Stop();
  EXPECT_EQ(log_.Faults({Code::kOk}), "");
}

TEST_F(ManyServersTest, RequestsOfSubmitStreamsAreSentAgainWhenTheirServerGoes) {
  MixedLoadOptions options = Calls();
  options.unary = 0;
  options.submit = 4;
  MixedLoad load(*mix_, options, &log_);
  AwaitMore(200);
  fleet_[0]->process().Signal(SIGKILL);
  AwaitMore(200);
  ASSERT_THAT(fleet_.Start(0), IsOk());
  AwaitShare(0);
  EXPECT_EQ(fleet_[1]->Terminate(kPatience), 0) << fleet_[1]->process().Output();
  AwaitMore(200);
  load.Stop();
  EXPECT_EQ(log_.Faults({Code::kOk}), "");
}

TEST_F(ManyServersTest, StreamsAndSearchesOfAServerThatWentAreToldAndOpenedElsewhere) {
  MixedLoadOptions options = Calls();
  options.unary = 0;
  options.streams = options.searches = 2;
  options.go_on = true;
  MixedLoad load(*mix_, options, &log_);
  AwaitMore(100);
  for (int i = 0; i < kServers; ++i) {
    fleet_[i]->process().Signal(SIGKILL);
    AwaitMore(100);
    ASSERT_THAT(fleet_.Start(i), IsOk());
  }
  AwaitMore(50);
  load.Stop();
  EXPECT_EQ(log_.Faults({Code::kOk, Code::kUnavailable}), "");
}

TEST_F(ManyServersTest, AHostThatFallsSilentIsLeftWithoutALostCall) {
  if (!fleet_.has_links()) GTEST_SKIP() << "no link to cut";
  MixedLoad load(*mix_, Calls(), &log_);
  for (int i = 0; i < kServers; ++i) AwaitShare(i);
  ASSERT_THAT(fleet_.SetLink(2, false), IsOk());
  // All loops have waited for the silent one, have been told, and have gone elsewhere.
  absl::SleepFor(absl::Seconds(2));
  AwaitMore(200);
  ASSERT_THAT(fleet_.SetLink(2, true), IsOk());
  AwaitShare(2);
  load.Stop();
  EXPECT_EQ(log_.Faults({Code::kOk}), "");
}

}  // namespace
}  // namespace baseband::testing
