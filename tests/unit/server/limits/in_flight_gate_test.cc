// A closed door lets nobody in, and whoever came in before is waited for.
#include "server/limits/in_flight_gate.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/base/steady_time.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

TEST(InFlightGateTest, ClosedItRefusesWhoeverComes) {
  InFlightGate gate;
  EXPECT_THAT(gate.Enter(SteadyNow()), IsOk());
  EXPECT_THAT(gate.CheckOpen(SteadyNow()), IsOk());
  gate.Close();
  const auto refused = StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shutting down"));
  EXPECT_THAT(gate.Enter(SteadyNow()), refused);
  EXPECT_THAT(gate.CheckOpen(SteadyNow()), refused);
}

TEST(InFlightGateTest, OnlyWhoEnteredIsWaitedFor) {
  InFlightGate gate;
  ASSERT_THAT(gate.CheckOpen(SteadyNow()), IsOk());
  gate.WaitUntilEmpty(absl::InfiniteFuture());  // returns
  ASSERT_THAT(gate.Enter(SteadyNow()), IsOk());
  gate.Close();
  ASSERT_FALSE(gate.Enter(SteadyNow()).ok());
  const absl::Time deadline = SteadyNow() + absl::Milliseconds(20);
  gate.WaitUntilEmpty(deadline);
  EXPECT_GE(SteadyNow(), deadline) << "one is inside";
  std::thread last([&] { gate.Leave(); });
  gate.WaitUntilEmpty(absl::InfiniteFuture());  // returns
  last.join();
}

TEST(InFlightGateTest, NobodyWhoWasLetInIsLeftBehindByWhoeverClosesIt) {
  for (int round = 0; round < 200; ++round) {
    InFlightGate gate;
    std::atomic<int> inside{0};
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) {
      callers.emplace_back([&] {
        while (gate.Enter(SteadyNow()).ok()) {
          ++inside;
          std::this_thread::yield();
          --inside;
          gate.Leave();
        }
      });
    }
    gate.Close();
    gate.WaitUntilEmpty(absl::InfiniteFuture());
    EXPECT_EQ(inside, 0);
    for (std::thread& caller : callers) caller.join();
  }
}

TEST(InFlightGateTest, QuietIsSoLongAfterTheLastWhoCame) {
  InFlightGate gate;
  const absl::Time last = SteadyNow();
  ASSERT_THAT(gate.CheckOpen(last), IsOk());
  gate.WaitUntilQuiet(absl::Milliseconds(20), absl::InfiniteFuture());
  EXPECT_GE(SteadyNow(), last + absl::Milliseconds(20));
  gate.WaitUntilQuiet(absl::Hours(1), SteadyNow());  // returns
}

}  // namespace
}  // namespace baseband::server
