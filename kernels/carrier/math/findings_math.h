// What a frame came to before it is judged, and what one like it should have come to. For both
// devices.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_FINDINGS_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_FINDINGS_MATH_H_

#include <cmath>

#include "kernels/base/host_device.h"
#include "kernels/carrier/math/covariance_math.h"
#include "kernels/carrier/math/decisions_math.h"
#include "kernels/carrier/math/frame_plan.h"
#include "kernels/carrier/math/hypothesis_math.h"
#include "kernels/carrier/math/newton_math.h"
#include "kernels/carrier/math/pll_math.h"
#include "kernels/carrier/math/recover_math.h"
#include "kernels/carrier/math/stray_math.h"
#include "kernels/carrier/model.h"
#include "kernels/carrier/recover.h"

namespace baseband::carrier {

// A frame without a carrier fits better than ln(trials) + this once in a million: see model.h, fit.
inline constexpr double kLockMargin = 14.0;
// A line this far above ln(bins) of the mean is one, though the symbols do not fit the points.
inline constexpr double kPeakMargin = 5.0;
// The phases are those of another constellation if the fit is this share of what the SNR should
// give.
inline constexpr double kLeastFitShare = 0.25;
// A line of symbols to the power that is less than this above ln(bins) may be noise's, that is in
// exp(-3) of the searches; beside one as high the symbols may by chance lie at many of the points.
// It is believed if they fit nearly as well as they should.
inline constexpr double kWeakPeakMargin = 3.0;
inline constexpr double kWeakPeakFitShare = 0.85;

// What S1 to S5 came to: all that a frame is judged by. The last four come of a look at the frame
// as a whole, and ExpectedOf needs none of them.
struct Findings {
  int num_symbols = 0;
  int points = 0;  // of the FFT
  bool symbols_known = false;
  KnownMoments known;
  double first_snr_db = 0.0;  // S1's, by the amplitudes alone, if something is known
  Estimate estimate;          // of the last round, its step included
  FitSums<double> sums;       // of the last round, GainOfStep included
  int sums_table = 0;         // that they were made in
  Information information;    // UsedInformation there
  Covariance line;  // of the line where the estimate is, for methods that take it from there
  PllFound loop;    // Fine::kPll
  double coarse_frequency = 0.0;
  double line_energy = 0.0;      // of the line's symbols
  double peak = 0.0;             // lambda of the best line
  double second_peak = 1.0;      // and of the next; the mean of the bins if there is no other
  double weakest_peak = 0.0;     // its half bin's lambda, if there may be more peaks; else 0
  bool bins_miss_peaks = false;  // HalfBin::misses, of known symbols' line
  double rival = kNoRival;       // how far the next line or alias was behind the best: WholeGap
  int blunt_table = 0;           // that these fits are of
  bool elsewhere = false;        // an alias out of range is likelier by far
  bool close_branch = false;     // another branch's of the same one was
  double distance = 0.0;         // mean squared distance to the nearest or known point, A being 1
  double apart = 0.0;            // sum of TurnedApart over the known symbols
  Stray stray;
  double misfit = 0.0;      // Misfit, or 0 if more than kMaxKnownForMisfit are known
  bool too_even = false;    // IsTooEven, likewise
  bool unbalanced = false;  // IsUnbalanced
};

// What a frame like this should show, and what chance does.
struct Expected {
  double snr_db = 0.0;          // of the soft decisions' noise
  double frame_snr_db = 0.0;    // SnrOfFrame
  double fit = 0.0;             // ExpectedFrameFit
  double data_fit = 0.0;        // of the symbols that are not known, if some are
  double first_data_fit = 0.0;  // the same at first_snr_db
  double ln_trials = 0.0;
  double ln_blind_trials = 0.0;  // without what known symbols tell apart
  double ln_half_bins = 0.0;
};

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
  const double each = 0.5 * (log(2.0 * kTurn * energy) + 0.1 * snr_db * kLn10 - 1.0);
  return data + known.count * fmax(each, 0.0);
}

// ln of the number of frequencies and phases that were tried: half bins of the line within
// +-max_frequency, or 1; candidates of a sweep, or 1; aliases; branches.
BASEBAND_HOST_DEVICE inline double LnTrials(const FramePlan& plan, int candidates, int branches) {
  const double aliases =
      fmin(floor(2.0 * plan.reach * plan.line_power) + 1.0, static_cast<double>(branches));
  return log(fmax(plan.half_bins, 1.0) * candidates * branches * aliases);
}

BASEBAND_HOST_DEVICE inline Expected ExpectedOf(const ModelView& model,
                                                const Parameters& parameters, const FramePlan& plan,
                                                const Findings& found) {
  const int num_symbols = found.num_symbols;
  Expected expected;
  expected.snr_db = -10.0 * log10(found.estimate.noise);
  expected.frame_snr_db = SnrOfFrame(model, expected.snr_db, found.distance, num_symbols,
                                     static_cast<double>(found.known.count) / num_symbols);
  expected.fit = ExpectedFrameFit(model, found.known, num_symbols, expected.snr_db);
  if (found.symbols_known) {
    const int data = num_symbols - found.known.count;
    expected.data_fit = data * ExpectedFit(model, expected.snr_db);
    expected.first_data_fit = data * ExpectedFit(model, found.first_snr_db);
  }
  const int candidates = NumCandidates(parameters, num_symbols);
  expected.ln_trials = LnTrials(plan, candidates, plan.branches);
  expected.ln_blind_trials = LnTrials(plan, candidates, model.power / model.symmetry);
  if (parameters.coarse != Coarse::kNone) expected.ln_half_bins = log(plan.half_bins);
  return expected;
}

// What a fit has to be for a lock, and what a frame with less is.
struct FitLimit {
  double chance = 0.0;  // nats
  double share = 0.0;   // of what is expected
  Lock below = Lock::kNoPeak;

  BASEBAND_HOST_DEVICE bool Admits(double fit, double expected) const {
    return fit > chance && fit >= share * expected;
  }
};

BASEBAND_HOST_DEVICE inline FitLimit FitLimitOf(const Parameters& parameters, const Findings& found,
                                                const Expected& expected) {
  const bool weak =
      parameters.coarse == Coarse::kPower && found.peak < expected.ln_half_bins + kWeakPeakMargin;
  const bool peak =
      parameters.coarse == Coarse::kNone || found.peak > expected.ln_half_bins + kPeakMargin;
  FitLimit limit;
  limit.chance = expected.ln_trials + kLockMargin;
  limit.share = weak ? kWeakPeakFitShare : kLeastFitShare;
  limit.below = peak ? Lock::kBadFit : Lock::kNoPeak;
  return limit;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_FINDINGS_MATH_H_
