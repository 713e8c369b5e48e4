// Whoever is refused by a limit learns which one, and so do the metrics.
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/base/steady_time.h"
#include "server/limits/byte_limit.h"
#include "server/limits/flow_control_window.h"
#include "server/limits/in_flight_gate.h"
#include "server/limits/slow_path_executor.h"
#include "server/limits/stream_limit.h"
#include "server/metrics/unserved.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;

TEST(RefusalReasonsTest, AClosedGateDrains) {
  InFlightGate gate;
  gate.Close();
  EXPECT_EQ(ReasonOf(gate.Enter(SteadyNow())), UnservedReason::kDraining);
  EXPECT_EQ(ReasonOf(gate.CheckOpen(SteadyNow())), UnservedReason::kDraining);
}

TEST(RefusalReasonsTest, AStreamTooManyMeetsTheLimitOfStreams) {
  StreamLimit limit("streams", 1);
  const auto place = limit.Enter();
  ASSERT_THAT(place, IsOk());
  EXPECT_EQ(ReasonOf(limit.Enter().status()), UnservedReason::kStreamLimit);
}

TEST(RefusalReasonsTest, ASearchTooManyFindsNoMemory) {
  ByteLimit limit("searches", 10);
  ByteHold hold(&limit);
  ByteHold other(&limit);
  ASSERT_THAT(other.Resize(1), IsOk());
  EXPECT_EQ(ReasonOf(hold.Resize(10)), UnservedReason::kSearchMemory);
  EXPECT_EQ(ReasonOf(hold.Resize(11)), UnservedReason::kInvalidRequest) << "never";
}

TEST(RefusalReasonsTest, WhatTakesLongToPrepareHasItsOwn) {
  absl::Notification go_on;
  SlowPathExecutor::Options options;
  options.max_of_client = 1;
  options.max_bytes = 100;
  SlowPathExecutor slow_path(options);
  const auto nothing = [](const ContinueCheck&) {};
  ASSERT_THAT(slow_path.Add("a", 1, [&](const ContinueCheck&) { go_on.WaitForNotification(); }),
              IsOk());
  EXPECT_EQ(ReasonOf(slow_path.Add("a", 1, nothing)), UnservedReason::kPreparation);
  EXPECT_EQ(ReasonOf(slow_path.Add("b", 101, nothing)), UnservedReason::kPreparation);
  go_on.Notify();
  slow_path.Finish();
  EXPECT_EQ(ReasonOf(slow_path.Add("a", 1, nothing)), UnservedReason::kDraining);
}

TEST(RefusalReasonsTest, WhoeverGoesBeyondItsCreditsIsWrong) {
  FlowControlWindow window(SubmitWindow{1, 100});
  ASSERT_THAT(window.Open(1, 100), IsOk());
  EXPECT_EQ(ReasonOf(window.Open(2, 1)), UnservedReason::kInvalidRequest);
  FlowControlWindow wide(SubmitWindow{9, 100});
  ASSERT_THAT(wide.Open(1, 100), IsOk());
  EXPECT_EQ(ReasonOf(wide.Open(2, 1)), UnservedReason::kInvalidRequest);
}

}  // namespace
}  // namespace baseband::server
