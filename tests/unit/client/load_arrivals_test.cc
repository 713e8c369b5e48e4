#include <algorithm>
#include <cmath>
#include <vector>

#include "client/load/arrivals.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::load {
namespace {

using testing::IsOk;
using testing::StatusIs;

Pace Of(Pace::Kind kind, double rate) {
  Pace pace;
  pace.kind = kind;
  pace.rate = rate;
  return pace;
}

Pace Slots(int cells) {
  Pace pace;
  pace.kind = Pace::Kind::kSlots;
  pace.cells = cells;
  pace.slot = absl::Microseconds(500);
  pace.jitter = absl::Microseconds(20);
  return pace;
}

// All that is due before `end`, of all parts, in order.
std::vector<absl::Duration> Due(const Pace& pace, int parts, absl::Duration end,
                                uint64_t seed = 1) {
  std::vector<absl::Duration> due;
  for (int part = 0; part < parts; ++part) {
    Arrivals arrivals(pace, part, parts, seed);
    absl::Duration last;
    for (absl::Duration at = arrivals.Next(); at < end; at = arrivals.Next()) {
      EXPECT_GE(at, last);
      last = at;
      due.push_back(at);
    }
  }
  std::sort(due.begin(), due.end());
  return due;
}

TEST(LoadArrivalsTest, ConstantCallsAreEvenlySpacedHoweverManyThreadsSendThem) {
  for (const int parts : {1, 3}) {
    const auto due = Due(Of(Pace::Kind::kConstant, 1000), parts, absl::Seconds(1));
    ASSERT_EQ(due.size(), 1000);
    for (size_t i = 0; i < due.size(); ++i) {
      // A duration counts in quarters of a nanosecond.
      EXPECT_LE(absl::AbsDuration(due[i] - absl::Milliseconds(static_cast<double>(i))),
                absl::Nanoseconds(0.25));
    }
  }
}

TEST(LoadArrivalsTest, PoissonCallsHaveTheirRateAndExponentialGaps) {
  for (const int parts : {1, 4}) {
    const auto due = Due(Of(Pace::Kind::kPoisson, 1000), parts, absl::Seconds(100));
    const double count = static_cast<double>(due.size());
    // Counts of a Poisson process: the mean is the variance; five deviations.
    EXPECT_NEAR(count, 1e5, 5 * std::sqrt(1e5));
    double above_mean = 0;
    for (size_t i = 1; i < due.size(); ++i) {
      above_mean += due[i] - due[i - 1] > absl::Milliseconds(1) ? 1 : 0;
    }
    // A gap is above its mean with probability 1/e; binomial, five deviations.
    const double p = std::exp(-1.0);
    EXPECT_NEAR(above_mean / count, p, 5 * std::sqrt(p * (1 - p) / count));
  }
}

TEST(LoadArrivalsTest, EachCellCallsOnceInEverySlotWithinTheJitter) {
  for (const int parts : {1, 3}) {
    const auto due = Due(Slots(8), parts, absl::Milliseconds(50));
    ASSERT_EQ(due.size(), 8 * 100);
    for (size_t i = 0; i < due.size(); ++i) {
      const absl::Duration late = due[i] - static_cast<int64_t>(i / 8) * absl::Microseconds(500);
      EXPECT_GE(late, absl::ZeroDuration());
      EXPECT_LE(late, absl::Microseconds(20));
    }
  }
}

TEST(LoadArrivalsTest, TheSeedAloneDecides) {
  const Pace pace = Of(Pace::Kind::kPoisson, 1000);
  EXPECT_EQ(Due(pace, 2, absl::Seconds(1), 5), Due(pace, 2, absl::Seconds(1), 5));
  EXPECT_NE(Due(pace, 2, absl::Seconds(1), 5), Due(pace, 2, absl::Seconds(1), 6));
}

TEST(LoadArrivalsTest, AWrongPaceIsRefusedByFieldValueAndRange) {
  const auto refusal = [](const Pace& pace, const std::string& message) {
    EXPECT_THAT(pace.Check(), StatusIs(absl::StatusCode::kInvalidArgument, message));
  };
  refusal(Of(Pace::Kind::kPoisson, 0), "rate 0 is not in (0, 1e+07]");
  refusal(Of(Pace::Kind::kConstant, 2e7), "rate 2e+07 is not in (0, 1e+07]");
  refusal(Slots(0), "cells 0 is not in [1, 4096]");
  Pace late = Slots(1);
  late.jitter = absl::Milliseconds(1);
  refusal(late, "jitter 1ms is not in [0, 500us], the slot");
  Pace closed;
  closed.in_flight = 0;
  refusal(closed, "in_flight 0 is not in [1, 65536]");
  EXPECT_THAT(Slots(4096).Check(), IsOk());
  EXPECT_EQ(Slots(4).offered(), 8000);
}

}  // namespace
}  // namespace baseband::load
