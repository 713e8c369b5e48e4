// Whether a frame's amplitudes are more alike than any use of a constellation's points and Gaussian
// noise make them, whatever its carrier and where the tables of the amplitudes end. For both
// devices.
//
// The kurtosis E|z|^4 / (E|z|^2)^2 is 1 on one circle, 2 of noise alone. QPSK lies on four of
// 16QAM's middle points as well as on the four others of that ring: decisions fit, and which way
// the carrier is turned they do not tell. A strong signal of one amplitude that is taken for the
// noise of a weak one is no noise.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_KURTOSIS_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_KURTOSIS_MATH_H_

#include <cmath>
#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/carrier/model.h"

namespace baseband::carrier {

// Points are not used equally often in short frames, headers, repeated content; shaped use makes
// the kurtosis greater. All use leaves this share of what equal use has above 1.
inline constexpr double kLeastSpread = 0.25;
// Below the tables, where nearly all is noise: this share of what noise has above 1. What is there
// may be other signals, too.
inline constexpr double kLeastNoise = 0.5;
// One frame in 300,000 is by chance so many deviations below.
inline constexpr double kKurtosisChance = 4.5;
// The bins of the amplitudes leave this open; PSK, whose least is 1, is never below.
inline constexpr double kKurtosisOfBins = 0.005;

// Sums over a frame's histogram of amplitudes.
struct AmplitudeMoments {
  double square = 0.0;
  double fourth = 0.0;

  BASEBAND_HOST_DEVICE void Add(int bin, uint32_t count) {
    const double u = (bin + 0.5) * static_cast<double>(kAmplitudeExtent) / kAmplitudeBins;
    const double energy = u * u * count;
    square += energy;
    fourth += u * u * energy;
  }
  BASEBAND_HOST_DEVICE double kurtosis(int num_symbols) const {
    return fourth * num_symbols / (square * square);
  }
};

// The kurtosis of N symbols that use all points equally, and its deviation times sqrt(N), with
// noise s2.
struct Kurtosis {
  double mean = 0.0;
  double deviation = 0.0;
};
BASEBAND_HOST_DEVICE inline Kurtosis ExpectedKurtosis(const ModelView& view, double noise) {
  const double m4 = view.fourth_moment;
  const double m6 = view.sixth_moment;
  const double m8 = view.eighth_moment;
  const double power = 1.0 / (1.0 + noise);
  const double square = power * power;
  const double u4 = (m4 + noise * (4.0 + 2.0 * noise)) * square;
  const double u6 = (m6 + noise * (9.0 * m4 + noise * (18.0 + 6.0 * noise))) * square * power;
  const double u8 =
      (m8 + noise * (16.0 * m6 + noise * (72.0 * m4 + noise * (96.0 + 24.0 * noise)))) * square *
      square;
  const double variance = u8 - 4.0 * u4 * u6 + u4 * u4 * (4.0 * u4 - 1.0);
  return {u4, sqrt(fmax(variance, 0.0))};
}

BASEBAND_HOST_DEVICE inline bool IsTooEven(const ModelView& view, const AmplitudeMoments& moments,
                                           int num_symbols, double noise) {
  double least = 1.0 + kLeastSpread * (static_cast<double>(view.fourth_moment) - 1.0);
  // Below the tables noise adds to that, more than there is in the lowest.
  const double lowest = view.facts[0].noise;
  if (noise > lowest) {
    const double signal = 1.0 / (1.0 + lowest);
    least = 1.0 + kLeastNoise * (1.0 - (2.0 - least) * signal * signal);
  }
  const double kurtosis = moments.kurtosis(num_symbols);
  if (!(kurtosis < least - kKurtosisOfBins)) return false;
  const Kurtosis expected = ExpectedKurtosis(view, noise);
  return kurtosis < expected.mean - kKurtosisChance * expected.deviation /
                                        sqrt(static_cast<double>(num_symbols));
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_KURTOSIS_MATH_H_
