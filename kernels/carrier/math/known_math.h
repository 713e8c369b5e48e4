// Whether a frame's known symbols are what was received where they are said to be. For both
// devices.
//
// Known symbols choose between carriers that data cannot tell apart; wrong ones choose the one that
// happens to suit them best. With z a symbol turned back, k the known one and theta the angle
// between them, what is left at the chosen carrier is
//   T = (2 / s2) sum of (|z| |k| - Re(z conj(k))) = sum of x (1 - cos theta),  x = 2 |z| |k| / s2.
// Of right ones theta has, given |z|, the density exp(x cos theta) / (2 pi I0(x)): so
//   E exp(t x (1 - cos theta)) = exp(t x) I0(x - t x) / I0(x) <= (1 - t)^-kKnownShape
// for all x >= 0 and 0 <= t < 1 (known_test.cc). So T exceeds what a gamma variable of shape
// m = kKnownShape times their number is told to stay below,
//   m + sqrt(2 m y) + y,
// with a chance of exp(-y) at most (Boucheron, Lugosi, Massart 2013, section 2.4: the bound needs
// no more than that). Known symbols that are said to be c times too large leave c times T; what a
// phase may leave of them, see FitOfKnown, grows by c^2.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_KNOWN_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_KNOWN_MATH_H_

#include <cmath>

#include "kernels/base/host_device.h"
#include "kernels/carrier/math/covariance_math.h"
#include "kernels/carrier/math/newton_math.h"
#include "kernels/carrier/math/recover_math.h"
#include "kernels/carrier/model.h"

namespace baseband::carrier {

inline constexpr double kKnownShape = 0.61;
// y: right ones are taken for wrong in one frame of a million; in one of seven they leave a doubt.
inline constexpr double kKnownChance = 14.0;
inline constexpr double kKnownDoubt = 2.0;
// Where the noise is a phase's alone, a symbol of energy e leaves e times the square of a normal
// variable: of those, no more than one frame in a hundred.
inline constexpr double kKnownPhaseChance = 5.0;
// And so many deviations of the phase at each symbol, as the method leaves it unsure.
inline constexpr double kKnownDeviations = 3.0;
// What cut-off pulses at a frame's ends leave, or a line's own modulation, is no contradiction: no
// less noise than this is held against them. Wrong ones are a hundred times further off.
inline constexpr double kLeastKnownNoise = 1e-3;

// |z| |known| - Re(z conj(known)): of small angles without a difference of large numbers.
BASEBAND_HOST_DEVICE inline float TurnedApart(Iq z, Iq known) {
  const float along = fmaf(z.i, known.i, z.q * known.q);
  const float across = fmaf(z.q, known.i, -z.i * known.q);
  const float product = sqrtf(fmaf(along, along, across * across));
  return along > 0.0F ? across * across / (product + along) : product - along;
}

// What T may be by chance; `variance`: that of ln s2.
BASEBAND_HOST_DEVICE inline double MostTurnedApart(double shape, double variance, double chance) {
  return shape + sqrt(2.0 * chance * shape * (1.0 + shape * variance)) + chance;
}

struct KnownFit {
  bool contradicts = false;
  double excess = 0.0;  // of T over what chance and the estimate leave, as a share
};

// `apart`: the sum of TurnedApart at the estimate, whose noise is that of all symbols, and `unsure`
// its covariance. Of the known symbols' own fourth moment that of the constellation is taken.
BASEBAND_HOST_DEVICE inline KnownFit FitOfKnown(const ModelView& view, const Estimate& estimate,
                                                const KnownMoments& known, const Covariance& unsure,
                                                double apart, int num_symbols) {
  KnownFit fit;
  if (known.count == 0) return fit;
  // Of few symbols the residuals say too little of the noise, and of any it is unsure.
  const double noise =
      fmax(estimate.noise, kLeastKnownNoise) * num_symbols / (num_symbols - kTakenByFit);
  const double response = static_cast<double>(view.facts[estimate.table].noise_response);
  const double variance = 1.0 / ((num_symbols - kTakenByFit) * response * response);
  const double shape = kKnownShape * known.count;
  const double t = 2.0 * apart / noise;
  const double turned = kKnownDeviations * kKnownDeviations / noise *
                        (unsure.phase * known.energy[0] + 2.0 * unsure.cross * known.energy[1] +
                         unsure.slope * known.energy[2]);
  // The squares' bound is that of a gamma variable of shape 1/2 and scale 2.
  const double scale =
      2.0 * static_cast<double>(view.fourth_moment) * known.energy[0] / known.count;
  const double by_phase = known.energy[0] +
                          sqrt(2.0 * kKnownPhaseChance * known.energy[0] * scale) +
                          kKnownPhaseChance * scale;
  fit.contradicts = t > MostTurnedApart(shape, variance, kKnownChance) && t > by_phase + turned;
  fit.excess = fmax(t / (MostTurnedApart(shape, variance, kKnownDoubt) + turned) - 1.0, 0.0);
  return fit;
}

// What known symbols say of a frame's `fit`, nats: the sum over them of
//   x cos(theta) - ln I0(x),  x = 2 |z| |k| / s2,  s2 = `noise` of the table that `fit` was made
//   in,
// where ln I0(x) is taken for x - ln(2 pi x) / 2 and |z| for |k|. From -3 dB on that is right
// within 0.03 nats a symbol on average, with a deviation of 0.32 (below, it is too little); five of
// their deviations are allowed for.
BASEBAND_HOST_DEVICE inline double FitByKnown(double noise, const KnownMoments& known,
                                              double apart) {
  const double logarithms = known.count * log(2.0 * kTurn / noise) + known.log_energy;
  return fmax(0.5 * logarithms, 0.0) - 2.0 * apart / noise;
}
BASEBAND_HOST_DEVICE inline double FitByKnownIsOffBy(const KnownMoments& known, double deviations) {
  return 0.03 * known.count + deviations * 0.32 * sqrt(static_cast<double>(known.count));
}

// Where the known symbols' own line leaves the phase at the frame's further end so unsure, as a
// part of the angle between two points, it may come to rest at others than those that were sent;
// and the data say the less against that, the nearer it is.
inline constexpr double kMostUnsureEnd = 0.3;

// The variance of the phase there by known symbols alone, radians^2; infinite of a single one.
BASEBAND_HOST_DEVICE inline double EndVarianceByKnown(const KnownMoments& known, double noise) {
  const double middle = known.energy[1] / known.energy[0];
  const double spread = known.energy[2] / known.energy[0] - middle * middle;
  const double to_end = 0.5 + fabs(middle);
  return 0.5 * noise / known.energy[0] * (1.0 + to_end * to_end / fmax(spread, 1e-30));
}
BASEBAND_HOST_DEVICE inline bool IsEndUnsure(const ModelView& view, const KnownMoments& known,
                                             double noise) {
  const double most = kMostUnsureEnd * static_cast<double>(view.spacing);
  return EndVarianceByKnown(known, noise) > most * most;
}

// Blocks of known symbols have a line with peaks 1 / (their distance) apart, the k-th lower by
// energy / noise (pi k length / distance)^2 / 3 nats: how many are within kDoubt of the best.
// `distances`: over lengths.
BASEBAND_HOST_DEVICE inline double PeaksAlike(double distances, const KnownMoments& known,
                                              double noise) {
  return distances / (kTurn / 2) *
         sqrt(3.0 * static_cast<double>(kDoubt) * noise / known.energy[0]);
}
// If they lie all over the frame, and the distances are all alike.
BASEBAND_HOST_DEVICE inline double KnownPeaksAlike(const KnownMoments& known, double noise,
                                                   int num_symbols) {
  return PeaksAlike(static_cast<double>(num_symbols) / known.count, known, noise);
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_KNOWN_MATH_H_
