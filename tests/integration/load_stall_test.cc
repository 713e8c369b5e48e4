// What `basebandctl load` measures of servers that stall, or never answer: the stall is counted for
// every call that was due in it, and what has told all that it can is not waited for.
#include <atomic>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/load/run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/base/steady_time.h"
#include "tests/support/encode_calls.h"
#include "tests/support/fake_baseband.h"
#include "tests/support/status_matchers.h"

namespace baseband::load {
namespace {

using testing::AnswerRight;
using testing::Calls;
using testing::FakeBaseband;
using testing::IsOk;
using testing::Milliseconds;
using testing::SpecOf;

// A server that answers nothing for two seconds once it has got its 26th call.
class StalledServer {
 public:
  StalledServer() {
    server_.on_encode = [this](auto*, const auto&, v1::EncodeResponse* response) {
      absl::SleepFor(Stall());
      return AnswerRight(response);
    };
    server_.Start();
  }
  static absl::StatusOr<LoadResult> Run(LoadSpec spec) {
    spec.client.connections = 1;
    spec.warm_up = absl::ZeroDuration();
    return RunLoad(spec, Calls());
  }
  const FakeBaseband& server() const { return server_; }

 private:
  // What is left of it for a call that has just come.
  absl::Duration Stall() {
    absl::MutexLock lock(&mutex_);
    if (++calls_ == 26) end_ = SteadyNow() + absl::Seconds(2);
    return end_ - SteadyNow();
  }

  absl::Mutex mutex_;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time end_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  FakeBaseband server_;
};

class CoordinatedOmissionTest : public ::testing::TestWithParam<int> {};

// 200 calls in 8 s; the 50 due in the stall are answered at its end, so that their latencies are
// evenly spread over 0 .. 2000 ms: the quantile q > 3/4 of all is 2000 ms (q - 3/4) / (1/4), and
// more where a busy machine takes its time on top.
TEST_P(CoordinatedOmissionTest, AnOpenLoopCountsTheStallForEveryCallThatWasDueInIt) {
  StalledServer stalled;
  LoadSpec spec = SpecOf(stalled.server(), Pace::Kind::kConstant, 25, absl::Seconds(8));
  spec.max_in_flight = GetParam();
  const auto result = stalled.Run(spec);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->totals.All().outcomes.due(), 200);
  EXPECT_EQ(result->totals.All().outcomes[Outcome::kGood], 200);
  // Two calls more or less in the stall are 80 ms at any quantile.
  EXPECT_GE(Milliseconds(*result, 0.90), 1120);
  EXPECT_GE(Milliseconds(*result, 0.99), 1840);
  EXPECT_LT(Milliseconds(*result, 0.60), 1000) << "of those due in no stall";
  EXPECT_EQ(result->totals.cap_hits > 0, GetParam() == 1);
}

INSTANTIATE_TEST_SUITE_P(RoomForOneCallOrForAll, CoordinatedOmissionTest,
                         ::testing::Values(1, 4096));

TEST(LoadStallTest, AClosedLoopSeesTheStallOnce) {
  StalledServer stalled;
  LoadSpec spec = SpecOf(stalled.server(), Pace::Kind::kClosed, 0, absl::Seconds(4));
  spec.pace.in_flight = 1;
  const auto result = stalled.Run(spec);
  ASSERT_THAT(result, IsOk());
  const Tally all = result->totals.All();
  EXPECT_GE(all.latency.max(), 2000000000);
  EXPECT_EQ(all.latency.count() - all.latency.CountUpTo(1000000000), 1);
  EXPECT_EQ(result->totals.send_lag.count(), 0);
}

// As a probe of the knee is. Its calls would take ten minutes, a stream's too.
TEST(LoadStallTest, WhatHasFallenBehindIsNotWaitedFor) {
  FakeBaseband server;
  server.on_encode = [](grpc::ServerContext* context, const auto&, v1::EncodeResponse*) {
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    return grpc::Status::CANCELLED;
  };
  server.on_submit = [](grpc::ServerContext* context, FakeBaseband::SubmitStream* stream) {
    v1::SubmitResponse response;
    response.mutable_credits()->set_requests(5);
    response.mutable_credits()->set_bytes(1 << 20);
    stream->Write(response);
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    return grpc::Status::CANCELLED;
  };
  server.Start();
  LoadSpec spec = SpecOf(server, Pace::Kind::kConstant, 50, absl::Milliseconds(400));
  spec.timeout = absl::Minutes(10);
  spec.least_answered = 0.95;
  for (const bool stream : {false, true}) {
    spec.stream = stream;
    const auto result = RunLoad(spec, Calls());
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->totals.All().outcomes[Outcome::kExpired], 20) << stream;
    EXPECT_EQ(result->totals.All().outcomes.due(), 20) << stream;
    EXPECT_LT(result->totals.All().latency.max(), int64_t{300} * 1000000000) << stream;
  }
}

TEST(LoadStallTest, WhoKeepsUpIsWaitedForToTheLastCall) {
  std::atomic<int> calls{0};
  FakeBaseband server;
  server.on_encode = [&](auto*, const auto&, v1::EncodeResponse* response) {
    if (++calls == 30) absl::SleepFor(absl::Seconds(2));  // beyond the end of the measurement
    return AnswerRight(response);
  };
  server.Start();
  LoadSpec spec = SpecOf(server, Pace::Kind::kConstant, 50, absl::Seconds(1));
  spec.warm_up = absl::ZeroDuration();
  spec.least_answered = 0.5;
  const auto result = RunLoad(spec, Calls());
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->totals.All().outcomes[Outcome::kGood], 50);
}

}  // namespace
}  // namespace baseband::load
