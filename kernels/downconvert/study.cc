#include "kernels/downconvert/study.h"

#include <algorithm>
#include <cmath>

#include "kernels/downconvert/study_math.h"
#include "kernels/downconvert/turn.h"

namespace baseband::downconvert {
namespace {

long double RadiansOf(uint64_t word) {
  return std::ldexp(static_cast<long double>(static_cast<int64_t>(word)), -64) * kLongTurn;
}

}  // namespace

std::vector<double> StudyPhases(NcoMethod method, const Frequency& frequency, int64_t count,
                                int segment) {
  std::vector<double> phases(static_cast<size_t>(count));
  if (method == NcoMethod::kExact) {
    const uint64_t step = frequency.word();
    for (int64_t n = 0; n < count; ++n) {
      const int64_t anchor = n - n % kAnchorSpacing;
      const uint64_t word = frequency.PhaseWord(static_cast<uint64_t>(anchor)) +
                            static_cast<uint64_t>(n - anchor) * step;
      phases[static_cast<size_t>(n)] = static_cast<double>(RadiansOf(word));
    }
    return phases;
  }
  StudyOscillator oscillator(method, frequency.cycles_per_sample(), segment);
  for (double& phase : phases) {
    phase = oscillator.phase();
    oscillator.Advance();
  }
  return phases;
}

PhaseErrors ErrorsOf(const std::vector<double>& phases, const Frequency& frequency) {
  PhaseErrors result;
  result.errors.reserve(phases.size());
  const double centre = (static_cast<double>(phases.size()) - 1.0) / 2.0;
  double slope = 0.0;
  double spread = 0.0;
  for (size_t n = 0; n < phases.size(); ++n) {
    const long double exact = RadiansOf(frequency.PhaseWord(n));
    const auto error = static_cast<double>(std::remainder(phases[n] - exact, kLongTurn));
    result.errors.push_back(error);
    result.largest = std::max(result.largest, std::abs(error));
    const double place = static_cast<double>(n) - centre;
    slope += place * error;
    spread += place * place;
  }
  result.drift = spread > 0.0 ? slope / spread : 0.0;
  return result;
}

}  // namespace baseband::downconvert
