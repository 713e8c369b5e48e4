// The oscillator's frequencies and phases against rational arithmetic, sines in long double.
#include "kernels/downconvert/nco.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/downconvert/nco_math.h"
#include "kernels/downconvert/reference.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/kernels/downconvert/exact_phase.h"

namespace baseband::downconvert {
namespace {

using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

constexpr int64_t kIndices[] = {0,
                                1,
                                65535,
                                65536,
                                1000000007,
                                (int64_t{1} << 53) + 1,
                                1000000000000037,
                                (int64_t{1} << 61) + 12345,
                                kMaxSampleIndex - 65537,
                                kMaxSampleIndex - 3,
                                kMaxSampleIndex - 1};

// |PhasorOf(word) - exp(j 2 pi turns)|.
double PhasorError(uint64_t word, long double turns) {
  const Phasor phasor = PhasorOf(word);
  return static_cast<double>(
      std::hypot(phasor.i - std::cos(kTurn * turns), phasor.q - std::sin(kTurn * turns)));
}

class RatioTest : public ::testing::TestWithParam<Ratio> {};

// The word is off by 2^-65 turns at the anchor and by 2^-65 more a sample since; sine and cosine
// add 1e-7 of their own: the limit is 1.5e-7 rad.
TEST_P(RatioTest, PhaseIsThatOfExactArithmeticAtAnyIndex) {
  const auto [num, den] = GetParam();
  const PhaseTrack track = Track(Fraction(num, den));
  for (const int64_t n : kIndices) {
    const long double exact = ExactTurns(num, den, n);
    EXPECT_LE(Apart(TurnsOf(track.Word(n)), exact), std::ldexp(1.0L, -49)) << n;
    EXPECT_LE(PhasorError(track.Word(n), exact), 1.0e-7) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Awkward, RatioTest,
    ::testing::Values(Ratio{9123457, 64000000}, Ratio{-9123457, 64000000},
                      Ratio{249000123, 1024000000}, Ratio{1, 3}, Ratio{-999999937, 999999938},
                      Ratio{4611686018427387847, (uint64_t{1} << 63) - 25},
                      Ratio{std::numeric_limits<int64_t>::max(), uint64_t{1} << 63},
                      Ratio{299792458, 1000000007}),
    [](const auto& test) {
      return (test.param.num < 0 ? "Minus" : "") + std::to_string(std::abs(test.param.num)) +
             "Over" + std::to_string(test.param.den);
    });

// At whole turns any frequency is right: 10^15, for one, would prove nothing.
TEST(FrequencyTest, TheIndicesTriedAreNoWholeTurns) {
  EXPECT_EQ(ExactTurns(9123457, 64000000, 1000000000000000), 0.0L);
  for (const int64_t n : kIndices) {
    if (n > 0) {
      EXPECT_GE(Apart(ExactTurns(9123457, 64000000, n), 0.0L), 1e-3L) << n;
    }
  }
}

TEST(FrequencyTest, FractionIsReducedAndKeepsItsSign) {
  const Frequency frequency = Fraction(-18, 128);
  EXPECT_EQ(frequency.num(), -9);
  EXPECT_EQ(frequency.den(), 64U);
  EXPECT_EQ(frequency.cycles_per_sample(), -9.0 / 64);
  EXPECT_EQ(frequency.word(), uint64_t{0} - (uint64_t{9} << 58));
  const Frequency least = Fraction(std::numeric_limits<int64_t>::min(), uint64_t{1} << 63);
  EXPECT_EQ(least.num(), -1);
  EXPECT_EQ(least.den(), 1U);
}

TEST(FrequencyTest, DoublesKeepTheirExactQuotient) {
  const Frequency whole = Frequency::FromRatio(9123457.0, 64e6).value();
  EXPECT_EQ(whole.num(), 9123457);
  EXPECT_EQ(whole.den(), 64000000U);
  const Frequency quarter = Frequency::FromRatio(-1000000.25, 61440000.0).value();
  EXPECT_EQ(quarter.num(), -4000001);
  EXPECT_EQ(quarter.den(), 245760000U);
  EXPECT_EQ(Frequency::FromRatio(48000.0, 48000.0).value().num(), 1);
  EXPECT_EQ(Frequency::FromRatio(-48000.0, 48000.0).value().num(), -1);
  EXPECT_EQ(Frequency::FromRatio(0.0, 48000.0).value().num(), 0);
}

TEST(FrequencyTest, OtherwiseTheNearestMultipleOfTwoToMinus63IsTaken) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 2000; ++i) {
    std::uniform_real_distribution<double> spread(-80.0, 0.0);
    const double rate = std::exp2(spread(random) / 4) * 1e9;
    const double frequency = rate * std::exp2(spread(random)) * (i % 2 == 0 ? 1.0 : -1.0);
    const Frequency nearest = Frequency::FromRatio(frequency, rate).value();
    const long double wanted = static_cast<long double>(frequency) / rate;
    const long double got =
        static_cast<long double>(nearest.num()) / static_cast<long double>(nearest.den());
    EXPECT_LE(std::abs(got - wanted), std::ldexp(1.0L, -64) + std::abs(wanted) * 1.1e-19L);
  }
  EXPECT_EQ(Frequency::FromRatio(1e-300, 1e300).value().num(), 0);
  EXPECT_EQ(Frequency::FromRatio(5e-324, 1.0).value().num(), 0);
  EXPECT_EQ(Frequency::FromRatio(std::nextafter(1.0, 0.0), 1.0).value().num(), (1LL << 53) - 1);
}

TEST(FrequencyTest, WhatCannotBeIsRefusedByName) {
  const auto invalid = [](const char* what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  EXPECT_THAT(Frequency::FromFraction(1, 0), invalid("den 0 is not in [1, 2^63]"));
  EXPECT_THAT(Frequency::FromFraction(1, (uint64_t{1} << 63) + 1),
              invalid("den 9223372036854775809"));
  EXPECT_THAT(Frequency::FromFraction(-65, 64), invalid("num -65 is not in [-64, 64]"));
  EXPECT_THAT(Frequency::FromRatio(1.0, 0.0), invalid("sample rate 0"));
  EXPECT_THAT(Frequency::FromRatio(1.0, -1.0), invalid("sample rate -1"));
  EXPECT_THAT(Frequency::FromRatio(1.0, std::nan("")), invalid("sample rate nan"));
  EXPECT_THAT(Frequency::FromRatio(2.0, 1.0), invalid("frequency 2 is not in [-1, 1]"));
  EXPECT_THAT(Frequency::FromRatio(std::nan(""), 1.0), invalid("frequency nan"));
}

// 604800 s at 64 MHz: the phase is right to 1.1e-14 rad at the end of every second, so that the
// frequency is off by less than one part in 10^28.
TEST(PhaseTrackTest, AWeekOfStreamKeepsTheFrequency) {
  const Frequency frequency = Fraction(9123457, 64000000);
  const PhaseTrack track = Track(frequency);
  long double largest = 0.0L;
  for (int64_t second = 0; second <= 7 * 24 * 3600; ++second) {
    const int64_t n = second * 64000000 + second % 64007;
    const auto exact = static_cast<long double>(
        static_cast<int64_t>(static_cast<__int128>(9123457) * n % 64000000));
    largest = std::max(largest, Apart(TurnsOf(track.Word(n)), exact / 64000000));
  }
  EXPECT_LE(largest * kTurn, 1.2e-14L);
}

TEST(PhaseTrackTest, AnchorsOfAnyPieceGiveTheSamePhases) {
  std::mt19937_64 random(7);
  const std::vector<Retune> retunes = {
      {1000, Fraction(-1, 7), RetuneMode::kContinuous},
      {65536, Fraction(3, 1001), RetuneMode::kCoherent},
      {65537, Fraction(9123457, 64000000), RetuneMode::kContinuous},
      {200000, Fraction(1, 3), RetuneMode::kCoherent}};
  const PhaseTrack track = Track(Fraction(9123457, 64000000), 1.25, retunes);
  for (int i = 0; i < 300; ++i) {
    const auto begin = static_cast<int64_t>(random() % 300000);
    const int64_t end = begin + 1 + static_cast<int64_t>(random() % 200000);
    std::vector<PhaseAnchor> anchors;
    AppendAnchors(track, begin, end, &anchors);
    ASSERT_EQ(anchors.front().index, begin);
    for (size_t a = 0; a < anchors.size(); ++a) {
      const int64_t last = (a + 1 < anchors.size() ? anchors[a + 1].index : end) - 1;
      ASSERT_GE(last, anchors[a].index);
      for (const int64_t n : {anchors[a].index, (anchors[a].index + last) / 2, last}) {
        const auto since = static_cast<uint64_t>(n - anchors[a].index);
        ASSERT_EQ(anchors[a].word + since * anchors[a].step, track.Word(n)) << n;
      }
    }
  }
}

TEST(PhaseTrackTest, InitialPhaseIsThatOfSampleZero) {
  for (const double phase : {0.0, 1.25, -3.0, 100.0, -1e6}) {
    const long double turns = std::remainder(static_cast<long double>(phase), kTurn) / kTurn;
    EXPECT_LE(Apart(TurnsOf(Track(Fraction(1, 5), phase).Word(0)), turns), 1e-18L) << phase;
  }
}

TEST(PhaseTrackTest, AContinuousRetuneDoesNotJumpACoherentOneComesBackInPhase) {
  const Frequency first = Fraction(9123457, 64000000);
  const Frequency second = Fraction(-1234567, 9999991);
  const int64_t there = 1000000007;
  const int64_t back = there + 777777;
  ReferenceOscillator reference;
  reference.frequency = first;
  reference.initial_phase = 0.5;
  for (const RetuneMode mode : {RetuneMode::kContinuous, RetuneMode::kCoherent}) {
    reference.retunes = {{there, second, mode}, {back, first, mode}};
    const PhaseTrack track = Track(first, 0.5, reference.retunes);
    for (const int64_t n : {there - 1, there, there + 65536, back - 1, back, back + 1000000}) {
      EXPECT_LE(Apart(TurnsOf(track.Word(n)), reference.PhaseTurns(n)), std::ldexp(1.0L, -48)) << n;
    }
    // One step of the old frequency leads to the first sample of the new one.
    const long double step = TurnsOf(track.Word(there)) - TurnsOf(track.Word(there - 1));
    const long double jump = Apart(step, TurnsOf(first.word()));
    // As if never away, to the bit, from the next anchor on.
    const bool is_back = track.Word(back + 65536) == Track(first, 0.5).Word(back + 65536);
    if (mode == RetuneMode::kContinuous) {
      EXPECT_LE(jump, std::ldexp(1.0L, -48));
      EXPECT_FALSE(is_back);
    } else {
      EXPECT_GE(jump, 0.01L);
      EXPECT_TRUE(is_back);
    }
  }
}

TEST(PhaseTrackTest, RetunesLearntOnTheWayAreThoseOfOneTrack) {
  const std::vector<Retune> retunes = {{100, Fraction(1, 7), RetuneMode::kContinuous},
                                       {70000, Fraction(2, 9), RetuneMode::kCoherent},
                                       {150000, Fraction(-1, 3), RetuneMode::kContinuous}};
  const PhaseTrack whole = Track(Fraction(1, 5), 1.0, retunes);
  PhaseTrack grown = Track(Fraction(1, 5), 1.0);
  for (const Retune& retune : retunes) {
    grown = grown.Retuned({retune}, retune.index - 10).value();
    EXPECT_EQ(grown.segments().size(), 2U);
    for (const int64_t n : {retune.index - 10, retune.index - 1, retune.index}) {
      EXPECT_EQ(grown.Word(n), whole.Word(n)) << n;
    }
  }
  EXPECT_EQ(grown.Word(1000000), whole.Word(1000000));
}

TEST(PhaseTrackTest, RetunesOutOfOrderAreRefusedByName) {
  const Frequency f = Fraction(1, 5);
  const auto create = [&](const std::vector<Retune>& retunes) {
    return PhaseTrack::Create(f, 0.0, retunes).status();
  };
  const auto invalid = [](const char* what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  EXPECT_THAT(create({{0, f}}), invalid("retune 0 at sample 0 is not in (0, 2^62)"));
  EXPECT_THAT(create({{9, f}, {9, f}}), invalid("retune 1 at sample 9 is not in (9, 2^62)"));
  EXPECT_THAT(create({{9, f}, {-8, f}}), invalid("retune 1 at sample -8"));
  EXPECT_THAT(create({{kMaxSampleIndex, f}}), invalid("retune 0 at sample 4611686018427387904"));
  EXPECT_THAT(PhaseTrack::Create(f, std::numeric_limits<double>::infinity(), {}),
              invalid("phase inf is not finite"));
}

}  // namespace
}  // namespace baseband::downconvert
