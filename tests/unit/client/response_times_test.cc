#include "client/cpp/response_times.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace baseband::client {
namespace {

const absl::Time kStart = absl::UnixEpoch() + absl::Hours(1);
const ResponseTimes::Kind kKind = ResponseTimes::KindOf(12, 1'380'000, absl::Milliseconds(2));

absl::Duration Us(int64_t value) { return absl::Microseconds(value); }

TEST(ResponseTimesTest, TheAverageOfAKindFollowsWhatTheyTake) {
  ResponseTimes times;
  EXPECT_EQ(times.Usual(kKind, kStart), absl::ZeroDuration());
  times.Add(kKind, Us(700), kStart);
  EXPECT_EQ(times.Usual(kKind, kStart), Us(700));
  for (int i = 0; i < 100; ++i) times.Add(kKind, Us(i % 2 == 0 ? 800 : 1000), kStart);
  EXPECT_GT(times.Usual(kKind, kStart), Us(850));
  EXPECT_LT(times.Usual(kKind, kStart), Us(950));
}

TEST(ResponseTimesTest, OnlyRequestsThatAreAlikeTellOfEachOther) {
  ResponseTimes times;
  times.Add(kKind, Us(700), kStart);
  for (const auto& other : {ResponseTimes::KindOf(11, 1'380'000, absl::Milliseconds(2)),
                            ResponseTimes::KindOf(12, 690'000, absl::Milliseconds(2)),
                            ResponseTimes::KindOf(12, 1'380'000, absl::Milliseconds(4))}) {
    EXPECT_EQ(times.Usual(other, kStart), absl::ZeroDuration());
  }
  EXPECT_EQ(times.Usual(ResponseTimes::KindOf(12, 1'380'001, Us(1999)), kStart), Us(700));
}

TEST(ResponseTimesTest, WhatIsOldIsForgotten) {
  constexpr absl::Duration kMemory = ResponseTimes::kMemory;
  ResponseTimes times;
  times.Add(kKind, Us(500), kStart);
  EXPECT_EQ(times.Usual(kKind, kStart + 1.5 * kMemory), Us(500));
  times.Add(kKind, Us(900), kStart + 1.5 * kMemory);
  EXPECT_EQ(times.Usual(kKind, kStart + 1.5 * kMemory), Us(900));
  EXPECT_EQ(times.Usual(kKind, kStart + 3 * kMemory), Us(900));
  EXPECT_EQ(times.Usual(kKind, kStart + 9 * kMemory), absl::ZeroDuration());
}

TEST(ResponseTimesTest, ItLearnsOfNoMoreKindsThanItMay) {
  ResponseTimes times;
  const auto kind = [](size_t i) { return ResponseTimes::Kind(static_cast<int>(i), 0, 0); };
  for (size_t i = 0; i <= ResponseTimes::kMaxKinds; ++i) times.Add(kind(i), Us(700), kStart);
  EXPECT_EQ(times.Usual(kind(ResponseTimes::kMaxKinds - 1), kStart), Us(700));
  EXPECT_EQ(times.Usual(kind(ResponseTimes::kMaxKinds), kStart), absl::ZeroDuration());
}

}  // namespace
}  // namespace baseband::client
