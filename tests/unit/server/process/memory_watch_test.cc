#include "server/process/memory_watch.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/constants.h"

namespace baseband::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MemoryWatchTest : public ::testing::Test {
 protected:
  MemoryWatchTest() {
    MemoryWatch::Options options;
    options.used = [this] { return used_; };
    options.free = [this] { return free_; };
    options.drop_caches = [this] { ++drops_; };
    options.end_late = [this](absl::Time) { ++ends_; };
    options.give_back = [this] {
      ++given_back_;
      used_ -= to_give_;
      to_give_ = 0;
    };
    options.warn = [this](const std::string& line) { log_.push_back(line); };
    watch_ = std::make_unique<MemoryWatch>(std::move(options), steps_);
  }
  // Looks every interval for so long.
  void LookFor(absl::Duration time) {
    for (const absl::Time end = now_ + time; now_ < end; now_ += MemoryWatch::kInterval) {
      watch_->Look(now_);
    }
  }

  MemorySteps steps_{1000 * kMib, 0};
  int64_t used_ = 100 * kMib;
  int64_t free_ = 0;     // of malloc's
  int64_t to_give_ = 0;  // of used_
  int drops_ = 0;
  int ends_ = 0;
  int given_back_ = 0;
  std::vector<std::string> log_;
  absl::Time now_ = kStart;
  std::unique_ptr<MemoryWatch> watch_;
};

TEST_F(MemoryWatchTest, ScarceMemoryIsToldOfAndGivenBackAtOnceAndNowAndThen) {
  LookFor(absl::Seconds(10));
  EXPECT_EQ(given_back_, 0);
  used_ = 850 * kMib;
  LookFor(absl::Seconds(1));
  EXPECT_EQ(given_back_, 1);
  EXPECT_EQ(drops_, 1);
  EXPECT_THAT(log_, ElementsAre(HasSubstr("caches are dropped (850 of 1000 MiB)")));
  LookFor(10 * MemoryWatch::kPause);
  EXPECT_EQ(ends_, 0);
  EXPECT_GE(given_back_, 9);
  EXPECT_LE(given_back_, 12);
  used_ = 200 * kMib;
  LookFor(absl::Seconds(1));
  EXPECT_THAT(log_.back(), HasSubstr("no longer scarce"));
}

TEST_F(MemoryWatchTest, WhereRequestsAreRefusedWhatIsFreeGoesBackSoon) {
  used_ = 960 * kMib;
  LookFor(absl::Milliseconds(500));
  EXPECT_EQ(given_back_, 1);
  EXPECT_EQ(ends_, 5);  // messages that do not come are looked for each time
  free_ = 300 * kMib;   // as the last of those that took it ends
  used_ = 1100 * kMib;
  to_give_ = 500 * kMib;
  LookFor(MemoryWatch::kShortPause);
  EXPECT_EQ(given_back_, 2);
  LookFor(MemoryWatch::kInterval);
  EXPECT_EQ(steps_.step(), MemoryStep::kNone);
}

TEST_F(MemoryWatchTest, WhatNobodyNeedsForAWhileIsGivenBackOnce) {
  free_ = 300 * kMib;  // malloc says so afterwards too
  used_ = 500 * kMib;
  to_give_ = 250 * kMib;
  LookFor(MemoryWatch::kIdle - absl::Seconds(1));
  EXPECT_EQ(given_back_, 0);
  LookFor(absl::Seconds(5));
  EXPECT_EQ(given_back_, 1);
  EXPECT_EQ(drops_, 0);
  LookFor(absl::Minutes(5));
  EXPECT_EQ(given_back_, 1);
  used_ += 100 * kMib;  // taken, and free again
  LookFor(MemoryWatch::kIdle + absl::Seconds(5));
  EXPECT_EQ(given_back_, 2);
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(MemoryWatchTest, WhatIsNeededAgainAndAgainStays) {
  used_ = 500 * kMib;
  for (int i = 0; i < 100; ++i) {
    free_ = i % 2 == 0 ? 300 * kMib : 10 * kMib;
    LookFor(absl::Seconds(3));
  }
  EXPECT_EQ(given_back_, 0);
}

}  // namespace
}  // namespace baseband::server
