// Pulses that come as taps: the filters made of them, and refusals.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/timing/math/pulse_math.h"
#include "kernels/timing/pulse.h"
#include "kernels/timing/reference/reference.h"
#include "tests/support/matchers.h"
#include "tests/support/timing_frames.h"

namespace baseband::timing {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::baseband::testing::StraightEdgeTaps;
using ::baseband::testing::TapsOf;
using ::baseband::testing::WindowedTaps;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

using TapsPtr = std::shared_ptr<const PulseTaps>;

TapsPtr RootRaisedCosineTaps(double rolloff, int per_symbol, int reach) {
  return TapsOf([&](double t) { return RootRaisedCosine(rolloff, t); }, per_symbol, reach);
}

TapsPtr With(const PulseTaps& taps, size_t place, float value) {
  PulseTaps changed = taps;
  changed.values[place] = value;
  return std::make_shared<const PulseTaps>(changed);
}

double TimeOf(const PulseView& view, const PulseShape& shape, int row, int j) {
  return (j - view.before - static_cast<double>(row) / view.rows) / shape.samples_per_symbol();
}

const Tap& TapOf(const PulseView& view, int row, int j) {
  return view.taps_of[static_cast<int64_t>(row) * view.row_taps + j];
}

TEST(TimingPulseTapsTest, TheFiltersAreThePulseOfItsDefinitionAndItsSlope) {
  for (const TapsPtr& taps :
       {WindowedTaps(0.2, 4, 6), WindowedTaps(0.2, 2, 9), WindowedTaps(0.1, 3, 12),
        StraightEdgeTaps(0.3, 5, 12), WindowedTaps(0.2, 16, 8)}) {
    for (const auto& [samples, symbols] : {std::pair{2, 1}, {7, 3}, {16, 1}, {4093, 1024}}) {
      SCOPED_TRACE(std::to_string(taps->per_symbol) + " taps, " + std::to_string(samples));
      const PulseShape shape = {0.35, samples, symbols, taps};
      const auto pulse = Pulse::Create(shape);
      ASSERT_THAT(pulse, IsOk());
      const PulseView view = (*pulse)->view();
      const double rate = shape.samples_per_symbol();
      EXPECT_EQ(view.before, static_cast<int>((*pulse)->span() * rate));
      const ReferencePulse reference(shape);
      for (const int row : {0, 1, view.rows / 3, view.rows - 1}) {
        for (int j = row % 3; j < view.taps; j += 5) {
          const double t = TimeOf(view, shape, row, j);
          // What comes round after the period of a pulse whose taps end, and float32.
          EXPECT_NEAR(rate * TapOf(view, row, j).value, reference.At(t), 1e-4) << t;
          const double slope = (reference.At(t + 1e-4) - reference.At(t - 1e-4)) / 2e-4;
          EXPECT_NEAR(-rate * TapOf(view, row, j).slope, slope, 4e-4) << t;
        }
      }
    }
  }
}

// Of long taps that are the root-raised-cosine pulse all is as if its roll-off alone were told.
TEST(TimingPulseTapsTest, ARootRaisedCosinePulseByItsTapsIsTheOneOfTheRolloff) {
  for (const double rolloff : {0.05, 0.2, 0.35, 0.5, 1.0}) {
    const int reach = std::min(kMaxTapsReach, static_cast<int>(6.0 / rolloff) + 10);
    for (const int per_symbol : {2, 3, 4, 16}) {
      SCOPED_TRACE(std::to_string(rolloff) + ", " + std::to_string(per_symbol));
      const TapsPtr taps = RootRaisedCosineTaps(rolloff, per_symbol, reach);
      const auto pulse = Pulse::Create({rolloff, 5, 2, taps});
      ASSERT_THAT(pulse, IsOk());
      const auto closed = Pulse::Create({rolloff, 5, 2, nullptr});
      EXPECT_NEAR((*pulse)->facts().bandwidth, (*closed)->facts().bandwidth,
                  2e-3 * (*closed)->facts().bandwidth);
      const PulseFacts& facts = (*pulse)->facts();
      const PulseFacts& of_rolloff = (*closed)->facts();
      EXPECT_EQ(facts.rolloff, of_rolloff.rolloff);
      EXPECT_NEAR(facts.neighbour_share, of_rolloff.neighbour_share, 3e-3);
      EXPECT_NEAR(facts.neighbour_reach, of_rolloff.neighbour_reach,
                  0.1 * of_rolloff.neighbour_reach);
      EXPECT_NEAR(facts.line_strength, of_rolloff.line_strength, 0.02);
      EXPECT_LE((*pulse)->span(), reach + 4);
      const PulseView view = (*pulse)->view();
      const PulseView other = (*closed)->view();
      ASSERT_EQ(view.rows, other.rows);
      for (int row = 0; row < view.rows; row += 7) {
        for (int j = 0; j < view.taps; ++j) {
          const int at = j - view.before + other.before;
          if (at < 0 || at >= other.taps) continue;
          EXPECT_NEAR(TapOf(view, row, j).value, TapOf(other, row, at).value, 4e-4);
        }
      }
    }
  }
}

// Beside what the pulse brings along: by the definition, over all symbols within reach.
TEST(TimingPulseTapsTest, TheFiltersLengthAddsLessThanSixtyDecibels) {
  for (const TapsPtr& taps :
       {WindowedTaps(0.2, 4, 8), StraightEdgeTaps(0.35, 4, 20), RootRaisedCosineTaps(0.2, 2, 40)}) {
    for (const int rate : {2, 4}) {
      const PulseShape shape = {0.35, rate, 1, taps};
      const auto pulse = Pulse::Create(shape);
      ASSERT_THAT(pulse, IsOk());
      EXPECT_LE((*pulse)->span(), 24);
      const PulseView view = (*pulse)->view();
      const ReferencePulse reference(shape);
      for (const int row : {0, view.rows / 3, view.rows - 1}) {
        constexpr int kBeyond = 200;
        std::vector<double> values;  // of samples from -kBeyond on
        for (int j = -kBeyond; j < view.taps + kBeyond; ++j) {
          values.push_back(reference.At(TimeOf(view, shape, row, j)));
        }
        double added = 0.0;
        for (int d = -20; d <= 20; ++d) {
          double lacking = 0.0;
          for (int j = -100; j < view.taps + 100; ++j) {
            if (j >= 0 && j < view.taps) continue;
            lacking += values[static_cast<size_t>(j + kBeyond)] *
                       values[static_cast<size_t>(j + kBeyond - d * rate)] / rate;
          }
          if (d != 0) added += lacking * lacking;
        }
        EXPECT_LT(10.0 * std::log10(added), -60.0) << rate << " row " << row;
      }
    }
  }
}

TEST(TimingPulseTapsTest, TheScaleOfTheTapsAndALittleAsymmetryChangeNothing) {
  const TapsPtr taps = WindowedTaps(0.3, 4, 6);
  const auto pulse = Pulse::Create({0.4, 2, 1, taps});
  ASSERT_THAT(pulse, IsOk());
  for (const float scale : {1e-44F, 3.0F, 1e37F}) {
    PulseTaps scaled = *taps;
    for (float& value : scaled.values) value *= scale;
    if (scale > 1.0F) scaled.values[5] += 5e-4F * scaled.values[scaled.values.size() / 2];
    const auto other = Pulse::Create({0.4, 2, 1, std::make_shared<const PulseTaps>(scaled)});
    ASSERT_THAT(other, IsOk());
    // The least number that there is rounds a tap by an eighth of its largest one.
    const double tolerance = scale < 1.0F ? 0.1 : 1e-3;
    EXPECT_NEAR((*other)->facts().bandwidth, (*pulse)->facts().bandwidth, 5.0 * tolerance);
    EXPECT_NEAR((*other)->view().taps_of[(*other)->view().before].value,
                (*pulse)->view().taps_of[(*pulse)->view().before].value, tolerance);
  }
}

TEST(TimingPulseTapsTest, ShapesAreEqualByTheirTaps) {
  const TapsPtr taps = WindowedTaps(0.3, 4, 6);
  const PulseShape shape = {0.4, 2, 1, taps};
  const PulseShape copied = {0.4, 2, 1, std::make_shared<const PulseTaps>(*taps)};
  EXPECT_EQ(shape, copied);
  EXPECT_EQ(shape.Key(), copied.Key());
  EXPECT_EQ((PulseShape{0.4, 4, 2, taps}.Reduced()), shape);
  for (const PulseShape& other :
       {PulseShape{0.4, 2, 1}, PulseShape{0.4, 2, 1, WindowedTaps(0.3, 2, 12)},
        PulseShape{0.4, 2, 1, With(*taps, 3, std::nextafter(taps->values[3], 1.0F))}}) {
    EXPECT_FALSE(shape == other);
  }
  const auto pulse = Pulse::Create(shape);
  ASSERT_THAT(pulse, IsOk());
  EXPECT_EQ((*pulse)->shape(), shape);
  EXPECT_GT((*pulse)->bytes(), static_cast<int64_t>(taps->values.size() * sizeof(float)));
}

TEST(TimingPulseTapsTest, TapsThatAreNoPulseAreNamed) {
  const auto check = [](const PulseTaps& taps) {
    return CheckPulse({0.3, 2, 1, std::make_shared<const PulseTaps>(taps)});
  };
  const PulseTaps good = *WindowedTaps(0.3, 4, 6);
  EXPECT_THAT(check(good), IsOk());
  for (const int per_symbol : {std::numeric_limits<int>::min(), 0, 1, 17}) {
    PulseTaps taps = good;
    taps.per_symbol = per_symbol;
    EXPECT_THAT(check(taps),
                StatusIs(kInvalid, HasSubstr("taps_per_symbol " + std::to_string(per_symbol) +
                                             " is not in [2, 16]")));
  }
  for (const size_t count : {size_t{0}, size_t{1}, size_t{48}, size_t{515}}) {
    PulseTaps taps = good;
    taps.values.resize(count, 0.1F);
    EXPECT_THAT(check(taps),
                StatusIs(kInvalid, AllOf(HasSubstr("taps are " + std::to_string(count)),
                                         HasSubstr("not an odd number in [3, 513]"))));
  }
  for (const float value : {NAN, INFINITY, -INFINITY}) {
    EXPECT_THAT(check(*With(good, 7, value)), StatusIs(kInvalid, HasSubstr("taps[7] ")));
  }
  EXPECT_THAT(check({4, std::vector<float>(25)}), StatusIs(kInvalid, HasSubstr("taps are all 0")));
  EXPECT_THAT(check(*With(good, 20, 0.9F * good.values[20])),
              StatusIs(kInvalid, HasSubstr("not symmetric: taps[20]")));
  const float most = std::numeric_limits<float>::max();
  EXPECT_THAT(check({4, {-most, 0.0F, most}}), StatusIs(kInvalid, HasSubstr("not symmetric")));
  EXPECT_THAT(CheckPulse({0.01, 2, 1, WindowedTaps(0.3, 4, 6)}),
              StatusIs(kInvalid, HasSubstr("roll_off")));
}

TEST(TimingPulseTapsTest, PulsesOfWhichNoTimingCouldBeFoundAreRefused) {
  const auto create = [](double rolloff, const TapsPtr& taps) {
    return Pulse::Create({rolloff, 4, 1, taps}).status();
  };
  // Of another roll-off than was told, and one that goes beyond any.
  EXPECT_THAT(create(0.1, RootRaisedCosineTaps(0.5, 4, 12)),
              StatusIs(kInvalid, AllOf(HasSubstr("of their energy beyond the band of roll_off 0.1"),
                                       HasSubstr("0.55 cycles per symbol: not in [0, 0.01]"))));
  EXPECT_THAT(create(1.0, std::make_shared<PulseTaps>(PulseTaps{4, {0, 1, 1, 1, 1, 1, 0}})),
              StatusIs(kInvalid, HasSubstr("beyond the band")));
  // Symbols of a pulse two of them long.
  EXPECT_THAT(
      create(1.0, TapsOf([](double t) { return std::pow(std::cos(0.5 * kPi * t), 2); }, 4, 1)),
      StatusIs(kInvalid, AllOf(HasSubstr("interfere with each other by 0.05"),
                               HasSubstr("not in [0, 0.01]"))));
  // Hardly anything beyond half the symbol rate, and far less than was told.
  EXPECT_THAT(create(0.2, TapsOf(Sinc, 4, 20)),
              StatusIs(kInvalid, AllOf(HasSubstr("line at the symbol rate"),
                                       HasSubstr("not in [0.25, inf)"))));
  EXPECT_THAT(create(0.7, RootRaisedCosineTaps(0.1, 4, 40)),
              StatusIs(kInvalid, HasSubstr("line at the symbol rate")));
  EXPECT_THAT(create(0.2, RootRaisedCosineTaps(0.1, 4, 40)), IsOk());
}

TEST(TimingPulseTapsTest, MakingOneEndsWhenItIsTold) {
  const PulseShape shape = {0.05, 16, 1, RootRaisedCosineTaps(0.05, 16, kMaxTapsReach)};
  int all = 0;
  ASSERT_THAT(Pulse::Create(shape,
                            [&] {
                              ++all;
                              return absl::OkStatus();
                            }),
              IsOk());
  for (const int last : {1, 3, all / 2, all}) {
    int asked = 0;
    const auto pulse = Pulse::Create(shape, [&] {
      ++asked;
      return asked < last ? absl::OkStatus() : absl::CancelledError("enough");
    });
    EXPECT_THAT(pulse.status(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("enough")));
    EXPECT_EQ(asked, last);
  }
}

}  // namespace
}  // namespace baseband::timing
