#include "client/cpp/response_times.h"

#include <random>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/constants.h"

namespace baseband::client {
namespace {

const ResponseTimes::Kind kDecode = ResponseTimes::KindOf(12, 1'380'000, absl::Milliseconds(2));

constexpr absl::Duration kTimeout = absl::Milliseconds(2);

absl::Duration Us(int64_t value) { return absl::Microseconds(value); }

TEST(ResponseTimesTest, OneOfTwentyTakesLonger) {
  ResponseTimes times;
  EXPECT_EQ(times.Usual(kDecode, kStart), absl::ZeroDuration());
  times.Add(kDecode, Us(500), kTimeout, kStart);
  EXPECT_EQ(times.Usual(kDecode, kStart), Us(500));
  std::mt19937 random{20261};
  std::uniform_int_distribution<int64_t> draw(500, 1500);
  int longer = 0;
  constexpr int kTimes = 20'000;
  for (int i = 0; i < kTimes; ++i) {
    const absl::Duration time = Us(draw(random));
    longer += time > times.Usual(kDecode, kStart) ? 1 : 0;
    times.Add(kDecode, time, kTimeout, kStart);
  }
  EXPECT_NEAR(longer, kTimes / 20, kTimes / 100);
}

TEST(ResponseTimesTest, OneThatWasLateIsNoBeginning) {
  ResponseTimes times;
  times.Add(kDecode, Us(60'000), kTimeout, kStart);
  EXPECT_EQ(times.Usual(kDecode, kStart), absl::ZeroDuration());
}

TEST(ResponseTimesTest, WhoHasJustBegunHasEnough) {
  ResponseTimes times;
  times.Add(kDecode, Us(1500), kTimeout, kStart);
  for (int i = 0; i < 100; ++i) times.Add(kDecode, Us(60'000), kTimeout, kStart);
  EXPECT_EQ(times.Usual(kDecode, kStart), Us(1800));
}

TEST(ResponseTimesTest, OnlyRequestsThatAreAlikeTellOfEachOther) {
  ResponseTimes times;
  times.Add(kDecode, Us(700), kTimeout, kStart);
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
  times.Add(kDecode, Us(500), kTimeout, kStart);
  EXPECT_EQ(times.Usual(kDecode, kStart + 1.5 * kMemory), Us(500));
  // What is known is gone on with.
  times.Add(kDecode, Us(900), kTimeout, kStart + 1.5 * kMemory);
  EXPECT_LT(times.Usual(kDecode, kStart + 1.5 * kMemory), Us(600));
  EXPECT_GT(times.Usual(kDecode, kStart + 3 * kMemory), Us(500));
  EXPECT_EQ(times.Usual(kDecode, kStart + 9 * kMemory), absl::ZeroDuration());
}

TEST(ResponseTimesTest, ItLearnsOfNoMoreKindsThanItMay) {
  ResponseTimes times;
  const auto kind = [](size_t i) { return ResponseTimes::Kind(static_cast<int>(i), 0, 0); };
  for (size_t i = 0; i <= ResponseTimes::kMaxKinds; ++i)
    times.Add(kind(i), Us(700), kTimeout, kStart);
  EXPECT_EQ(times.Usual(kind(ResponseTimes::kMaxKinds - 1), kStart), Us(700));
  EXPECT_EQ(times.Usual(kind(ResponseTimes::kMaxKinds), kStart), absl::ZeroDuration());
}

}  // namespace
}  // namespace baseband::client
