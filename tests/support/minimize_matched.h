// Signals for matched filters, and how well they are evaluated.
#ifndef BASEBAND_TESTS_SUPPORT_MINIMIZE_MATCHED_H_
#define BASEBAND_TESTS_SUPPORT_MINIMIZE_MATCHED_H_

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/minimize/grid.h"
#include "kernels/minimize/matched.h"
#include "tests/support/minimize_search.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {

inline constexpr double kInterval = 1e-3;  // between two samples, in seconds

inline minimize::FunctionalPtr Must(absl::StatusOr<minimize::FunctionalPtr> functional) {
  EXPECT_THAT(functional, IsOk());
  return *functional;
}

// A signal that resembles what it is matched with: errors of the sum are errors of J.
inline std::vector<std::complex<double>> WithNoise(std::vector<std::complex<double>> signal,
                                                   std::mt19937* random) {
  const auto noise = ComplexNoise(signal.size(), random);
  for (size_t n = 0; n < signal.size(); ++n) signal[n] += 0.3 * noise[n];
  return signal;
}

// How far J may be off its exact value. By Cauchy and Schwarz a relative error e of each term's
// factor moves |sum|^2 / N by at most 2 e Q. Factors: 64 turns of a phasor and the sum of N
// products in T; in double the frequency in turns, rounded once and multiplied by up to N / 2
// samples, and 2e-14 of a delay's interpolation and a chirp's phase.
template <typename T>
double MatchedTolerance(const std::vector<std::complex<double>>& signal, double interval_s,
                        const minimize::Axis& frequencies) {
  double energy = 0.0;
  for (const auto& x : signal) energy += std::norm(x);
  const auto size = static_cast<double>(signal.size());
  const double turns = interval_s * std::max(std::abs(frequencies.At(0)),
                                             std::abs(frequencies.At(frequencies.count - 1)));
  const double of_sum = (64.0 * 4.0 + size) * std::numeric_limits<T>::epsilon();
  const double of_phase = 6.283185307179586 * turns * size * std::numeric_limits<double>::epsilon();
  return 2.0 * energy * (of_sum + of_phase + 2e-14);
}

// A periodic code of +-1, 4 samples a chip, received with a delay, a Doppler shift and noise of
// `noise` a sample: acquisition of a satellite's navigation signal.
struct Acquisition {
  static constexpr size_t kSamples = 4092;
  static constexpr double kInterval = 1e-3 / kSamples;
  static constexpr size_t kDelay = 1357;       // samples
  static constexpr double kDoppler = -2250.0;  // Hz
  std::vector<std::complex<double>> signal;
  std::vector<std::complex<double>> replica;

  // Half a chip and half a lobe apart, 2046 x 41 points.
  std::vector<minimize::Axis> Axes() const {
    return {{0.5 * kInterval, 2.0 * kInterval, 2046}, {-10000.0, 500.0, 41}};
  }
};
inline Acquisition MakeAcquisition(double noise) {
  Acquisition made;
  std::mt19937 random(21);
  for (size_t n = 0; n < Acquisition::kSamples; n += 4) {
    const double chip = (random() & 1) != 0 ? 1.0 : -1.0;
    made.replica.insert(made.replica.end(), 4, chip);
  }
  made.signal = ComplexNoise(Acquisition::kSamples, &random);
  for (size_t n = 0; n < Acquisition::kSamples; ++n) {
    const double phase =
        6.283185307179586 * Acquisition::kDoppler * Acquisition::kInterval * static_cast<double>(n);
    made.signal[n] =
        noise * made.signal[n] +
        made.replica[(n + Acquisition::kSamples - Acquisition::kDelay) % Acquisition::kSamples] *
            std::polar(1.0, phase);
  }
  return made;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_MINIMIZE_MATCHED_H_
