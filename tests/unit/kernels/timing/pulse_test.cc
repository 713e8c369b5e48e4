// Pulses: their closed forms, the taps made of them, and refusals.
#include "kernels/timing/pulse.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/timing/math/pulse_math.h"
#include "tests/support/matchers.h"
#include "tests/support/timing_frames.h"

namespace baseband::timing {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

const std::vector<double> kRolloffs = {0.05, 0.1, 0.2, 0.25, 0.35, 0.5, 0.7, 1.0};

// g by its spectrum, in the middle of many steps.
double ByItsSpectrum(double rolloff, double t) {
  constexpr int kSteps = 20000;
  const double width = 0.5 * (1.0 + rolloff);
  double sum = 0.0;
  for (int k = 0; k < kSteps; ++k) {
    const double f = (k + 0.5) * width / kSteps;
    const double beyond = (f - 0.5) / rolloff;
    const double rc = beyond < -0.5 ? 1.0 : 0.5 - 0.5 * std::sin(kPi * beyond);
    sum += 2.0 * std::sqrt(rc) * std::cos(2.0 * kPi * f * t);
  }
  return sum * width / kSteps;
}

TEST(TimingPulseTest, ThePulseIsTheOneOfItsSpectrum) {
  for (const double rolloff : kRolloffs) {
    for (const double t : {0.0, 0.3, 0.25 / rolloff, 1.0, 2.7, 11.2}) {
      EXPECT_NEAR(RootRaisedCosine(rolloff, t), ByItsSpectrum(rolloff, t), 1e-6)
          << rolloff << " at " << t;
      const double slope =
          (RootRaisedCosine(rolloff, t + 1e-5) - RootRaisedCosine(rolloff, t - 1e-5)) / 2e-5;
      EXPECT_NEAR(RootRaisedCosineSlope(rolloff, t), slope, 1e-8) << rolloff << " at " << t;
    }
  }
}

TEST(TimingPulseTest, BandwidthAndNeighboursAreThoseOfTheRaisedCosine) {
  for (const double rolloff : kRolloffs) {
    const auto pulse = Pulse::Create({rolloff, 2, 1});
    ASSERT_THAT(pulse, IsOk());
    // RC by its own formula, away from where it is 0 / 0.
    const auto raised_cosine = [&](double t) {
      return Sinc(t) * std::cos(kPi * rolloff * t) / (1.0 - std::pow(2.0 * rolloff * t, 2));
    };
    const double h = 1e-3;
    const double bend = (2.0 * raised_cosine(0.0) - 2.0 * raised_cosine(h)) / (h * h);
    EXPECT_NEAR((*pulse)->facts().bandwidth, bend, 1e-4 * bend);
    double neighbours = 0.0;
    double reach = 0.0;
    for (int d = 1; d < 2000; ++d) {
      const double slope = (raised_cosine(d + 3e-4) - raised_cosine(d - 3e-4)) / 6e-4;
      const bool is_limit = std::fabs(2.0 * rolloff * d - 1.0) <= 1e-6;
      const double square = is_limit ? std::pow(0.25 * kPi / d, 2) : slope * slope;
      neighbours += square;
      reach += d * square * d;
    }
    EXPECT_NEAR((*pulse)->facts().neighbour_reach, reach, 1e-2 * reach);
    EXPECT_NEAR((*pulse)->facts().neighbour_share, 2.0 * neighbours / bend, 1e-3);
    EXPECT_LT((*pulse)->facts().neighbour_share, 1.0);
  }
}

TEST(TimingPulseTest, APlanKnowsWhatThePulseTakes) {
  for (const double rolloff : {0.05, 0.35, 1.0}) {
    const auto taps = testing::StraightEdgeTaps(rolloff, 4, 60);
    for (const auto& [samples, symbols] : {std::pair{2, 1}, {5, 2}, {16, 1}, {33, 16}}) {
      PulseShape shape = {rolloff, samples, symbols};
      for (const bool has_taps : {false, true}) {
        if (has_taps) shape.taps = taps;
        auto plan = PulsePlan::Create(shape);
        ASSERT_THAT(plan, IsOk());
        const int64_t least = plan->bytes();
        EXPECT_EQ(least, PulsePlan::LeastBytes(shape));
        ASSERT_THAT(plan->LayOut(), IsOk());
        const int64_t bytes = plan->bytes();
        EXPECT_LE(least, bytes);
        const auto pulse = plan->Make();
        ASSERT_THAT(pulse, IsOk());
        EXPECT_EQ((*pulse)->bytes(), bytes);
        const PulseView view = (*pulse)->view();
        EXPECT_GE(bytes, int64_t{view.rows} * view.row_taps * int64_t{sizeof(Tap)});
      }
    }
  }
}

// What is promised of the filter's length: what a pulse leaves in other symbols, at any place
// between the samples.
TEST(TimingPulseTest, SymbolsInterfereByLessThanSixtyDecibels) {
  for (const double rolloff : kRolloffs) {
    for (const auto& [samples, symbols] : {std::pair{2, 1}, {5, 2}, {4, 1}, {16, 1}, {33, 16}}) {
      const auto pulse = Pulse::Create({rolloff, samples, symbols});
      ASSERT_THAT(pulse, IsOk());
      const PulseView view = (*pulse)->view();
      const double spacing = 1.0 / (*pulse)->shape().samples_per_symbol();
      for (const int row : {0, view.rows / 3, view.rows - 1}) {
        const Tap* const taps = view.taps_of + static_cast<int64_t>(row) * view.row_taps;
        double own = 0.0;
        double others = 0.0;
        for (int d = -3 * (*pulse)->span() - 20; d <= 3 * (*pulse)->span() + 20; ++d) {
          double sum = 0.0;
          for (int j = 0; j < view.taps; ++j) {
            const double t = (j - view.before - static_cast<double>(row) / view.rows) * spacing;
            sum += double{taps[j].value} * RootRaisedCosine(rolloff, t - d);
          }
          if (d == 0) own = sum * sum;
          if (d != 0) others += sum * sum;
        }
        EXPECT_NEAR(own, 1.0, 2e-3);
        EXPECT_LT(10.0 * std::log10(others / own), -60.0)
            << rolloff << ", " << samples << " / " << symbols << " row " << row;
      }
    }
  }
}

TEST(TimingPulseTest, ARateIsReducedAndShapesDifferInTheirLastBit) {
  const auto pulse = Pulse::Create({0.2, 10, 4});
  ASSERT_THAT(pulse, IsOk());
  EXPECT_EQ((*pulse)->shape(), (PulseShape{0.2, 5, 2}));
  const PulseShape next = {std::nextafter(0.2, 1.0), 5, 2};
  EXPECT_NE((*pulse)->shape().Key(), next.Key());
  EXPECT_FALSE((*pulse)->shape() == next);
  EXPECT_EQ((*pulse)->shape().Key(), (PulseShape{0.2, 10, 4}.Reduced().Key()));
  EXPECT_NE((*Pulse::Create(next))->id(), (*pulse)->id());
}

TEST(TimingPulseTest, WhatIsOutOfRangeIsNamed) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(CheckPulse({0.04, 2, 1}),
              StatusIs(kInvalid, HasSubstr("roll_off 0.04 is not in [0.05, 1]")));
  EXPECT_THAT(CheckPulse({1.5, 2, 1}), StatusIs(kInvalid, HasSubstr("roll_off 1.5")));
  EXPECT_THAT(CheckPulse({std::numeric_limits<double>::quiet_NaN(), 2, 1}),
              StatusIs(kInvalid, HasSubstr("roll_off nan")));
  EXPECT_THAT(CheckPulse({0.2, 19, 10}),
              StatusIs(kInvalid, HasSubstr("samples_per_symbol 19/10 is not in [2, 16]")));
  EXPECT_THAT(CheckPulse({0.2, 17, 1}), StatusIs(kInvalid, HasSubstr("17/1")));
  EXPECT_THAT(CheckPulse({0.2, 0, 0}), StatusIs(kInvalid, HasSubstr("0/0")));
  EXPECT_THAT(CheckPulse({0.2, 2, -1}), StatusIs(kInvalid, HasSubstr("2/-1")));
  EXPECT_THAT(CheckPulse({0.2, 1 << 30, 1}), StatusIs(kInvalid, HasSubstr("1073741824")));
  EXPECT_THAT(CheckPulse({0.2, 5001, 2000}),
              StatusIs(kInvalid, HasSubstr("none may be more than 4096")));
  EXPECT_THAT(CheckPulse({0.2, 8192, 4096}), IsOk());
}

TEST(TimingPulseTest, MakingOneEndsWhenItIsTold) {
  int asked = 0;
  const auto pulse = Pulse::Create({0.05, 16, 1}, [&] {
    ++asked;
    return asked < 3 ? absl::OkStatus() : absl::CancelledError("enough");
  });
  EXPECT_THAT(pulse.status(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("enough")));
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace baseband::timing
