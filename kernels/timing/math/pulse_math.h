// The root-raised-cosine pulse and its spectrum; time in symbols, frequency in cycles per symbol.
#ifndef BASEBAND_KERNELS_TIMING_MATH_PULSE_MATH_H_
#define BASEBAND_KERNELS_TIMING_MATH_PULSE_MATH_H_

#include <cmath>

#include "kernels/base/host_device.h"

namespace baseband::timing {

inline constexpr double kPi = 3.14159265358979323846;

// sin(pi x) / (pi x), and its derivative.
inline double Sinc(double x) { return std::fabs(x) < 1e-8 ? 1.0 : std::sin(kPi * x) / (kPi * x); }
inline double SincSlope(double x) {
  if (std::fabs(x) < 1e-3) return -kPi * kPi * x / 3.0 * (1.0 - kPi * kPi * x * x / 10.0);
  return (std::cos(kPi * x) - Sinc(x)) / x;
}

// g(t), as the sum of its spectrum's flat part and of the two halves of its cosine edges: no
// quotient of it vanishes with its divisor but sinc's own.
inline double RootRaisedCosine(double rolloff, double t) {
  const double flat = 1.0 - rolloff;
  return flat * Sinc(flat * t) + rolloff * (Sinc(rolloff * t + 0.25) * std::cos(kPi * (t + 0.25)) +
                                            Sinc(rolloff * t - 0.25) * std::cos(kPi * (t - 0.25)));
}
inline double RootRaisedCosineSlope(double rolloff, double t) {
  const double flat = 1.0 - rolloff;
  double slope = flat * flat * SincSlope(flat * t);
  for (const double shift : {0.25, -0.25}) {
    slope += rolloff * (rolloff * SincSlope(rolloff * t + shift) * std::cos(kPi * (t + shift)) -
                        kPi * Sinc(rolloff * t + shift) * std::sin(kPi * (t + shift)));
  }
  return slope;
}

// Slope of the raised cosine at the symbol d >= 1.
inline double RaisedCosineSlopeAt(double rolloff, int d) {
  const double x = 2.0 * rolloff * d;
  const double shape =
      std::fabs(x - 1.0) < 1e-6 ? 0.25 * kPi : std::cos(0.5 * kPi * x) / (1.0 - x * x);
  return (d % 2 == 0 ? 1.0 : -1.0) * shape / d;
}

// RC(f), the square of the pulse's spectrum.
BASEBAND_HOST_DEVICE inline float RaisedCosineSpectrum(float rolloff, float f) {
  const float beyond = (fabsf(f) - 0.5F) / rolloff;
  if (beyond <= -0.5F) return 1.0F;
  if (beyond >= 0.5F) return 0.0F;
  return 0.5F - 0.5F * sinf(static_cast<float>(kPi) * beyond);
}

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_MATH_PULSE_MATH_H_
