// Searches in noise, on the paper's signal (papers/grid-minimisation): a coarse grid with
// refinement finds what a fine grid finds, and errs as little as theory allows.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "gtest/gtest.h"
#include "kernels/minimize/search.h"
#include "kernels/minimize/sinusoids.h"
#include "tests/support/minimize_search.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::MakeProblem;
using ::baseband::testing::SearchOnCpu;

constexpr double kPi = 3.141592653589793;
constexpr double kIntervalS = 2e-7;
constexpr double kSamples = 2400;
constexpr double kLobeHz = 1.0 / (kSamples * kIntervalS);
// The band, 33 kHz around the code's 465 kHz. Of M lobes of noise one is deeper than the signal's,
// so that nothing can find the signal, with a probability of about M exp(-A^2 N / (8 variance)): at
// -17 dB once in 10^4 trials.
constexpr int kLobes = 16;
constexpr double kBeginHz = 465000.0 - 0.5 * kLobes * kLobeHz;

// A sinusoid of amplitude 1 beside the code, which the fixed columns take away.
Observation Draw(double frequency_hz, double noise_variance, std::mt19937* random) {
  std::normal_distribution<double> noise(0.0, std::sqrt(noise_variance));
  const double phase = std::uniform_real_distribution<double>(0.0, 2 * kPi)(*random);
  Observation observation = testing::PaperObservation();
  for (size_t n = 0; n < observation.signal.size(); ++n) {
    const double t = static_cast<double>(n) * kIntervalS;
    observation.signal[n] = std::sin(2 * kPi * frequency_hz * t + phase) +
                            0.7 * observation.columns[0][n].real() + noise(*random);
  }
  return observation;
}

constexpr int kFullPointsPerLobe = 64;

Settings InBand(const FunctionalPtr& functional, int points_per_lobe) {
  Settings settings;
  settings.functional = functional;
  settings.grid =
      testing::MakeGrid({{kBeginHz, kLobeHz / points_per_lobe, int64_t{kLobes} * points_per_lobe}});
  return settings;
}

// The least of the full grid's points within a coarse step of a coarse grid's three best points, no
// two of which are of one lobe. One is not enough: at -17 dB a minimum of the noise may be as deep
// as the signal's, and the coarse grid does not hit the bottom of either.
struct CoarseToFine {
  Peak best;
  bool of_first = true;  // the coarse grid's best point led there
};
CoarseToFine FromCoarse(const FunctionalPtr& functional, int points_per_lobe) {
  Settings coarse = InBand(functional, points_per_lobe);
  coarse.top_k = 3;
  coarse.separation[0] = points_per_lobe;
  Settings fine = InBand(functional, kFullPointsPerLobe);
  const int64_t ratio = kFullPointsPerLobe / points_per_lobe;
  CoarseToFine found;
  for (const Peak& candidate : SearchOnCpu(MakeProblem(coarse)).top) {
    fine.first = std::max<int64_t>(0, (candidate.index - 1) * ratio);
    fine.count = std::min((candidate.index + 1) * ratio + 1, fine.grid.num_points()) - fine.first;
    const Peak peak = SearchOnCpu(MakeProblem(fine)).top.front();
    if (found.best.index < 0 || peak.value < found.best.value) {
      found.of_first = found.best.index < 0;
      found.best = peak;
    }
  }
  return found;
}

double Refined(const FunctionalPtr& functional, int64_t index) {
  Settings settings = InBand(functional, kFullPointsPerLobe);
  settings.first = index;
  settings.count = 1;
  settings.refinement = Refinement::kBrent;
  return SearchOnCpu(MakeProblem(settings)).point[0];
}

// The Cramer-Rao bound of a real sinusoid's frequency, amplitude 1: Rife and Boorstyn 1974.
double Bound(double noise_variance) {
  return std::sqrt(24.0 * noise_variance / (kSamples * (kSamples * kSamples - 1))) /
         (2 * kPi * kIntervalS);
}

TEST(MinimizeStatisticsTest, CoarseToFineFindsTheFullGridsMinimumAndReachesTheBound) {
  constexpr double kSnrDb[] = {0.0, -3.0, -10.0, -17.0};
  constexpr int kTrials = 1000;
  std::mt19937 random(13);
  std::uniform_real_distribution<double> somewhere(kBeginHz + kLobeHz,
                                                   kBeginHz + (kLobes - 1) * kLobeHz);
  double squares[4] = {};
  int of_first = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const int level = trial % 4;
    const int points_per_lobe = trial / 4 % 2 == 0 ? 2 : 4;
    const double variance = 0.5 * std::pow(10.0, -kSnrDb[level] / 10.0);
    const double frequency = somewhere(random);
    const auto functional = MakeSinusoids(Draw(frequency, variance, &random));
    ASSERT_TRUE(functional.ok()) << functional.status();

    const Answer full = SearchOnCpu(MakeProblem(InBand(*functional, kFullPointsPerLobe)));
    const CoarseToFine found = FromCoarse(*functional, points_per_lobe);

    EXPECT_EQ(found.best.index, full.top.front().index)
        << "trial " << trial << ", " << kSnrDb[level] << " dB, " << points_per_lobe << " a lobe";
    of_first += found.of_first ? 1 : 0;
    squares[level] += std::pow(Refined(*functional, found.best.index) - frequency, 2);
  }
  std::printf("the coarse grid's best point alone leads there in %d of %d trials\n", of_first,
              kTrials);
  for (int level = 0; level < 4; ++level) {
    const double of_each = kTrials / 4;
    const double variance = 0.5 * std::pow(10.0, -kSnrDb[level] / 10.0);
    const double ratio = std::sqrt(squares[level] / of_each) / Bound(variance);
    std::printf("%5.0f dB: rms error %.1f Hz, %.3f of the Cramer-Rao bound\n", kSnrDb[level],
                ratio * Bound(variance), ratio);
    EXPECT_LT(ratio, 1.2) << kSnrDb[level];
    // An rms of n errors strays by 1 / sqrt(2 n); four times that below the bound is too good.
    EXPECT_GT(ratio, 1.0 - 4.0 / std::sqrt(2.0 * of_each)) << kSnrDb[level];
  }
}

}  // namespace
}  // namespace baseband::minimize
