#include "server/batching/device_clock.h"

#include "gtest/gtest.h"

namespace baseband::server {
namespace {

const absl::Time kStart = absl::UnixEpoch() + absl::Hours(1);
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

TEST(DeviceClockTest, AHostWhoseClockIsSetBackGivesNobodyNegativeTime) {
  DeviceClock clock(2, 1);
  clock.Start(0, false, {0, 0}, At(10));
  clock.Start(1, false, {0, 0}, At(0));
  EXPECT_DOUBLE_EQ(clock.End(0, At(0)).device_s, 0);
  EXPECT_DOUBLE_EQ(clock.End(1, At(2)).device_s, 2);
  EXPECT_DOUBLE_EQ(clock.End(7, At(3)).device_s, 0);
}

}  // namespace
}  // namespace baseband::server
