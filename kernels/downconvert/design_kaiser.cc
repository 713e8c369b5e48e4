// Low passes as windowed sincs. J. F. Kaiser, "Nonrecursive digital filter design using the I0-sinh
// window function" (1974): the window's shape from the attenuation, the length from the transition.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/downconvert/design.h"

namespace baseband::downconvert {
namespace {

constexpr double kPi = 3.14159265358979323846264338328;

double Decibels(double error) { return -20.0 * std::log10(error); }

// The modified Bessel function of order zero, by its power series: all terms are positive.
double BesselI0(double x) {
  const double quarter = x * x / 4.0;
  double sum = 1.0;
  double term = 1.0;
  for (int k = 1; term > 1e-18 * sum; ++k) {
    term *= quarter / (static_cast<double>(k) * k);
    sum += term;
  }
  return sum;
}

double WindowShape(double attenuation_db) {
  if (attenuation_db > 50.0) {
    return 0.1102 * (attenuation_db - 8.7);
  }
  if (attenuation_db > 21.0) {
    return 0.5842 * std::pow(attenuation_db - 21.0, 0.4) + 0.07886 * (attenuation_db - 21.0);
  }
  return 0.0;
}

std::vector<double> WindowedSinc(double cutoff, double shape, int64_t num_taps) {
  std::vector<double> taps(static_cast<size_t>(num_taps));
  const int64_t centre = num_taps / 2;
  const double scale = 1.0 / BesselI0(shape);
  for (int64_t k = 0; k <= centre; ++k) {  // from the centre outwards
    const double x = static_cast<double>(k) / static_cast<double>(std::max<int64_t>(centre, 1));
    const double window = BesselI0(shape * std::sqrt(1.0 - x * x)) * scale;
    const double angle = kPi * static_cast<double>(k);
    const double sinc = k == 0 ? 2.0 * cutoff : std::sin(2.0 * cutoff * angle) / angle;
    taps[static_cast<size_t>(centre + k)] = sinc * window;
    taps[static_cast<size_t>(centre - k)] = sinc * window;
  }
  return taps;
}

}  // namespace

int64_t EstimateTaps(const LowPass& low_pass, Design design) {
  const double width = low_pass.stop - low_pass.pass;
  double taps = 0.0;
  if (design == Design::kKaiser) {
    const double db = Decibels(std::min(low_pass.pass_error, low_pass.stop_error));
    taps = std::max(db - 7.95, 13.3) / (14.36 * width) + 1.0;
  } else {
    const double db = Decibels(std::sqrt(low_pass.pass_error * low_pass.stop_error));
    taps = std::max(db - 13.0, 3.0) / (14.6 * width) + 1.0;
  }
  return 2 * static_cast<int64_t>(std::ceil(std::min(taps, 1e12) / 2.0 - 0.5)) + 1;
}

absl::StatusOr<std::vector<double>> DesignKaiser(const LowPass& low_pass) {
  const double cutoff = (low_pass.pass + low_pass.stop) / 2.0;
  const double shape =
      WindowShape(Decibels(std::min(low_pass.pass_error, low_pass.stop_error)) + 0.1);
  int64_t num_taps = EstimateTaps(low_pass, Design::kKaiser);
  // The formulas are good to a few percent; the rest is tried.
  while (num_taps <= kMaxTaps) {
    std::vector<double> taps = WindowedSinc(cutoff, shape, num_taps);
    const LowPassErrors errors = ErrorsOfLowPass(taps, low_pass);
    if (errors.pass <= low_pass.pass_error && errors.stop <= low_pass.stop_error) {
      return taps;
    }
    num_taps += 2 * std::max<int64_t>(num_taps / 200, 1);
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("it would take ", num_taps, " taps, the most is ", kMaxTaps));
}

}  // namespace baseband::downconvert
