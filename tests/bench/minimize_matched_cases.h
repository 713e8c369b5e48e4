// Searches of matched filters that are timed, and where their minimum is.
#ifndef BASEBAND_TESTS_BENCH_MINIMIZE_MATCHED_CASES_H_
#define BASEBAND_TESTS_BENCH_MINIMIZE_MATCHED_CASES_H_

#include <cmath>
#include <complex>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/minimize/matched.h"
#include "kernels/minimize/problem.h"
#include "tests/support/minimize_matched.h"

namespace baseband::testing {

struct MatchedCase {
  std::string name;
  absl::StatusOr<minimize::FunctionalPtr> functional;
  std::vector<minimize::Axis> axes;
  minimize::Coordinates truth;
};

// Acquisition of a satellite's signal, and of a chirp as long among `rates` rates: with frequencies
// half a lobe apart, and with a hundred to half a lobe.
inline std::vector<MatchedCase> MatchedCases(int64_t rates) {
  const Acquisition made = MakeAcquisition(6.0);
  const double rate = 5e8;
  const double frequency = 1234.0;
  std::mt19937 random(22);
  std::vector<std::complex<double>> chirp = ComplexNoise(Acquisition::kSamples, &random);
  for (size_t n = 0; n < chirp.size(); ++n) {
    const double t = (static_cast<double>(n) - 2045.5) * Acquisition::kInterval;
    chirp[n] =
        6.0 * chirp[n] + std::polar(1.0, 6.283185307179586 * (frequency * t + 0.5 * rate * t * t));
  }
  const auto functional = minimize::MakeChirp(chirp, Acquisition::kInterval, 2);
  const minimize::Axis of_rate{rate - 1e6 * static_cast<double>(rates / 2), 1e6, rates};
  return {
      {"delay and Doppler",
       minimize::MakeDelayDoppler(made.signal, made.replica, Acquisition::kInterval),
       made.Axes(),
       {{Acquisition::kDelay * Acquisition::kInterval, Acquisition::kDoppler}}},
      {"chirp", functional, {of_rate, {-100000.0, 500.0, 401}}, {{rate, frequency}}},
      {"chirp dense", functional, {of_rate, {-10000.0, 5.0, 4001}}, {{rate, frequency}}},
  };
}

// Within a step, or as much of a lobe as noise moves the minimum.
inline bool IsFound(const MatchedCase& of, const minimize::Grid& grid, int64_t index) {
  const minimize::Coordinates found = grid.CoordinatesOf(index);
  const double lobes[] = {1e6, 100.0};
  for (size_t k = 0; k < 2; ++k) {
    const double step = std::abs(of.axes[k].step);
    const double most = of.name == "chirp dense" ? std::fmax(step, lobes[k]) : step;
    if (std::abs(found[k] - of.truth[k]) > most) return false;
  }
  return true;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_BENCH_MINIMIZE_MATCHED_CASES_H_
