// Of a frame some of whose symbols are known: what the others say, and what they say against the
// carrier that the known ones chose. For both devices.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_BESIDE_KNOWN_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_BESIDE_KNOWN_MATH_H_

#include <cmath>

#include "kernels/base/host_device.h"
#include "kernels/carrier/math/covariance_math.h"
#include "kernels/carrier/math/findings_math.h"
#include "kernels/carrier/math/frame_plan.h"
#include "kernels/carrier/math/known_math.h"
#include "kernels/carrier/model.h"
#include "kernels/carrier/recover.h"

namespace baseband::carrier {

// Data that chose between carriers near each other say this share of what they should, or it is one
// that is right for a part of the frame only.
inline constexpr double kLeastShareBesideKnown = 0.7;
// From so many nats on data are a judge.
inline constexpr double kDataJudges = 30.0;
// Whether peaks that were not looked at may be as good as the best: the weakest of those that were,
// of which there was no room for more, could be within kClose of it (`power` of its half bin over
// E), and the symbols that are not known are no judge (`data_fit`: what they should say). A few
// known symbols here and there have many side peaks.
BASEBAND_HOST_DEVICE inline bool MayHaveMissedPeaks(double power, double best_lambda,
                                                    double data_fit) {
  return power > 0.0 && power / static_cast<double>(kHalfBinShare) > best_lambda - kClose &&
         data_fit < kDataJudges;
}

// How much likelier the best line of known symbols is than the next peak, by these symbols alone.
// (Peaks that are far behind it are no hypotheses.)
BASEBAND_HOST_DEVICE inline double KnownPeakGap(const Findings& found) {
  const double apart = sqrt(found.peak) - sqrt(found.second_peak);
  return 2.0 / found.estimate.noise * sqrt(found.line_energy) * apart;
}

// What symbols that are not known say of the fit.
BASEBAND_HOST_DEVICE inline double FitOfData(const ModelView& model, const Findings& found) {
  const auto noise = static_cast<double>(model.facts[found.sums_table].noise);
  return found.sums.fit - FitByKnown(noise, found.known, found.apart);
}

// Whether data chose which of several carriers it is: known symbols tell little of the phase at the
// frame's end, or their own line has many peaks between bins. Beside a line of all symbols that is
// so even where the estimate is as unsure as known symbols leave it, for then data added nothing to
// what is noise's; and where known symbols suit several frequencies.
inline constexpr double kMostAlike = 0.25;  // of distances all alike; some may be far longer
BASEBAND_HOST_DEVICE inline bool RestsOnDataAlone(const ModelView& model,
                                                  const Parameters& parameters,
                                                  const Findings& found,
                                                  const Covariance& covariance) {
  if (found.bins_miss_peaks) return true;
  const double noise = found.estimate.noise;
  const bool unsure = IsEndUnsure(model, found.known, noise);
  if (parameters.coarse == Coarse::kPower) {
    return unsure || KnownPeaksAlike(found.known, noise, found.num_symbols) > kMostAlike;
  }
  if (!unsure) return false;
  const double t = found.known.energy[1] > 0.0 ? -0.5 : 0.5;
  const double told = covariance.phase + t * (2.0 * covariance.cross + t * covariance.slope);
  return told < 0.5 * EndVarianceByKnown(found.known, noise);
}

// Whether right ones may be too few, in so much noise, to choose between the line's branches: what
// makes the next branch less likely then is, x = 2 pi / power being the angle between them,
//   2 energy / noise (1 - cos x) < energy / noise min(x^2, 4) nats
// give or take the root of twice that. Of more, those that leave a branch open are wrong; and of
// many that are, noise seems more than it is.
inline constexpr int kFew = 4;
inline constexpr double kMostOfFew = 4.0 * kClose;  // below kClose in 3 of 1000 frames
BASEBAND_HOST_DEVICE inline bool AreTooFewToTell(const ModelView& model, const Findings& found) {
  const double angle = kTurn / model.power;
  return found.known.count <= kFew &&
         fmin(angle * angle, 4.0) * found.known.energy[0] < kMostOfFew * found.estimate.noise;
}

// Whether data make a lock as they would without known symbols. These add trials, the carriers and
// phases that they tell apart; a few do not add as much fit.
BASEBAND_HOST_DEVICE inline bool DataLock(const ModelView& model, const FramePlan& plan,
                                          const Findings& found, const Expected& expected,
                                          double data_fit, const FitLimit& limit) {
  if (!found.symbols_known || plan.known_line || !AreTooFewToTell(model, found)) return false;
  FitLimit of_data = limit;
  of_data.chance -= expected.ln_trials - expected.ln_blind_trials;
  return of_data.Admits(data_fit, expected.data_fit);
}

// Few known symbols happen to suit a line that noise made: data have to fit by themselves, better
// than ln(trials) + this. That is less than kLockMargin, for known symbols fit as well; and what
// the line has over ln(bins), which noise makes in exp(-that) of the searches, counts like a fit.
inline constexpr double kDataMargin = 5.0;
// Known symbols at distances of g say the same of carriers 1 / g apart, and the one in reach need
// not be the one that was sent. Data at another than their own look like noise, so that an estimate
// makes more of that and expects little of them; their amplitudes know of no such noise. From so
// many nats on that these promise, a half is asked for; but no more than nothing and chance, for
// they do not know a phase's unrest, either.
inline constexpr double kLeastFirstDataFit = 10.0;
inline constexpr double kLeastShareOfFirst = 0.5;
inline constexpr double kNextToNothing = 20.0;
BASEBAND_HOST_DEVICE inline bool IsBeyondReach(const Parameters& parameters, const FramePlan& plan,
                                               const Findings& found, const Expected& expected,
                                               double data_fit) {
  if (parameters.coarse != Coarse::kKnown || !(plan.known_limit < 0.5)) return false;
  return expected.first_data_fit > kLeastFirstDataFit &&
         data_fit + FitByKnownIsOffBy(found.known, 3.0) <
             fmin(kLeastShareOfFirst * expected.first_data_fit, kNextToNothing);
}

// What the symbols that are not known say against a lock: kLocked if nothing. `data_fit`:
// FitOfData; `limit`: of the frame.
BASEBAND_HOST_DEVICE inline Lock LockByData(const ModelView& model, const Parameters& parameters,
                                            const FramePlan& plan, const Findings& found,
                                            const Expected& expected, const Covariance& covariance,
                                            double data_fit, const FitLimit& limit) {
  const bool judges = expected.data_fit > kDataJudges;
  // What known symbols say of themselves may be all of the fit.
  if (judges &&
      data_fit + FitByKnownIsOffBy(found.known, 5.0) < kLeastFitShare * expected.data_fit) {
    return Lock::kBadFit;
  }
  if (IsBeyondReach(parameters, plan, found, expected, data_fit)) return Lock::kBadFit;
  if (!RestsOnDataAlone(model, parameters, found, covariance)) return Lock::kLocked;
  if (parameters.coarse == Coarse::kKnown &&
      (!judges || data_fit < kLeastShareBesideKnown * expected.data_fit)) {
    return Lock::kAmbiguous;
  }
  if (parameters.coarse == Coarse::kPower) {
    FitLimit of_data = limit;
    of_data.chance =
        expected.ln_trials + kDataMargin - fmax(found.peak - expected.ln_half_bins, 0.0);
    if (!of_data.Admits(data_fit, expected.data_fit)) return limit.below;
  }
  return Lock::kLocked;
}

// Whether known symbols leave carriers between which the others do not choose. `doubt`: see
// DecideLock.
BASEBAND_HOST_DEVICE inline bool LeavesCarriersOpen(const FramePlan& plan, const Findings& found,
                                                    const Expected& expected, double doubt) {
  if (plan.known_line) {
    return MayHaveMissedPeaks(found.weakest_peak, found.peak, expected.data_fit) ||
           KnownPeakGap(found) + expected.data_fit < kClose * doubt;
  }
  return plan.max_frequency > plan.known_limit * (1.0 + kPlanRounding) &&
         expected.data_fit < kDataJudges;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_BESIDE_KNOWN_MATH_H_
