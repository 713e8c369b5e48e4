// Chirps, delay and Doppler in noise: what is found, and how near to the Cramer-Rao bound.
#include <cmath>
#include <complex>
#include <cstdio>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/minimize/search.h"
#include "tests/support/constants.h"
#include "tests/support/minimize_matched.h"
#include "tests/support/minimize_search.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::Acquisition;
using ::baseband::testing::kInterval;
using ::baseband::testing::Must;
using ::baseband::testing::SearchOnCpu;

using Signal = std::vector<std::complex<double>>;

TEST(MinimizeDelayDopplerTest, ASatellitesSignalIsAcquired) {
  const Acquisition acquisition = testing::MakeAcquisition(6.0);  // -15.6 dB a sample
  Settings settings;
  settings.functional =
      Must(MakeDelayDoppler(acquisition.signal, acquisition.replica, Acquisition::kInterval));
  settings.grid =
      testing::MakeGrid({{1200.5 * Acquisition::kInterval, 2.0 * Acquisition::kInterval, 150},
                         {-10000.0, 500.0, 41}});
  settings.refinement = Refinement::kNewton;
  const Answer answer = SearchOnCpu(testing::MakeProblem(settings));
  ASSERT_TRUE(answer.bound.known);
  EXPECT_NEAR(answer.bound.noise_variance, 36.0, 2.0);
  EXPECT_NEAR(answer.point[0], Acquisition::kDelay * Acquisition::kInterval,
              4.0 * answer.bound.deviation[0]);
  EXPECT_NEAR(answer.point[1], Acquisition::kDoppler, 4.0 * answer.bound.deviation[1]);
  EXPECT_LT(answer.bound.deviation[0], 0.5 * Acquisition::kInterval);
  EXPECT_LT(answer.bound.deviation[1], 50.0);
}

// Known signals in noise: the deviations that the answers say, those that they have, and theory's.
class Statistics {
 public:
  void Add(const Answer& answer, const Coordinates& truth) {
    ASSERT_TRUE(answer.bound.known);
    ++trials_;
    for (size_t k = 0; k < 3; ++k) {
      squares_[k] += (answer.point[k] - truth[k]) * (answer.point[k] - truth[k]);
      bounds_[k] += answer.bound.deviation[k] * answer.bound.deviation[k];
    }
  }
  void Expect(size_t axis, double theory) const {
    const double rms = std::sqrt(squares_[axis] / trials_);
    const double bound = std::sqrt(bounds_[axis] / trials_);
    std::printf("axis %zu: rms error %.4g, Cramer-Rao %.4g\n", axis, rms, bound);
    EXPECT_NEAR(bound, theory, 0.03 * theory);
    EXPECT_LT(rms, 1.2 * bound);
    EXPECT_GT(rms, 0.85 * bound);  // 300 trials: 4 % is one standard deviation
  }

 private:
  int trials_ = 0;
  Coordinates squares_{};
  Coordinates bounds_{};
};
constexpr int kTrials = 300;
constexpr double kVariance = 0.5;  // of a sample's noise; the signal has 1

TEST(MinimizeChirpTest, RateAndFrequencyReachTheCramerRaoBound) {
  constexpr size_t kSize = 128;
  constexpr double kLength = kSize * kInterval;
  std::mt19937 random(8);
  std::uniform_real_distribution<double> somewhere(-1.0, 1.0);
  Statistics statistics;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Coordinates truth{{600.0 * somewhere(random), 50.0 * somewhere(random)}};
    Signal signal = testing::ComplexNoise(kSize, &random);
    for (size_t n = 0; n < kSize; ++n) {
      const double t = (static_cast<double>(n) - 63.5) * kInterval;
      signal[n] = std::sqrt(kVariance) * signal[n] +
                  std::polar(1.0, kTwoPi * (0.1 * trial + truth[1] * t + 0.5 * truth[0] * t * t));
    }
    Settings settings;
    settings.functional = Must(MakeChirp(signal, kInterval, 2));
    settings.grid =
        testing::MakeGrid({{-800.0, 1.0 / (kLength * kLength), 27}, {-80.0, 0.5 / kLength, 42}});
    settings.refinement = Refinement::kNewton;
    statistics.Add(SearchOnCpu(testing::MakeProblem(settings)), truth);
  }
  // Fisher's information is 2 / v times the sums of the squares of the phase's derivatives 2 pi t
  // and pi t^2, less its mean: here they are orthogonal.
  const double n2 = static_cast<double>(kSize) * kSize;
  const double n3 = static_cast<double>(kSize) * (n2 - 1.0);
  statistics.Expect(1, std::sqrt(6.0 * kVariance / n3) / (kTwoPi * kInterval));
  statistics.Expect(
      0, std::sqrt(90.0 * kVariance / (n3 * (n2 - 4.0))) / (0.5 * kTwoPi * kInterval * kInterval));
}

TEST(MinimizeDelayDopplerTest, DelayAndDopplerReachTheCramerRaoBound) {
  constexpr size_t kSize = 128;
  constexpr double kLength = kSize * kInterval;
  std::mt19937 random(9);
  std::uniform_real_distribution<double> somewhere(-1.0, 1.0);
  // Tones of equal power and random phases: delays of it are written down.
  std::vector<double> phases;
  for (int k = -64; k < 64; ++k) phases.push_back(somewhere(random));
  const auto delayed = [&](double delay_s) {
    Signal signal(kSize);
    for (size_t n = 0; n < kSize; ++n) {
      for (int k = -64; k < 64; ++k) {
        const double turns = k * (static_cast<double>(n) * kInterval - delay_s) / kLength;
        signal[n] += std::polar(1.0 / std::sqrt(128.0),
                                kTwoPi * (turns + phases[static_cast<size_t>(k + 64)]));
      }
    }
    return signal;
  };
  const Signal replica = delayed(0.0);
  Statistics statistics;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Coordinates truth{{kLength * (0.5 + 0.4 * somewhere(random)), 30.0 * somewhere(random)}};
    const Signal wanted = delayed(truth[0]);
    Signal signal = testing::ComplexNoise(kSize, &random);
    for (size_t n = 0; n < kSize; ++n) {
      const double phase = kTwoPi * (truth[1] * static_cast<double>(n) * kInterval + 0.1 * trial);
      signal[n] = std::sqrt(kVariance) * signal[n] + wanted[n] * std::polar(1.0, phase);
    }
    Settings settings;
    settings.functional = Must(MakeDelayDoppler(signal, replica, kInterval));
    settings.grid = testing::MakeGrid({{0.0, 0.5 * kInterval, 256}, {-40.0, 0.5 / kLength, 21}});
    settings.refinement = Refinement::kNewton;
    statistics.Add(SearchOnCpu(testing::MakeProblem(settings)), truth);
  }
  // The sums of the squares of 2 pi k / (N Ts), its mean being -1/2, and of 2 pi t |s|^2 about.
  // What they have in common, a random replica's, is a few per cent of a deviation at most.
  const double n2 = static_cast<double>(kSize) * kSize;
  const double theory = std::sqrt(6.0 * kVariance / (kSize * (n2 - 1.0)));
  statistics.Expect(0, theory * kLength / kTwoPi);
  statistics.Expect(1, theory / (kTwoPi * kInterval));
}

}  // namespace
}  // namespace baseband::minimize
