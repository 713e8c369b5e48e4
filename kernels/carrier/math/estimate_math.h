// What is believed of a frame's carrier, and stage S1 of recover_math.h: SNR and gain before
// anything is known of the phase. For both devices.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_ESTIMATE_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_ESTIMATE_MATH_H_

#include <cmath>
#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/carrier/model.h"

namespace baseband::carrier {

inline constexpr double kTurn = 6.283185307179586476925;  // radians
inline constexpr double kLn10 = 2.302585092994045684018;

struct alignas(8) Turned {
  float c = 1.0F;
  float s = 0.0F;
};

// cos and sin of 2 pi `turns`, within 1e-7. The same formula on both devices.
BASEBAND_HOST_DEVICE inline Turned Turn(double turns) {
  const double quarters = 4.0 * (turns - rint(turns));  // [-2, 2]
  const double nearest = rint(quarters);
  const auto x = static_cast<float>((quarters - nearest) * (kTurn / 4));  // [-pi / 4, pi / 4]
  const float y = x * x;
  // Taylor: the first term left out is below 3e-8 (sine: x^11 / 11!, cosine: x^10 / 10!).
  const float sine =
      x *
      fmaf(y, fmaf(y, fmaf(y, fmaf(y, 2.7557319e-6F, -1.9841270e-4F), 8.3333333e-3F), -0.16666667F),
           1.0F);
  const float cosine =
      fmaf(y, fmaf(y, fmaf(y, fmaf(y, 2.4801587e-5F, -1.3888889e-3F), 4.1666667e-2F), -0.5F), 1.0F);
  switch (static_cast<int>(nearest) & 3) {
    case 0:
      return {cosine, sine};
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    default:
      return {sine, -cosine};
  }
}

// What is believed of a frame while it is being recovered.
struct Estimate {
  double frequency = 0.0;  // cycles per symbol
  double phase = 0.0;      // turns, at the frame's centre
  double gain = 1.0;       // A
  double noise = 1.0;      // s2 for A = 1
  int table = 0;           // SNR index of the model's tables

  BASEBAND_HOST_DEVICE void TakeSnr(const Estimate& other) {
    gain = other.gain;
    noise = other.noise;
    table = other.table;
  }
  // The turns by which symbol n is to be turned back.
  BASEBAND_HOST_DEVICE double TurnsAt(double n_minus_centre) const {
    return frequency * n_minus_centre + phase;
  }
};

// ---- S1: SNR and gain ----------------------------------------------------------------------

BASEBAND_HOST_DEVICE inline int AmplitudeBin(float magnitude, float inverse_rms) {
  const float bin = magnitude * inverse_rms * (kAmplitudeBins / kAmplitudeExtent);
  return static_cast<int>(fminf(bin, kAmplitudeBins - 1.0F));
}

BASEBAND_HOST_DEVICE inline int TableOf(const ModelView& view, double snr_db) {
  const double k = rint((snr_db - view.facts[0].snr_db) / kSnrStepDb);
  return static_cast<int>(fmin(fmax(k, 0.0), view.num_snrs - 1.0));
}

// The SNR that makes the amplitudes likeliest, dB: a parabola through the best of the
// log-likelihoods log_likelihood[k] = sum over bins of histogram[bin] * view.amplitude[k][bin] and
// its neighbours.
BASEBAND_HOST_DEVICE inline double SnrOfAmplitudes(const ModelView& view,
                                                   const double* log_likelihood) {
  int best = 0;
  for (int k = 1; k < view.num_snrs; ++k) {
    if (log_likelihood[k] > log_likelihood[best]) best = k;
  }
  double offset = 0.0;
  if (best > 0 && best + 1 < view.num_snrs) {
    const double left = log_likelihood[best - 1];
    const double right = log_likelihood[best + 1];
    const double bend = left - 2.0 * log_likelihood[best] + right;
    if (bend < 0.0) offset = 0.5 * (left - right) / bend;
  }
  return view.facts[best].snr_db + kSnrStepDb * offset;
}

// Gain, noise and table for a given SNR, from the mean square of the received symbols.
BASEBAND_HOST_DEVICE inline void SetSnr(const ModelView& view, double mean_square, double snr_db,
                                        Estimate* estimate) {
  estimate->noise = exp(-0.1 * kLn10 * snr_db);
  estimate->gain = sqrt(mean_square / (1.0 + estimate->noise));
  estimate->table = TableOf(view, snr_db);
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_ESTIMATE_MATH_H_
