// Refinement of frequencies, chirps and delays: as near as noise allows, or told that it is not.
#include <cmath>
#include <complex>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/minimize/matched.h"
#include "kernels/minimize/search.h"
#include "kernels/minimize/sinusoids.h"
#include "tests/support/matchers.h"
#include "tests/support/minimize_matched.h"
#include "tests/support/minimize_search.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::Acquisition;
using ::baseband::testing::kPaperFrequency;
using ::baseband::testing::MakeGrid;

class RefinedSignalTest : public ::testing::TestWithParam<Refinement> {
 protected:
  static bool Descends() {
    return GetParam() == Refinement::kBrent || GetParam() == Refinement::kNewton;
  }
  static Answer Refined(const FunctionalPtr& functional, const std::vector<Axis>& axes) {
    Settings settings;
    settings.functional = functional;
    settings.grid = MakeGrid(axes);
    settings.refinement = GetParam();
    return testing::SearchOnCpu(testing::MakeProblem(settings));
  }
};
INSTANTIATE_TEST_SUITE_P(All, RefinedSignalTest,
                         ::testing::Values(Refinement::kZoom, Refinement::kParabola,
                                           Refinement::kBrent, Refinement::kNewton));

// The grids of the paper's table and coarser ones; no point of theirs is the interferer's.
TEST_P(RefinedSignalTest, ThePapersInterfererIsFoundOffTheGridsPoints) {
  const auto functional = MakeSinusoids(testing::PaperObservation());
  ASSERT_TRUE(functional.ok()) << functional.status();
  for (const double step : {100.0, 10.0, 1.0, 0.17}) {
    const Answer answer =
        Refined(*functional, {{460000.0, step, static_cast<int64_t>(15000.0 / step) + 1}});
    EXPECT_NE(answer.grid_point[0], kPaperFrequency);
    EXPECT_THAT(answer.coarse_axes, IsEmpty());
    const double wrong = std::abs(answer.point[0] - kPaperFrequency);
    EXPECT_LE(wrong, answer.point_error[0]) << step;
    EXPECT_LT(wrong, std::abs(answer.grid_point[0] - kPaperFrequency)) << step;
    if (Descends()) {
      EXPECT_EQ(answer.outcome, Outcome::kConverged) << step;
    }
    if (answer.outcome == Outcome::kConverged) {
      EXPECT_LE(wrong, 1e-6 * step);
    }
  }
}

TEST_P(RefinedSignalTest, AStepOverTheLobeIsToldAlsoUnrefined) {
  const auto functional = MakeSinusoids(testing::PaperObservation());
  ASSERT_TRUE(functional.ok()) << functional.status();
  // A lobe of 1 / (2400 * 200 ns) = 2083 Hz is 0.89 times as wide at half its depth.
  for (const Refinement refinement : {Refinement::kNone, GetParam()}) {
    Settings settings;
    settings.functional = *functional;
    settings.refinement = refinement;
    settings.grid = MakeGrid({{460100.0, 1800.0, 9}});
    EXPECT_THAT(testing::SearchOnCpu(testing::MakeProblem(settings)).coarse_axes, IsEmpty());
    settings.grid = MakeGrid({{460100.0, 1900.0, 9}});
    EXPECT_THAT(testing::SearchOnCpu(testing::MakeProblem(settings)).coarse_axes, ElementsAre(0));
  }
}

// A chirp of 8192 samples on 200M:10M:300M and 1.2M:1k:1.3M. At 4 and 5 MHz the steps are 6 and 4
// lobes of the rate and twice the frequency's; the signal is not between the best point's
// neighbours then, and what is found, a minimum of the noise or of a lobe beside, was told as the
// answer.
TEST_P(RefinedSignalTest, AChirpIsWithinItsDeviationOrItsGridIsToldAsCoarse) {
  constexpr double kRate = 253.3e6;
  constexpr double kFrequency = 1.2504567e6;
  for (const double sampling_rate : {4e6, 5e6, 10.5e6, 20e6}) {
    std::mt19937 random(1);
    std::vector<std::complex<double>> signal = testing::ComplexNoise(8192, &random);
    for (size_t n = 0; n < signal.size(); ++n) {
      const double t = (static_cast<double>(n) - 4095.5) / sampling_rate;
      signal[n] += std::polar(1.0, 2 * M_PI * (kFrequency * t + 0.5 * kRate * t * t));
    }
    const auto functional = MakeChirp(signal, 1.0 / sampling_rate, 2);
    ASSERT_TRUE(functional.ok()) << functional.status();
    const Answer answer = Refined(*functional, {{200e6, 10e6, 11}, {1.2e6, 1e3, 101}});
    if (sampling_rate < 10e6) {
      EXPECT_THAT(answer.coarse_axes, ElementsAre(0, 1)) << sampling_rate;
      continue;
    }
    EXPECT_THAT(answer.coarse_axes, IsEmpty()) << sampling_rate;
    if (Descends()) {
      EXPECT_EQ(answer.outcome, Outcome::kConverged) << sampling_rate;
    }
    if (answer.outcome != Outcome::kConverged) continue;
    ASSERT_TRUE(answer.bound.known);
    EXPECT_NEAR(answer.point[0], kRate, 3.0 * answer.bound.deviation[0]) << sampling_rate;
    EXPECT_NEAR(answer.point[1], kFrequency, 3.0 * answer.bound.deviation[1]) << sampling_rate;
  }
}

TEST_P(RefinedSignalTest, ADelayAndADopplerShiftAreWithinTheirDeviations) {
  const Acquisition acquisition = testing::MakeAcquisition(1.0);
  const auto functional =
      MakeDelayDoppler(acquisition.signal, acquisition.replica, Acquisition::kInterval);
  ASSERT_TRUE(functional.ok()) << functional.status();
  const Answer answer = Refined(*functional, acquisition.Axes());
  if (answer.outcome == Outcome::kConverged) {
    EXPECT_NEAR(answer.point[0], Acquisition::kDelay * Acquisition::kInterval,
                4.0 * answer.bound.deviation[0]);
    EXPECT_NEAR(answer.point[1], Acquisition::kDoppler, 4.0 * answer.bound.deviation[1]);
  } else {
    EXPECT_FALSE(Descends());
  }
}

// Two sinusoids a lobe and a half apart.
TEST_P(RefinedSignalTest, TwoSinusoidsAreFoundTogether) {
  Observation observation;
  for (int n = 0; n < 1000; ++n) {
    observation.signal.emplace_back(std::sin(2 * M_PI * 0.1237 * n + 0.3) +
                                    0.7 * std::cos(2 * M_PI * 0.1252 * n));
  }
  const std::vector<Axis> axes = {{0.123, 1e-4, 16}, {0.1246, 1e-4, 16}};
  const auto functional = MakeManySinusoids(observation, MakeGrid(axes));
  ASSERT_TRUE(functional.ok()) << functional.status();
  const Answer answer = Refined(*functional, axes);
  if (Descends()) {
    EXPECT_EQ(answer.outcome, Outcome::kConverged);
  }
  if (answer.outcome == Outcome::kConverged) {
    EXPECT_NEAR(answer.point[0], 0.1237, 1e-10);
    EXPECT_NEAR(answer.point[1], 0.1252, 1e-10);
  }
}

}  // namespace
}  // namespace baseband::minimize
