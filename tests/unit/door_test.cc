// A closed door lets nobody in, and whoever came in before is waited for.
#include "server/service/door.h"

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

TEST(DoorTest, ClosedItRefusesWhoeverComes) {
  Door door;
  EXPECT_THAT(door.Enter(SteadyNow()), IsOk());
  EXPECT_THAT(door.Knock(SteadyNow()), IsOk());
  door.Close();
  const auto refused = StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shutting down"));
  EXPECT_THAT(door.Enter(SteadyNow()), refused);
  EXPECT_THAT(door.Knock(SteadyNow()), refused);
}

TEST(DoorTest, OnlyWhoEnteredIsWaitedFor) {
  Door door;
  ASSERT_THAT(door.Knock(SteadyNow()), IsOk());
  door.WaitUntilEmpty(absl::InfiniteFuture());  // returns
  ASSERT_THAT(door.Enter(SteadyNow()), IsOk());
  door.Close();
  ASSERT_FALSE(door.Enter(SteadyNow()).ok());
  const absl::Time deadline = SteadyNow() + absl::Milliseconds(20);
  door.WaitUntilEmpty(deadline);
  EXPECT_GE(SteadyNow(), deadline) << "one is inside";
  std::thread last([&] { door.Leave(); });
  door.WaitUntilEmpty(absl::InfiniteFuture());  // returns
  last.join();
}

TEST(DoorTest, NobodyWhoWasLetInIsLeftBehindByWhoeverClosesIt) {
  for (int round = 0; round < 200; ++round) {
    Door door;
    std::atomic<int> inside{0};
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) {
      callers.emplace_back([&] {
        while (door.Enter(SteadyNow()).ok()) {
          ++inside;
          std::this_thread::yield();
          --inside;
          door.Leave();
        }
      });
    }
    door.Close();
    door.WaitUntilEmpty(absl::InfiniteFuture());
    EXPECT_EQ(inside, 0);
    for (std::thread& caller : callers) caller.join();
  }
}

TEST(DoorTest, QuietIsSoLongAfterTheLastWhoCame) {
  Door door;
  const absl::Time last = SteadyNow();
  ASSERT_THAT(door.Knock(last), IsOk());
  door.WaitUntilQuiet(absl::Milliseconds(20), absl::InfiniteFuture());
  EXPECT_GE(SteadyNow(), last + absl::Milliseconds(20));
  door.WaitUntilQuiet(absl::Hours(1), SteadyNow());  // returns
}

}  // namespace
}  // namespace baseband::server
