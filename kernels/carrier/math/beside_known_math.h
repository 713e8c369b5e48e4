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
// Whether peaks that were not looked at may be as good as the best: the weakest of those that were,
// of which there was no room for more, could be within kClose of it (`power` of its half bin over
// E), and the symbols that are not known are no judge (`data_fit`: what they should say). A few
// known symbols here and there have many side peaks.
inline constexpr double kDataJudges = 30.0;
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

// What symbols that are not known say of the fit, if it was made in `table`.
BASEBAND_HOST_DEVICE inline double FitOfData(const ModelView& model, const Findings& found,
                                             int table) {
  const auto noise = static_cast<double>(model.facts[table].noise);
  return found.sums.fit - FitByKnown(noise, found.known, found.apart);
}
// The most that may be: the estimate's table may be the next to it by now.
BASEBAND_HOST_DEVICE inline double MostFitOfData(const ModelView& model, const Findings& found) {
  double most = FitOfData(model, found, found.estimate.table);
  if (found.estimate.table > 0) {
    most = fmax(most, FitOfData(model, found, found.estimate.table - 1));
  }
  if (found.estimate.table + 1 < model.num_snrs) {
    most = fmax(most, FitOfData(model, found, found.estimate.table + 1));
  }
  return most;
}

// Whether known symbols tell so little of the phase at the frame's end, or their line has so many
// peaks between bins, that data chose which of several carriers it is.
BASEBAND_HOST_DEVICE inline bool RestsOnDataAlone(const ModelView& model, const Findings& found,
                                                  const Covariance& covariance) {
  if (found.bins_miss_peaks) return true;
  if (!IsEndUnsure(model, found.known, found.estimate.noise)) return false;
  const double t = found.known.energy[1] > 0.0 ? -0.5 : 0.5;
  const double told = covariance.phase + t * (2.0 * covariance.cross + t * covariance.slope);
  return told < 0.5 * EndVarianceByKnown(found.known, found.estimate.noise);
}

// What the symbols that are not known say against a lock: kLocked if nothing. `limit`: of the
// frame.
BASEBAND_HOST_DEVICE inline Lock LockByData(const ModelView& model, const Parameters& parameters,
                                            const Findings& found, const Expected& expected,
                                            const Covariance& covariance, const FitLimit& limit) {
  const bool judges = expected.data_fit > kDataJudges;
  const double data_fit = MostFitOfData(model, found);
  // What known symbols say of themselves may be all of the fit.
  if (judges && data_fit + FitByKnownIsOffBy(found.known) < kLeastFitShare * expected.data_fit) {
    return Lock::kBadFit;
  }
  if (!RestsOnDataAlone(model, found, covariance)) return Lock::kLocked;
  if (parameters.coarse == Coarse::kKnown &&
      (!judges || data_fit < kLeastShareBesideKnown * expected.data_fit)) {
    return Lock::kAmbiguous;
  }
  // And may make a lock of a line that is noise's, which few known symbols happen to suit.
  if (parameters.coarse == Coarse::kPower && !limit.Admits(data_fit, expected.data_fit)) {
    return limit.below;
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
