// The clock that nobody sets, and the waits by it.
#include "kernels/base/steady_time.h"

#include <thread>

#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "kernels/base/steady_condition.h"

namespace baseband {
namespace {

TEST(SteadyTimeTest, NeverGoesBackAndPassesAsTheSteadyClockDoes) {
  const auto begin = std::chrono::steady_clock::now();
  const absl::Time first = SteadyNow();
  absl::Time last = first;
  for (int i = 0; i < 100000; ++i) {
    const absl::Time now = SteadyNow();
    ASSERT_GE(now, last);
    last = now;
  }
  const auto end = std::chrono::steady_clock::now();
  EXPECT_LE(last - first, absl::FromChrono(end - begin));
}

TEST(SteadyTimeTest, ToWallIsWhatPeopleCallNow) {
  const absl::Time before = absl::Now();
  const absl::Time shown = SteadyNow() + SteadyToWall();
  EXPECT_GE(shown, before - absl::Seconds(1));
  EXPECT_LE(shown, absl::Now() + absl::Seconds(1));
}

class SteadyConditionTest : public ::testing::Test {
 protected:
  bool AwaitFlag(absl::Time deadline) {
    absl::MutexLock lock(&mutex_);
    return changed_.AwaitUntil(mutex_, deadline, [this] { return flag_; });
  }

  absl::Mutex mutex_;
  SteadyCondition changed_;
  bool flag_ = false;
};

TEST_F(SteadyConditionTest, GivesUpAtTheDeadlineAndNotBefore) {
  const absl::Time deadline = SteadyNow() + absl::Milliseconds(20);
  EXPECT_FALSE(AwaitFlag(deadline));
  EXPECT_GE(SteadyNow(), deadline);
  EXPECT_FALSE(AwaitFlag(absl::InfinitePast()));
}

TEST_F(SteadyConditionTest, WhatIsTrueAlreadyIsNotWaitedFor) {
  flag_ = true;
  EXPECT_TRUE(AwaitFlag(absl::InfinitePast()));
}

TEST_F(SteadyConditionTest, WhoeverIsToldSeesWhatChanged) {
  for (const absl::Time deadline : {absl::InfiniteFuture(), SteadyNow() + absl::Minutes(5)}) {
    flag_ = false;
    std::thread other([this] {
      absl::MutexLock lock(&mutex_);
      flag_ = true;
      changed_.NotifyAll();
    });
    EXPECT_TRUE(AwaitFlag(deadline));
    other.join();
  }
}

}  // namespace
}  // namespace baseband
