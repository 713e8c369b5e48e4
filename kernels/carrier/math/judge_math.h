// RecoverCarrier's last stage, for both devices: from a frame's sums to its Result. See
// recover_math.h for the stages before.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_JUDGE_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_JUDGE_MATH_H_

#include <cmath>

#include "kernels/carrier/math/covariance_math.h"
#include "kernels/carrier/math/decisions_math.h"
#include "kernels/carrier/math/frame_plan.h"
#include "kernels/carrier/math/hypothesis_math.h"
#include "kernels/carrier/math/known_math.h"
#include "kernels/carrier/math/kurtosis_math.h"
#include "kernels/carrier/math/misfit_math.h"
#include "kernels/carrier/math/pll_math.h"
#include "kernels/carrier/math/recover_math.h"
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
// Data that chose between carriers near each other say this share of what they should, or it is one
// that is right for a part of the frame only.
inline constexpr double kLeastShareBesideKnown = 0.7;
// A line of symbols to the power that is less than this above ln(bins) may be noise's, that is in
// exp(-3) of the searches; beside one as high the symbols may by chance lie at many of the points.
// It is believed if they fit nearly as well as they should.
inline constexpr double kWeakPeakMargin = 3.0;
inline constexpr double kWeakPeakFitShare = 0.85;
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

// What S1 to S5 came to: all that a frame is judged by. The last four come of a look at the frame
// as a whole, and ExpectedOf needs none of them.
struct Findings {
  int num_symbols = 0;
  int points = 0;  // of the FFT
  bool symbols_known = false;
  KnownMoments known;
  Estimate estimate;        // of the last round, its step included
  FitSums<double> sums;     // of the last round, GainOfStep included
  Information information;  // UsedInformation there
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
  double snr_db = 0.0;        // of the soft decisions' noise
  double frame_snr_db = 0.0;  // SnrOfFrame
  double fit = 0.0;           // ExpectedFrameFit
  double data_fit = 0.0;      // of the symbols that are not known, if some are
  double ln_trials = 0.0;
  double ln_half_bins = 0.0;
};

struct Judgement {
  Result result;       // all but bad_symbols
  Estimate turn_back;  // what the corrected symbols are turned back by
};

// ln of the number of frequencies and phases that were tried: half bins of the line within
// +-max_frequency, or 1; candidates of a sweep, or 1; aliases; branches.
BASEBAND_HOST_DEVICE inline double LnTrials(const FramePlan& plan, int candidates) {
  const double aliases =
      fmin(floor(2.0 * plan.reach * plan.line_power) + 1.0, static_cast<double>(plan.branches));
  return log(fmax(plan.half_bins, 1.0) * candidates * plan.branches * aliases);
}

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

// How much likelier the best line of known symbols is than the next peak, by these symbols alone.
// (Peaks that are far behind it are no hypotheses.)
BASEBAND_HOST_DEVICE inline double KnownPeakGap(const Findings& found) {
  const double apart = sqrt(found.peak) - sqrt(found.second_peak);
  return 2.0 / found.estimate.noise * sqrt(found.line_energy) * apart;
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
    expected.data_fit = (num_symbols - found.known.count) * ExpectedFit(model, expected.snr_db);
  }
  expected.ln_trials = LnTrials(plan, NumCandidates(parameters, num_symbols));
  if (parameters.coarse != Coarse::kNone) expected.ln_half_bins = log(plan.half_bins);
  return expected;
}

// Whether the next line is one as well, and may be the carrier as well as the best. Amplitudes are
// sqrt(lambda), each with a deviation of sqrt(1/2).
BASEBAND_HOST_DEVICE inline bool HasTwin(const Findings& found, double ln_half_bins) {
  return found.second_peak > ln_half_bins + kLockMargin &&
         sqrt(found.peak) - sqrt(found.second_peak) < kTwinDeviations;
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

BASEBAND_HOST_DEVICE inline Lock DecideLock(const ModelView& model, const Parameters& parameters,
                                            const FramePlan& plan, const Findings& found,
                                            const Expected& expected, bool in_range,
                                            const Covariance& covariance) {
  const int num_symbols = found.num_symbols;
  const bool weak =
      parameters.coarse == Coarse::kPower && found.peak < expected.ln_half_bins + kWeakPeakMargin;
  const bool fits = found.sums.fit > expected.ln_trials + kLockMargin &&
                    found.sums.fit >= (weak ? kWeakPeakFitShare : kLeastFitShare) * expected.fit;
  const bool peak =
      parameters.coarse == Coarse::kNone || found.peak > expected.ln_half_bins + kPeakMargin;
  if (!in_range || found.elsewhere) return Lock::kNoPeak;
  if (!fits) return peak ? Lock::kBadFit : Lock::kNoPeak;
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
    const bool judges = expected.data_fit > kDataJudges;
    const double data_fit = MostFitOfData(model, found);
    // What known symbols say of themselves may be all of the fit.
    if (judges && data_fit + FitByKnownIsOffBy(found.known) < kLeastFitShare * expected.data_fit) {
      return Lock::kBadFit;
    }
    const bool alone = RestsOnDataAlone(model, found, covariance);
    if (alone && parameters.coarse == Coarse::kKnown &&
        (!judges || data_fit < kLeastShareBesideKnown * expected.data_fit)) {
      return Lock::kAmbiguous;
    }
    // And may make a lock of a line that is noise's, which few known symbols happen to suit.
    if (alone && parameters.coarse == Coarse::kPower &&
        data_fit < fmax(expected.ln_trials + kLockMargin,
                        (weak ? kWeakPeakFitShare : kLeastFitShare) * expected.data_fit)) {
      return peak ? Lock::kBadFit : Lock::kNoPeak;
    }
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
  if (!found.symbols_known) return Lock::kLocked;
  // Symbols that are not known judge what the known ones cannot tell.
  if (plan.known_line) {
    if (MayHaveMissedPeaks(found.weakest_peak, found.peak, expected.data_fit)) {
      return Lock::kAmbiguous;
    }
    const double gap = KnownPeakGap(found) + expected.data_fit;
    if (gap < kClose * doubt) return Lock::kAmbiguous;
  } else if (plan.max_frequency > plan.known_limit * (1.0 + kPlanRounding) &&
             expected.data_fit < kDataJudges) {
    return Lock::kAmbiguous;
  }
  // Blind, a branch that cannot be told only makes the phase's period shorter: see AmbiguityOf.
  return found.close_branch ? Lock::kAmbiguous : Lock::kLocked;
}

// The order of which the phase is sure. The branches of a line of power p are 2 pi / p apart; where
// the constellation's inner rings, which alone tell them apart, drown in the noise, the phase is
// the best guess, but sure only modulo that.
BASEBAND_HOST_DEVICE inline int AmbiguityOf(const ModelView& model, bool symbols_known,
                                            bool close_branch) {
  if (symbols_known) return 1;
  return close_branch ? model.power : model.symmetry;
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
  spread.line = found.line;
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
      sqrt(fmax(covariance.phase + t * (2.0 * covariance.cross + t * covariance.slope), 0.0)));
  result.gain = static_cast<float>(held.gain);
  result.snr_db = static_cast<float>(fmin(expected.frame_snr_db, static_cast<double>(kMaxSnrDb)));
  result.evm = static_cast<float>(sqrt(found.distance));
  if (parameters.coarse != Coarse::kNone) {
    result.peak_ratio = static_cast<float>(found.peak / found.second_peak);
  }
  result.fit = static_cast<float>(found.sums.fit);
  result.lock = DecideLock(model, parameters, plan, found, expected, in_range, covariance);
  result.resolved = found.symbols_known ? Resolved::kKnownSymbols : Resolved::kNot;
  result.ambiguity = static_cast<uint16_t>(ambiguity);
  // By the best branch, though the phase may be sure of less.
  judgement.turn_back = loops ? found.estimate : held;
  judgement.turn_back.phase += WrappedRadians(turns, symmetry) / kTurn - turns;
  return judgement;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_JUDGE_MATH_H_
