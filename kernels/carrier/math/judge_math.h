// RecoverCarrier's last stage, for both devices: from a frame's sums to its Result. See
// recover_math.h for the stages before.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_JUDGE_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_JUDGE_MATH_H_

#include <cmath>

#include "kernels/base/host_device.h"
#include "kernels/carrier/math/beside_known_math.h"
#include "kernels/carrier/math/covariance_math.h"
#include "kernels/carrier/math/findings_math.h"
#include "kernels/carrier/math/frame_plan.h"
#include "kernels/carrier/math/hypothesis_math.h"
#include "kernels/carrier/math/known_math.h"
#include "kernels/carrier/math/misfit_math.h"
#include "kernels/carrier/math/pll_math.h"
#include "kernels/carrier/math/recover_math.h"
#include "kernels/carrier/model.h"
#include "kernels/carrier/recover.h"

namespace baseband::carrier {

// Of two lines of symbols to the power whose amplitudes differ by no more than this many deviations
// of that difference, chance may have made either the stronger: a phase that is modulated has lines
// on both sides of the carrier, and they outshine it from 1.43 / power radians on.
inline constexpr double kTwinDeviations = 4.0;
// Deviations of the frequency that are more than this share of 1 / N leave open which bin it is.
inline constexpr double kMaxFrequencyDeviation = 0.3;
// A phase that strays so that its slope is unsure by this, as a multiple of the edge between two of
// the constellation's symmetries, has passed that edge.
inline constexpr double kMaxStray = 1.5;
// How many deviations beyond max_frequency an estimate may lie to be held at it.
inline constexpr double kMaxBeyondRange = 3.0;

// Where a phase jumps in mid-frame to a place between the constellation's symmetries that some of
// its rings, those of more points, do not notice, another carrier may come out ahead: one that
// turns the others all along, a little wrong everywhere, in place of right in one part and wrong in
// the rest. What the best is ahead of the next then is little beside what as many symbols make it:
// below this share of that, and by more deviations less than it. (Passes that end early, by
// kDropped nats of those that were seen, stand for the rest.)
inline constexpr double kLeastGapShare = 0.3;
inline constexpr double kGapDeviations = 4.0;
BASEBAND_HOST_DEVICE inline bool IsAheadByTooLittle(const SnrFacts& facts, double rival,
                                                    int num_symbols) {
  const double expected = num_symbols * static_cast<double>(facts.alias_gap);
  const double missing = expected - rival;
  if (!(missing > (1.0 - kLeastGapShare) * expected)) return false;
  const double of_all = fmax(rival / static_cast<double>(kDropped), 1.0);
  const double variance = num_symbols * static_cast<double>(facts.alias_square) * of_all;
  return missing * missing > kGapDeviations * kGapDeviations * variance;
}

struct Judgement {
  Result result;       // all but bad_symbols
  Estimate turn_back;  // what the corrected symbols are turned back by
};

// Moves an estimate by whole periods into the range or, if it is beyond the end of that by a chance
// that its `deviation` allows, to the end. False if it is out of range. What is turned back so is
// turned by symmetries of the constellation.
BASEBAND_HOST_DEVICE inline bool HoldInRange(const FramePlan& plan, int num_symbols,
                                             double deviation, Estimate* estimate) {
  if (plan.period > 0.0) {
    const double periods = floor(estimate->frequency / plan.period + 0.5);
    estimate->frequency -= periods * plan.period;
    const double turns = periods * plan.period * (0.5 * (num_symbols - 1.0));
    estimate->phase -= turns - floor(turns);
    return true;
  }
  const double beyond = fabs(estimate->frequency) - plan.max_frequency;
  if (beyond <= 0.0) return true;
  if (!(beyond <= kMaxBeyondRange * deviation)) return false;
  estimate->frequency = copysign(plan.max_frequency, estimate->frequency);
  return true;
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

// Whether the next line is one as well, and may be the carrier as well as the best. Amplitudes are
// sqrt(lambda), each with a deviation of sqrt(1/2).
BASEBAND_HOST_DEVICE inline bool HasTwin(const Findings& found, double ln_half_bins) {
  return found.second_peak > ln_half_bins + kLockMargin &&
         sqrt(found.peak) - sqrt(found.second_peak) < kTwinDeviations;
}

BASEBAND_HOST_DEVICE inline Lock DecideLock(const ModelView& model, const Parameters& parameters,
                                            const FramePlan& plan, const Findings& found,
                                            const Expected& expected, bool in_range,
                                            const Covariance& covariance) {
  const int num_symbols = found.num_symbols;
  const FitLimit limit = FitLimitOf(parameters, found, expected);
  if (!in_range || found.elsewhere) return Lock::kNoPeak;
  const double data_fit = found.symbols_known ? FitOfData(model, found) : 0.0;
  if (!limit.Admits(found.sums.fit, expected.fit) &&
      !DataLock(model, plan, found, expected, data_fit, limit)) {
    return limit.below;
  }
  const bool slips = parameters.fine == Fine::kPll &&
                     PllSlips(static_cast<double>(parameters.pll_bandwidth),
                              LoopInformation(found.sums, num_symbols), model.symmetry);
  const bool vague =
      !(FrequencyDeviation(covariance, num_symbols) * num_symbols < kMaxFrequencyDeviation);
  const double edge = kTurn / 2 / (found.known.count == num_symbols ? 1 : model.symmetry);
  const bool strays = found.stray.lost || found.stray.slope > kMaxStray * edge * kMaxStray * edge;
  if (found.misfit > kMaxMisfit || found.too_even || found.unbalanced || slips || vague || strays) {
    return Lock::kBadFit;
  }
  const KnownFit known =
      FitOfKnown(model, found.estimate, found.known, covariance, found.apart, num_symbols);
  if (known.contradicts) return Lock::kBadFit;
  // Neither witnesses for a loop, which turns known symbols where it settles.
  if (found.symbols_known && parameters.fine != Fine::kPll) {
    const Lock by_data =
        LockByData(model, parameters, plan, found, expected, covariance, data_fit, limit);
    if (by_data != Lock::kLocked) return by_data;
  }
  // Where the phase strays, so do the likelihoods, by its excess more than noise makes them; and
  // where known symbols are not quite what was received.
  const double doubt = found.stray.excess + known.excess;
  if (found.rival <= kClose * (1.0 + doubt)) return Lock::kAmbiguous;
  // By the lower of two tables, of which more is not expected than there is.
  const int table =
      found.blunt_table < found.estimate.table ? found.blunt_table : found.estimate.table;
  if (!found.symbols_known && IsAheadByTooLittle(model.facts[table], found.rival, num_symbols)) {
    return Lock::kAmbiguous;
  }
  if (parameters.coarse == Coarse::kPower && HasTwin(found, expected.ln_half_bins)) {
    return Lock::kAmbiguous;
  }
  if (found.symbols_known && LeavesCarriersOpen(plan, found, expected, doubt)) {
    return Lock::kAmbiguous;
  }
  // A branch that cannot be told only makes the phase's period shorter: see AmbiguityOf.
  const bool wrong = found.symbols_known && found.close_branch && !AreTooFewToTell(model, found);
  return wrong ? Lock::kAmbiguous : Lock::kLocked;
}

// The order of which the phase is sure. The branches of a line of power p are 2 pi / p apart; where
// the constellation's inner rings, which alone tell them apart, drown in the noise, or known
// symbols are too few, the phase is the best guess, but sure only modulo that.
BASEBAND_HOST_DEVICE inline int AmbiguityOf(const ModelView& model, bool symbols_known,
                                            bool close_branch) {
  if (close_branch) return model.power;
  return symbols_known ? 1 : model.symmetry;
}

BASEBAND_HOST_DEVICE inline Judgement JudgeFrame(const ModelView& model,
                                                 const Parameters& parameters,
                                                 const FramePlan& plan, const Findings& found,
                                                 const Expected& expected) {
  const int num_symbols = found.num_symbols;
  const bool loops = parameters.fine == Fine::kPll;
  const double line_bin = kTurn * num_symbols / found.points / plan.line_power;
  Spread spread;
  spread.sums = found.sums;
  spread.information = found.information;
  spread.line = plan.known_line && parameters.fine == Fine::kInterpolate
                    ? LineOfFew(found.line, found.known, found.estimate.noise)
                    : found.line;
  spread.stray = found.stray;
  if (loops) {
    const auto bandwidth = static_cast<double>(parameters.pll_bandwidth);
    const double transient =
        PllTransient(bandwidth, static_cast<double>(parameters.pll_damping), line_bin,
                     found.symbols_known ? 0 : model.symmetry, num_symbols);
    spread.loop = PllCovariance(bandwidth, LoopInformation(found.sums, num_symbols), found.loop,
                                transient, num_symbols);
  }
  const Covariance covariance = MethodCovariance(parameters, spread, line_bin, num_symbols);
  const double deviation = FrequencyDeviation(covariance, num_symbols);

  Estimate held = found.estimate;
  if (loops) {
    held.frequency = found.loop.frequency;
    held.phase = found.loop.phase;
  }
  const bool in_range = HoldInRange(plan, num_symbols, deviation, &held);

  Judgement judgement;
  Result& result = judgement.result;
  const double from_centre = ReferenceFromCentre(parameters.reference, num_symbols);
  const double t = from_centre / num_symbols;
  const double turns = held.TurnsAt(from_centre);
  const int symmetry = found.symbols_known ? 1 : model.symmetry;
  const int ambiguity = AmbiguityOf(model, found.symbols_known, found.close_branch);
  result.frequency = held.frequency;
  result.coarse_frequency = found.coarse_frequency;
  result.phase = WrappedRadians(turns, ambiguity);
  result.frequency_stddev = static_cast<float>(deviation);
  result.phase_stddev = static_cast<float>(
      sqrt(fmax(covariance.phase + t * (2.0 * covariance.cross + t * covariance.slope),
                LeastVariance(num_symbols))));
  result.gain = static_cast<float>(held.gain);
  result.snr_db = static_cast<float>(fmin(expected.frame_snr_db, static_cast<double>(kMaxSnrDb)));
  result.evm = static_cast<float>(sqrt(found.distance));
  if (parameters.coarse != Coarse::kNone) {
    result.peak_ratio = static_cast<float>(found.peak / found.second_peak);
  }
  result.fit = static_cast<float>(found.sums.fit);
  result.lock = DecideLock(model, parameters, plan, found, expected, in_range, covariance);
  result.resolved =
      found.symbols_known && !found.close_branch ? Resolved::kKnownSymbols : Resolved::kNot;
  result.ambiguity = static_cast<uint16_t>(ambiguity);
  // By the best branch, though the phase may be sure of less.
  judgement.turn_back = loops ? found.estimate : held;
  judgement.turn_back.phase += WrappedRadians(turns, symmetry) / kTurn - turns;
  return judgement;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_JUDGE_MATH_H_
