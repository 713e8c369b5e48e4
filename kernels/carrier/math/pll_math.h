// The decision-directed loop of RecoverCarrier, Fine::kPll, for both devices: second order,
// proportional and integral, its error that of the nearest point.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_PLL_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_PLL_MATH_H_

#include <cmath>

#include "kernels/carrier/math/covariance_math.h"
#include "kernels/carrier/math/recover_math.h"

namespace baseband::carrier {

// Gains for an error in radians and a noise bandwidth `bandwidth` per symbol (Gardner, Phaselock
// Techniques, with theta = bandwidth / (damping + 1 / (4 damping))).
struct PllGains {
  double proportional = 0.0;
  double integral = 0.0;
};
BASEBAND_HOST_DEVICE inline double PllTheta(double bandwidth, double damping) {
  return bandwidth / (damping + 0.25 / damping);
}
BASEBAND_HOST_DEVICE inline PllGains PllGainsOf(double bandwidth, double damping) {
  const double theta = PllTheta(bandwidth, damping);
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
// frequency, carried to the frame's centre. How much the frequency moves from one eighth of that
// half to the next tells what else than noise the loop follows.
inline constexpr int kPllParts = 4;

// What the loop found.
struct PllFound {
  double frequency = 0.0;  // cycles per symbol
  double phase = 0.0;      // turns at the frame's centre
  double scatter = 0.0;    // variance of the frequency from part to part, (cycles per symbol)^2
};

struct PllAverage {
  double frequency = 0.0;  // sums over the second half, of the frequency less the starting one
  double turns = 0.0;      // of turns less n times the starting frequency
  double of_part = 0.0;    // of frequency, in the part that has begun
  double squares = 0.0;    // over the parts: of their frequency, squared
  double parts = 0.0;      // and of it as it is
  int count = 0;
  int in_part = 0;  // symbols of the part that has begun

  BASEBAND_HOST_DEVICE static int PartLength(int num_symbols) {
    const int half = num_symbols - num_symbols / 2;
    return half / kPllParts > 1 ? half / kPllParts : 1;
  }
  BASEBAND_HOST_DEVICE void Add(const PllState& state, int n, int num_symbols,
                                double start_frequency) {
    const double further = state.frequency - start_frequency;
    frequency += further;
    turns += state.turns - n * start_frequency;
    of_part += further;
    ++count;
    ++in_part;
    // No remainder of a division, which the chain of symbols would wait for.
    const int length = PartLength(num_symbols);
    if (in_part < length || count > kPllParts * length) return;
    squares += of_part * of_part;
    parts += of_part;
    of_part = 0.0;
    in_part = 0;
  }
  BASEBAND_HOST_DEVICE PllFound Found(double start_frequency, int num_symbols) const {
    const double centre = 0.5 * (num_symbols - 1);
    const double half_centre = num_symbols - 0.5 * (count + 1);
    const double length = PartLength(num_symbols);
    PllFound found;
    found.frequency = start_frequency + frequency / count;
    found.phase =
        turns / count + start_frequency * half_centre - found.frequency * (half_centre - centre);
    found.scatter =
        fmax(squares - parts * parts / kPllParts, 0.0) / ((kPllParts - 1) * length * length);
    return found;
  }
};

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

// What a symbol tells of the phase, from the sums over the loop's output: its own noise included.
BASEBAND_HOST_DEVICE inline double LoopInformation(const FitSums<double>& sums, int num_symbols) {
  return sums.curvature[0] * sums.curvature[0] / (fmax(sums.square[0], 1e-300) * num_symbols);
}

// What is left in the frame's second half of where the loop began, as a variance of the slope: of a
// frequency as far off as the line's bins are apart and, blind, of any phase within a symmetry.
BASEBAND_HOST_DEVICE inline double PllTransient(double bandwidth, double damping, double line_bin,
                                                int symmetry, int num_symbols) {
  const double natural = 2.0 * PllTheta(bandwidth, damping);  // radians per symbol
  const double over = damping > 1.0 ? sqrt(damping * damping - 1.0) : 0.0;
  const double left = exp(-natural * (damping - over) * 0.5 * num_symbols);
  const double phase = symmetry > 0 ? kTurn / 2 / symmetry * natural * num_symbols : 0.0;
  return left * left * (line_bin * line_bin / 12.0 + phase * phase / 3.0);
}

// The loop's frequency averaged over M symbols is the difference of two of its phases over M. What
// its parts scatter beyond that by more than chance is the carrier's own.
inline constexpr double kPllChance = 1.0;
BASEBAND_HOST_DEVICE inline Covariance PllCovariance(double bandwidth, double information,
                                                     const PllFound& found, double transient,
                                                     int num_symbols) {
  const double average = num_symbols - num_symbols / 2;
  const double loop = PllVariance(bandwidth, information);
  const double frequency = 2.0 * loop / (average * average);  // (radians per symbol)^2
  const double of_part = kPllParts * kPllParts * frequency;
  const double scatter = kTurn * kTurn * found.scatter;
  const double own = scatter > kPllChance * of_part ? scatter - of_part : 0.0;
  Covariance covariance;
  covariance.slope = (frequency + own) * num_symbols * num_symbols + transient;
  // About the second half's centre the two are nearly independent; then moved to the frame's.
  const double at_half = loop * fmin(1.0, 1.0 / (2.0 * bandwidth * average));
  covariance.phase = at_half + covariance.slope / 16.0;
  covariance.cross = -covariance.slope / 4.0;
  return covariance;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_PLL_MATH_H_
