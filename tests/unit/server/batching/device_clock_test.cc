#include "server/batching/device_clock.h"

#include "gtest/gtest.h"
#include "tests/support/constants.h"
#include "tests/support/count_allocations.h"

namespace baseband::server {
namespace {

absl::Time At(double seconds) { return kStart + absl::Seconds(seconds); }

TEST(DeviceClockTest, ABatchAloneTakesAsLongAsItRuns) {
  DeviceClock clock(2, 1);
  clock.Start(0, false, {0, 3}, At(0));
  EXPECT_TRUE(clock.IsBusy(false));
  EXPECT_FALSE(clock.IsBusy(true));
  EXPECT_DOUBLE_EQ(clock.Remaining(false, At(1)), 2);
  EXPECT_DOUBLE_EQ(clock.Remaining(false, At(5)), 0);
  EXPECT_DOUBLE_EQ(clock.End(0, At(4)).device_s, 4);
  EXPECT_FALSE(clock.IsBusy(false));
}

// It is asked for each request, under the dispatcher's lock.
TEST(DeviceClockTest, ToTellWhatRemainsAllocatesNothing) {
  DeviceClock clock(4, 1);
  for (int lane = 0; lane < 4; ++lane) clock.Start(lane, false, {0, 3}, At(lane));
  const int before = num_allocations;
  EXPECT_GT(clock.Remaining(false, At(3.5)), 0);
  EXPECT_EQ(num_allocations, before);
}

TEST(DeviceClockTest, WhatRemainsShrinksByEachBatchsShareOfTheTimeSince) {
  DeviceClock clock(2, 1);
  clock.Start(0, false, {0, 3}, At(0));
  clock.Start(1, false, {0, 8}, At(2));
  clock.Start(2, true, {0, 5}, At(2));
  // Of two seconds background work has a tenth, the two others half of the rest each.
  EXPECT_DOUBLE_EQ(clock.Remaining(false, At(4)), 3 - 2 - 0.9 + 8 - 0.9);
  EXPECT_DOUBLE_EQ(clock.Remaining(true, At(4)), 5 - 0.2);
  EXPECT_DOUBLE_EQ(clock.Remaining(false, At(1)), 3 - 2 + 8);  // read before it began
}

TEST(DeviceClockTest, BatchesThatOverlapShareTheTimeTheyOverlapIn) {
  DeviceClock clock(2, 1);
  clock.Start(0, false, {0, 0}, At(0));
  clock.Start(1, false, {0, 0}, At(2));
  EXPECT_DOUBLE_EQ(clock.End(0, At(4)).device_s, 3);  // 2 alone, half of 2
  EXPECT_DOUBLE_EQ(clock.End(1, At(5)).device_s, 2);
}

TEST(DeviceClockTest, ALaneIsFreeWhenTheFirstBatchShouldEnd) {
  DeviceClock clock(2, 1);
  EXPECT_DOUBLE_EQ(clock.UntilFree(false, At(0)), 0);
  clock.Start(0, false, {1, 2}, At(0));  // alone: 3
  EXPECT_DOUBLE_EQ(clock.UntilFree(false, At(0)), 0);
  clock.Start(1, false, {1, 2}, At(0));  // beside one other: 1 + 2 * 2
  EXPECT_DOUBLE_EQ(clock.UntilFree(false, At(1)), 2);
  EXPECT_DOUBLE_EQ(clock.UntilFree(false, At(9)), 0);
  EXPECT_DOUBLE_EQ(clock.UntilFree(true, At(1)), 0);
}

TEST(DeviceClockTest, BackgroundBatchesHaveATenthBesideOthersAndAllOfItAlone) {
  DeviceClock clock(2, 1);
  clock.Start(2, true, {0, 0}, At(0));
  clock.Start(3, true, {0, 0}, At(0));
  clock.Start(0, false, {0, 0}, At(10));
  EXPECT_DOUBLE_EQ(clock.End(0, At(20)).device_s, 9);
  EXPECT_DOUBLE_EQ(clock.End(2, At(20)).device_s, 5.5);
  EXPECT_DOUBLE_EQ(clock.End(3, At(21)).device_s, 6.5);
}

TEST(DeviceClockTest, AnEndThatWasReadBeforeWhatCountsAlreadyCountsNoTimeTwice) {
  DeviceClock clock(2, 1);
  clock.Start(0, false, {0, 0}, At(0));
  clock.Start(1, false, {0, 0}, At(4));
  EXPECT_DOUBLE_EQ(clock.End(0, At(3)).device_s, 4);
  EXPECT_DOUBLE_EQ(clock.End(1, At(5)).device_s, 1);  // five together: so long was it busy
}

TEST(DeviceClockTest, AnEndThatWasReadBeforeItsStartGivesNobodyNegativeTime) {
  DeviceClock clock(2, 1);
  clock.Start(0, false, {0, 0}, At(10));
  clock.Start(1, false, {0, 0}, At(9));
  EXPECT_DOUBLE_EQ(clock.End(0, At(9)).ran_s, 0);
  EXPECT_DOUBLE_EQ(clock.End(1, At(12)).device_s, 2);
  EXPECT_DOUBLE_EQ(clock.End(7, At(13)).device_s, 0);
}

}  // namespace
}  // namespace baseband::server
