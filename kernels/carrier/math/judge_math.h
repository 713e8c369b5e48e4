// RecoverCarrier's last stage, for both devices: from a frame's sums to its Result. See
// recover_math.h for the stages before.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_JUDGE_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_JUDGE_MATH_H_

#include <cmath>
#include <cstdint>

#include "kernels/carrier/math/line_math.h"
#include "kernels/carrier/math/recover_math.h"
#include "kernels/carrier/model.h"
#include "kernels/carrier/recover.h"

namespace baseband::carrier {

// A frame without a carrier fits better than ln(trials) + this once in a million: see model.h, fit.
inline constexpr double kLockMargin = 14.0;
// The best hypothesis is doubted if another is within this, nats.
inline constexpr double kClose = 7.0;
// A line this far above ln(bins) of the mean is one, though the symbols do not fit the points.
inline constexpr double kPeakMargin = 5.0;
// The amplitudes are those of another constellation if they differ by this, see Misfit.
inline constexpr double kMaxMisfit = 0.05;
// So are the phases if the fit is this share of what the SNR should give.
inline constexpr double kLeastFitShare = 0.25;
inline constexpr int kMisfitClasses = 64;
// Of the frame: known symbols need not be the constellation's, and they are in the histogram too.
inline constexpr double kMaxKnownForMisfit = 0.02;

// Variances; of the phase in radians at the centre, and of the radians gained over N symbols.
struct Covariance {
  double phase = 0.0;
  double cross = 0.0;
  double slope = 0.0;
};

// Of the root of a score with these `information` (its slope) and `square` (its own covariance), as
// that of a maximum-likelihood estimate whose model is not quite right.
BASEBAND_HOST_DEVICE inline Covariance Sandwich(const Information& information,
                                                const double* square) {
  Covariance covariance;
  const double det = information.determinant();
  if (!(det > 1e-9 * information.phase * information.slope)) {
    if (information.phase > 0.0) {
      covariance.phase = square[0] / (information.phase * information.phase);
    }
    return covariance;
  }
  const double a = information.slope / det;  // the inverse: a, b; b, c
  const double b = -information.cross / det;
  const double c = information.phase / det;
  covariance.phase = a * a * square[0] + 2.0 * a * b * square[1] + b * b * square[2];
  covariance.cross = a * b * square[0] + (a * c + b * b) * square[1] + b * c * square[2];
  covariance.slope = b * b * square[0] + 2.0 * b * c * square[1] + c * c * square[2];
  return covariance;
}

// Of the line itself, from its blocks at nu + delta / L: only noise across the line turns it. Added
// up over the blocks; `turn` as in LineAt::Add, `phase` the line's own, t = LineBlockCentre / N.
struct LineSpread {
  Information information;
  double square[3] = {};

  BASEBAND_HOST_DEVICE void Add(const LineBlock& block, Turned turn, Turned phase, double t) {
    const double c = static_cast<double>(turn.c) * phase.c - static_cast<double>(turn.s) * phase.s;
    const double s = static_cast<double>(turn.s) * phase.c + static_cast<double>(turn.c) * phase.s;
    const double along = block.sum.i * c + block.sum.q * s;
    const double twice =
        block.square.i * (c * c - s * s) + block.square.q * 2.0 * s * c;  // Re(y^2 conj(turn^2))
    const double across = 0.5 * (block.energy - twice);  // of the squares of the quadrature part
    information.phase += along;
    information.cross += t * along;
    information.slope += t * t * along;
    square[0] += across;
    square[1] += t * across;
    square[2] += t * t * across;
  }
  // `power` of the line: the carrier's angles are the line's divided by it.
  BASEBAND_HOST_DEVICE Covariance OfCarrier(int power) const {
    Covariance covariance = Sandwich(information, square);
    const double scale = 1.0 / (static_cast<double>(power) * power);
    covariance.phase *= scale;
    covariance.cross *= scale;
    covariance.slope *= scale;
    return covariance;
  }
};

// By how much the histogram of amplitudes differs from the model's at this SNR: chi-squared over 64
// classes, less what chance gives, divided by the number of symbols, so that it does not grow with
// the frame. 0 above the tables' SNRs, where the model has wider rings than the frame. `rms_ratio`:
// sqrt(A^2 + noise) by the estimate over the rms of the frame, to which the bins are relative.
BASEBAND_HOST_DEVICE inline double ExpectedShare(const float* amplitude, int bin,
                                                 double rms_ratio) {
  const double place = fmin(fmax((bin + 0.5) / rms_ratio - 0.5, 0.0), kAmplitudeBins - 1.0);
  const int low = static_cast<int>(fmin(place, kAmplitudeBins - 2.0));
  const double ln_density =
      amplitude[low] + (place - low) * (static_cast<double>(amplitude[low + 1]) - amplitude[low]);
  const double width = kAmplitudeExtent / kAmplitudeBins / rms_ratio;
  return exp(ln_density) * kTurn * (bin + 0.5) * width * width;
}
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

// E[fit] of a symbol at an SNR: ln-linear between the tables, constant beyond them.
BASEBAND_HOST_DEVICE inline double ExpectedFit(const ModelView& view, double snr_db) {
  const double place =
      fmin(fmax((snr_db - view.facts[0].snr_db) / kSnrStepDb, 0.0), view.num_snrs - 1.0);
  const int k = static_cast<int>(fmin(place, view.num_snrs - 2.0));
  const double low = log(fmax(static_cast<double>(view.facts[k].fit), 1e-12));
  const double high = log(fmax(static_cast<double>(view.facts[k + 1].fit), 1e-12));
  return exp(low + (place - k) * (high - low));
}

// The same of a whole frame. A known symbol's, whose ln I0 is nearly x - ln(2 pi x) / 2 at
// x = 2 |z| |s| / s2: (ln(4 pi snr |s|^2) - 1) / 2.
BASEBAND_HOST_DEVICE inline double ExpectedFrameFit(const ModelView& view,
                                                    const KnownMoments& known, int num_symbols,
                                                    double snr_db) {
  const double data = (num_symbols - known.count) * ExpectedFit(view, snr_db);
  if (known.count == 0) return data;
  const double energy = known.energy[0] / known.count;
  const double each = 0.5 * (log(2.0 * kTurn * energy) + 0.1 * snr_db * log(10.0) - 1.0);
  return data + known.count * fmax(each, 0.0);
}

// Whether peaks that were not looked at may be as good as the best: the weakest of those that were,
// of which there was no room for more, could be within kClose of it (`power` of its half bin over
// E), and the symbols that are not known are no judge (`data_fit`: what they should say). A few
// known symbols here and there have many side peaks.
inline constexpr double kDataJudges = 30.0;
BASEBAND_HOST_DEVICE inline bool MayHaveMissedPeaks(double power, double best_lambda,
                                                    double data_fit) {
  return power / static_cast<double>(kHalfBinShare) > best_lambda - kClose &&
         data_fit < kDataJudges;
}

// What S1 to S5 came to.
struct Evidence {
  double fit = 0.0;           // at the last estimate, all symbols
  double ln_trials = 0.0;     // of frequencies and phases that were tried
  double peak = 0.0;          // lambda of the best peak; negative: there was no search
  double ln_bins = 0.0;       // of the bins that were searched
  double misfit = 0.0;        // Misfit, or 0 if more than kMaxKnownForMisfit are known
  double expected_fit = 0.0;  // ExpectedFrameFit
  bool close_peak = false;    // another peak's CoarseFit was within kClose of the best
  bool close_branch = false;  // another branch's of the same peak was
  bool slips = false;         // the loop cannot be trusted to keep its phase, see PllSlips
};

// ln of the number of frequencies and phases that were tried: half bins of the line within
// +-max_frequency, or 1; candidates of a sweep, or 1; branches.
BASEBAND_HOST_DEVICE inline double LnTrials(double half_bins, double candidates, double branches) {
  return log(fmax(half_bins, 1.0)) + log(fmax(candidates, 1.0)) + log(fmax(branches, 1.0));
}

BASEBAND_HOST_DEVICE inline Lock DecideLock(const Evidence& evidence, bool symbols_known) {
  const bool fits = evidence.fit > evidence.ln_trials + kLockMargin &&
                    evidence.fit >= kLeastFitShare * evidence.expected_fit;
  const bool peak = evidence.peak < 0.0 || evidence.peak > evidence.ln_bins + kPeakMargin;
  if (!fits) return peak ? Lock::kBadFit : Lock::kNoPeak;
  if (evidence.misfit > kMaxMisfit || evidence.slips) return Lock::kBadFit;
  if (evidence.close_peak) return Lock::kAmbiguous;
  // Blind, a branch that cannot be told only makes the phase's period shorter: see AmbiguityOf.
  if (symbols_known && evidence.close_branch) return Lock::kAmbiguous;
  return Lock::kLocked;
}

// The order of which the phase is sure. The branches of a line of power p are 2 pi / p apart; where
// the constellation's inner rings, which alone tell them apart, drown in the noise, the phase is
// the best guess, but sure only modulo that.
BASEBAND_HOST_DEVICE inline int AmbiguityOf(const ModelView& view, bool symbols_known,
                                            bool close_branch) {
  if (symbols_known) return 1;
  return close_branch ? view.power : view.symmetry;
}

// `turns` in radians, [-pi / order, pi / order).
BASEBAND_HOST_DEVICE inline double WrappedRadians(double turns, int order) {
  const double periods = turns * order;
  return (periods - floor(periods + 0.5)) * kTurn / order;
}

BASEBAND_HOST_DEVICE inline double ReferenceFromCentre(Reference reference, int num_symbols) {
  const double half = 0.5 * (num_symbols - 1);
  if (reference == Reference::kCentre) return 0.0;
  return reference == Reference::kFirst ? -half : half;
}

// The fields that come from the estimate alone. `covariance` is that of the method that made it;
// `order`: the symmetry within which the phase is reported.
BASEBAND_HOST_DEVICE inline void SetEstimate(const Estimate& estimate, const Covariance& covariance,
                                             Reference reference, int num_symbols, int order,
                                             Result* result) {
  const double from_centre = ReferenceFromCentre(reference, num_symbols);
  const double t = from_centre / num_symbols;
  result->frequency = estimate.frequency;
  result->phase = WrappedRadians(estimate.TurnsAt(from_centre), order);
  result->frequency_stddev =
      static_cast<float>(sqrt(fmax(covariance.slope, 0.0)) / (kTurn * num_symbols));
  result->phase_stddev = static_cast<float>(
      sqrt(fmax(covariance.phase + t * (2.0 * covariance.cross + t * covariance.slope), 0.0)));
  result->gain = static_cast<float>(estimate.gain);
  result->snr_db =
      static_cast<float>(fmin(-10.0 * log10(estimate.noise), static_cast<double>(kMaxSnrDb)));
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_JUDGE_MATH_H_
