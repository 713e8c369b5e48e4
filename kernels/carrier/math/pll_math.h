// The decision-directed loop of RecoverCarrier, Fine::kPll, for both devices: second order,
// proportional and integral, its error that of the nearest point.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_PLL_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_PLL_MATH_H_

#include <cmath>

#include "kernels/carrier/math/judge_math.h"
#include "kernels/carrier/math/recover_math.h"

namespace baseband::carrier {

// Gains for an error in radians and a noise bandwidth `bandwidth` per symbol (Gardner, Phaselock
// Techniques, with theta = bandwidth / (damping + 1 / (4 damping))).
struct PllGains {
  double proportional = 0.0;
  double integral = 0.0;
};
BASEBAND_HOST_DEVICE inline PllGains PllGainsOf(double bandwidth, double damping) {
  const double theta = bandwidth / (damping + 0.25 / damping);
  const double scale = 4.0 / (1.0 + 2.0 * damping * theta + theta * theta);
  return {scale * damping * theta, scale * theta * theta};
}

// Before symbol n the loop holds the phase it will be turned back by: what it says of symbol n
// comes from the symbols before alone, so that the fit of its output needs no allowance for the
// tracking.
struct PllState {
  double turns = 0.0;
  double frequency = 0.0;  // cycles per symbol

  // z: symbol n turned back by `turns` and divided by the gain; nearest: the point it is taken for,
  // |nearest|^-2 = inverse_energy (0 for a point at the origin, see kOriginRadius).
  BASEBAND_HOST_DEVICE void Step(const PllGains& gains, Iq z, Iq nearest, float inverse_energy) {
    const float error = fmaf(z.q, nearest.i, -z.i * nearest.q) * inverse_energy;
    frequency += gains.integral * error / kTurn;
    turns += frequency + gains.proportional * error / kTurn;
  }
};

// The point nearest to z, and 1 / its energy.
BASEBAND_HOST_DEVICE inline Iq NearestPoint(const NearestView& view, Iq z, float* inverse_energy) {
  const bool folded = view.folded != 0;
  const float i = folded ? fabsf(z.i) : z.i;
  const float q = folded ? fabsf(z.q) : z.q;
  const int k = view.slices > 0 ? NearestSliced(view, i, q) : NearestListed(view, i, q);
  const SearchPoint point = view.points[k];
  *inverse_energy = point.inverse_radius * point.inverse_radius;
  return {folded && z.i < 0.0F ? -point.i : point.i, folded && z.q < 0.0F ? -point.q : point.q};
}

// The estimate is taken from the frame's second half, symbols first .. N - 1 with first = N / 2:
// frequency is the loop's own, averaged, and the phase the average of the loop's turns less that
// frequency, carried to the frame's centre.
struct PllAverage {
  double frequency = 0.0;  // sums over the second half
  double turns = 0.0;      // of turns less n times the starting frequency
  int count = 0;

  BASEBAND_HOST_DEVICE void Add(const PllState& state, int n, double start_frequency) {
    frequency += state.frequency;
    turns += state.turns - n * start_frequency;
    ++count;
  }
};
BASEBAND_HOST_DEVICE inline void SetPllEstimate(const PllAverage& average, double start_frequency,
                                                int num_symbols, Estimate* estimate) {
  const double centre = 0.5 * (num_symbols - 1);
  const double half_centre = num_symbols - 0.5 * (average.count + 1);
  estimate->frequency = average.frequency / average.count;
  estimate->phase = average.turns / average.count + start_frequency * half_centre -
                    estimate->frequency * (half_centre - centre);
}

// Linear theory: the variance of the loop's phase. J: a symbol's information about the phase.
BASEBAND_HOST_DEVICE inline double PllVariance(double bandwidth, double information) {
  return 2.0 * bandwidth / information;
}

// Whether the loop may slip to the next phase of the constellation within a frame: one whose edge,
// pi / symmetry, is fewer than kSlip standard deviations away does so every few thousand symbols.
inline constexpr double kSlip = 4.5;
BASEBAND_HOST_DEVICE inline bool PllSlips(double bandwidth, double information, int symmetry) {
  const double edge = kTurn / 2 / symmetry;
  return !(kSlip * kSlip * PllVariance(bandwidth, information) < edge * edge);
}

// The loop's frequency averaged over M symbols is the difference of two of its phases over M.
BASEBAND_HOST_DEVICE inline Covariance PllCovariance(double bandwidth, double information,
                                                     int num_symbols) {
  const double average = num_symbols - num_symbols / 2;
  const double loop = PllVariance(bandwidth, information);
  Covariance covariance;
  const double frequency = 2.0 * loop / (average * average);  // (radians per symbol)^2
  covariance.slope = frequency * num_symbols * num_symbols;
  // About the second half's centre the two are nearly independent; then moved to the frame's.
  const double at_half = loop * fmin(1.0, 1.0 / (2.0 * bandwidth * average));
  covariance.phase = at_half + covariance.slope / 16.0;
  covariance.cross = -covariance.slope / 4.0;
  return covariance;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_PLL_MATH_H_
