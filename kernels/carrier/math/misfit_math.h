// Whether a frame's symbols are those of a constellation at all, whatever their carrier: how their
// amplitudes are spread, and their phases. For both devices.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_MISFIT_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_MISFIT_MATH_H_

#include <cmath>
#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/carrier/math/estimate_math.h"
#include "kernels/carrier/math/line_math.h"
#include "kernels/carrier/model.h"

namespace baseband::carrier {

// The amplitudes are those of another constellation if they differ by this, see Misfit.
inline constexpr double kMaxMisfit = 0.05;
inline constexpr int kMisfitClasses = 64;
// Of the frame: known symbols need not be the constellation's, and they are in the histogram too.
inline constexpr double kMaxKnownForMisfit = 0.02;

// The model's share of one of the frame's bins, whose middle is `middle` bins of the frame and
// `relative` of the model from 0; `width`: of a bin of the frame, as the model's amplitudes are
// measured.
BASEBAND_HOST_DEVICE inline double ExpectedShare(const float* amplitude, double middle,
                                                 double relative, double width) {
  const double place = fmin(fmax(relative - 0.5, 0.0), kAmplitudeBins - 1.0);
  const int low = static_cast<int>(fmin(place, kAmplitudeBins - 2.0));
  const double ln_density =
      amplitude[low] + (place - low) * (static_cast<double>(amplitude[low + 1]) - amplitude[low]);
  return exp(ln_density) * kTurn * middle * width * width;
}
BASEBAND_HOST_DEVICE inline double ExpectedShare(const float* amplitude, int bin,
                                                 double rms_ratio) {
  const double middle = bin + 0.5;
  return ExpectedShare(amplitude, middle, middle / rms_ratio,
                       kAmplitudeExtent / kAmplitudeBins / rms_ratio);
}
// By how much the histogram of amplitudes differs from the model's at this SNR: chi-squared over 64
// classes, less what chance gives, divided by the number of symbols, so that it does not grow with
// the frame. 0 above the tables' SNRs, where the model has wider rings than the frame. `rms_ratio`:
// sqrt(A^2 + noise) by the estimate over the rms of the frame, to which the bins are relative.
BASEBAND_HOST_DEVICE inline double Misfit(const ModelView& view, const uint32_t* histogram,
                                          int num_symbols, double snr_db, double rms_ratio) {
  const double place = (snr_db - view.facts[0].snr_db) / kSnrStepDb;
  if (!(place >= 0.0 && place < view.num_snrs - 1)) return 0.0;
  const int k = static_cast<int>(place);
  const double t = place - k;
  const float* const low = view.amplitude + k * kAmplitudeBins;
  const float* const high = low + kAmplitudeBins;
  constexpr int kBins = kAmplitudeBins / kMisfitClasses;
  double chi_squared = 0.0;
  for (int c = 0; c < kMisfitClasses; ++c) {
    double seen = 0.0;
    double expected = 0.0;
    for (int bin = c * kBins; bin < (c + 1) * kBins; ++bin) {
      seen += histogram[bin];
      expected +=
          (1.0 - t) * ExpectedShare(low, bin, rms_ratio) + t * ExpectedShare(high, bin, rms_ratio);
    }
    expected *= num_symbols;
    chi_squared += (seen - expected) * (seen - expected) / (expected + 1.0);
  }
  const double chance = kMisfitClasses + 4.0 * sqrt(2.0 * kMisfitClasses);
  return fmax(chi_squared - chance, 0.0) / num_symbols;
}

// The symbols of a constellation of an even symmetry q, raised to q / 2, and any others as they
// are, add up to nothing if they are sent equally often. A carrier without modulation, a real
// signal, BPSK taken for QPSK, QPSK for 8PSK send a part of the points only: the rest of the phases
// has nothing to show, and the amplitudes may well fit. If such a carrier lies beyond the range,
// its alias within turns them by 1 / q from symbol to symbol: with every other sign changed they
// add up the same. 0: there is no such power.
BASEBAND_HOST_DEVICE inline int BalancePower(int symmetry) {
  if (symmetry % 2 == 0) return symmetry / 2;
  return symmetry > 1 ? 1 : 0;
}
// As many symbols of a frame tell it, evenly spaced; those that are known do not count.
inline constexpr int kBalanceSymbols = 256;
BASEBAND_HOST_DEVICE inline int BalanceSymbol(int i, int num_symbols) {
  if (num_symbols <= kBalanceSymbols) return i;
  return static_cast<int>(static_cast<int64_t>(i) * num_symbols / kBalanceSymbols);
}

struct Balance {
  double re[2] = {};  // of the sums of z^power over the even symbols and over the odd ones
  double im[2] = {};
  double square = 0.0;  // of the squared magnitudes
  double count = 0.0;

  BASEBAND_HOST_DEVICE void Add(Iq z, int n, int power) {
    const float energy = fmaf(z.i, z.i, z.q * z.q);
    if (!(energy > 0.0F)) return;
    const float inverse = 1.0F / sqrtf(energy);
    const Iq unit = UnitPower({z.i * inverse, z.q * inverse}, power);
    // No symbol counts for much more than others do.
    const float held = fminf(energy, 4.0F);
    const float magnitude = power == 2 ? held : powf(held, 0.5F * static_cast<float>(power));
    const auto i = static_cast<double>(magnitude * unit.i);
    const auto q = static_cast<double>(magnitude * unit.q);
    // No index that is not known before: on a GPU the sums would have to lie in memory.
    const bool odd = n % 2 != 0;
    re[0] += odd ? 0.0 : i;
    im[0] += odd ? 0.0 : q;
    re[1] += odd ? i : 0.0;
    im[1] += odd ? q : 0.0;
    square += static_cast<double>(magnitude) * static_cast<double>(magnitude);
    count += 1.0;
  }
};

// Beyond chance (one frame in a million), and most symbols are of one part of the points.
inline constexpr double kBalanceChance = 14.0;
inline constexpr double kMaxImbalance = 0.5;
BASEBAND_HOST_DEVICE inline bool IsUnbalanced(const Balance& balance) {
  // The greater of |even + odd|^2 and |even - odd|^2.
  double power = 2.0 * fabs(balance.re[0] * balance.re[1] + balance.im[0] * balance.im[1]);
  for (int odd = 0; odd < 2; ++odd) {
    power += balance.re[odd] * balance.re[odd] + balance.im[odd] * balance.im[odd];
  }
  return power > kBalanceChance * balance.square &&
         power > kMaxImbalance * kMaxImbalance * balance.count * balance.count;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_MISFIT_MATH_H_
