// Stage 4 of timing.h: what is left of offset and clock error, by soft decisions. For both devices.
//
// With s^ = E[s | y] and y' the slope of a corrected symbol of gain 1 with the time of the filter,
// the score of a move of all symbols to later times is (2 / s2) sum of Re(conj(s^) y'). As they
// move, so do the decisions: d s^ = (var(s | y) / s2) dy, so that the sum's slope is, a symbol,
//   - bandwidth BlindShare,
//   BlindShare = E[Re(conj(s^) y)] - (share + s2) E[var(s | y)] / s2,
// bandwidth = -RC''(0), share = PulseFacts::neighbour_share, bandwidth (share + s2) = E|y'|^2. That
// is also which part of known symbols' Fisher information about the time a blind receiver has. (By
// its mean square: y' is the sum of RC'(k - j) y_j over the other symbols and of what is
// independent of all y. Pairs k, j of it: RC'(d)^2 E[(Re conj(s^_k) y_j - Re conj(s^_j) y_k)^2] =
// RC'(d)^2 (E|s^|^2 (1 + s2) - E[conj(s^) y]^2), and E[conj(s^) y] = 1 whatever the SNR; the rest:
// E|s^|^2 s2 / 2 times the variance that is left.) A step is sum / (sum of weights bandwidth
// BlindShare).
//
// Pairs of which one lies beyond the frame do not cancel; the weights fall to 0 at its ends, over
// more symbols the longer RC' is, so that little is left of them. A pair k, j of unequal weights
// leaves (w_k - w_j) RC'(k - j) Re(conj(s_k) s_j). With weights that rise over T symbols, the
// squared differences of all pairs d apart add up to d^2 / T at either end; so what is left of the
// score has the variance
//   (2 / T) sum over d >= 1 of d^2 RC'(d)^2 E[Re(conj(s_k) s_j)^2],
// whose last factor is 1/2, or 1 of real symbols. Where there is no noise, this is how sure the
// timing is.
#ifndef BASEBAND_KERNELS_TIMING_MATH_REFINE_MATH_H_
#define BASEBAND_KERNELS_TIMING_MATH_REFINE_MATH_H_

#include <cmath>

#include "kernels/base/host_device.h"
#include "kernels/carrier/math/estimate_math.h"
#include "kernels/carrier/math/judge_math.h"
#include "kernels/carrier/model.h"
#include "kernels/carrier/recover.h"
#include "kernels/timing/math/line_math.h"
#include "kernels/timing/pulse.h"
#include "kernels/timing/timing.h"

namespace baseband::timing {

inline constexpr int kRefineRounds = 2;
// With less of the information the line is as good.
inline constexpr double kLeastShare = 0.05;
// Steps are small against a symbol: a line that was further off was none.
inline constexpr double kLongestStep = 0.25;
// What taps of finite length and rows, and the frame's ends, leave of it without noise, symbols.
inline constexpr double kTimeFloor = 2e-5;
inline constexpr double kTaperOfRolloff = 1.6;  // symbols, over the roll-off
inline constexpr int kLeastTaper = 8;

// From the means over the symbols; `table_noise` that of the decisions, `snr` the frame's.
BASEBAND_HOST_DEVICE inline double BlindShare(double projection, double variance,
                                              double table_noise, double snr,
                                              double neighbour_share) {
  return projection - variance * (neighbour_share + 1.0 / snr) / table_noise;
}

// Moves of the filters: symbol k by middle + slope v, v = (k - (N - 1) / 2) / N, symbols.
struct TimingStep {
  double middle = 0.0;
  double slope = 0.0;
};

// What does not change from round to round.
struct RefineTask {
  int num_symbols = 0;
  int taper = 1;  // symbols over which the weights rise
  float bandwidth = 1.0F;
  double neighbour_share = 0.0;
  double edges = 0.0;         // variance of what the frame's ends leave of the score
  carrier::Estimate carrier;  // noise: that of its table
  double snr = 1.0;
  // v of symbol k.
  BASEBAND_HOST_DEVICE float PlaceOf(int k) const {
    return (static_cast<float>(k) - 0.5F * static_cast<float>(num_symbols - 1)) /
           static_cast<float>(num_symbols);
  }
  BASEBAND_HOST_DEVICE float WeightOf(int k) const {
    const int from_end = k < num_symbols - 1 - k ? k : num_symbols - 1 - k;
    return fminf((static_cast<float>(from_end) + 0.5F) / static_cast<float>(taper), 1.0F);
  }
};

BASEBAND_HOST_DEVICE inline int TaperOf(double rolloff, int num_symbols) {
  const int wanted = static_cast<int>(ceil(kTaperOfRolloff / rolloff));
  const int most = num_symbols / 8;
  const int least = wanted > kLeastTaper ? wanted : kLeastTaper;
  return least < most ? least : most;
}

// `found` is locked.
BASEBAND_HOST_DEVICE inline RefineTask TaskOf(const carrier::ModelView& model,
                                              const carrier::Result& found,
                                              carrier::Reference reference, const PulseFacts& pulse,
                                              int num_symbols) {
  RefineTask task;
  task.num_symbols = num_symbols;
  task.taper = TaperOf(pulse.rolloff, num_symbols);
  task.bandwidth = static_cast<float>(pulse.bandwidth);
  task.neighbour_share = pulse.neighbour_share;
  // Only a symmetry of more than 2 says that symbols are not real.
  task.edges = (model.symmetry > 2 ? 1.0 : 2.0) * pulse.neighbour_reach / task.taper;
  task.carrier.frequency = found.frequency;
  task.carrier.phase = found.phase / (2.0 * kPi) -
                       found.frequency * carrier::ReferenceFromCentre(reference, num_symbols);
  task.carrier.gain = static_cast<double>(found.gain);
  task.carrier.table = carrier::TableOf(model, static_cast<double>(found.snr_db));
  task.carrier.noise = static_cast<double>(model.facts[task.carrier.table].noise);
  task.snr = pow(10.0, 0.1 * static_cast<double>(found.snr_db));
  return task;
}

// Sums of a round.
struct RefineSums {
  double score[2] = {};     // weight times Re(conj(s^) y'); times v
  double projection = 0.0;  // Re(conj(s^) y)
  double variance = 0.0;    // E[|s|^2 | y] - |s^|^2
};

// Sums over the frame of weights w and of their squares, alone and times v^2.
struct WeightSums {
  double weight[2] = {};
  double square[2] = {};
};
BASEBAND_HOST_DEVICE inline WeightSums SumWeights(int num_symbols, int taper) {
  const double n = num_symbols;
  WeightSums sums;
  sums.weight[0] = sums.square[0] = n;
  sums.weight[1] = sums.square[1] = (n * n - 1.0) / (12.0 * n);
  for (int k = 0; k < taper; ++k) {
    const double w = (k + 0.5) / taper;
    const double v = (k - 0.5 * (n - 1.0)) / n;
    sums.weight[0] -= 2.0 * (1.0 - w);
    sums.square[0] -= 2.0 * (1.0 - w * w);
    sums.weight[1] -= 2.0 * (1.0 - w) * v * v;
    sums.square[1] -= 2.0 * (1.0 - w * w) * v * v;
  }
  return sums;
}

// What refinement leaves: moves, and their variances.
struct Refined {
  TimingStep step;
  double middle_variance = 0.0;
  double slope_variance = 0.0;
  double excess = 0.0;  // of the clock error, beyond +-max_clock_error; 0 if it is not sure
  bool valid = true;    // false: it tells nothing, the line's estimate stays
};

// A Gauss-Newton step from refined->step on. The clock error, `clock_error` without a step, stays
// within +-max_clock_error.
BASEBAND_HOST_DEVICE inline void StepTiming(const RefineTask& task, const RefineSums& sums,
                                            const WeightSums& weights, double clock_error,
                                            double max_clock_error, Refined* refined) {
  const double n = task.num_symbols;
  const double share = BlindShare(sums.projection / n, sums.variance / n, task.carrier.noise,
                                  task.snr, task.neighbour_share);
  if (!(share > kLeastShare)) {
    refined->valid = false;
    return;
  }
  const double bend = static_cast<double>(task.bandwidth) * share;
  refined->step.middle += sums.score[0] / (bend * weights.weight[0]);
  const double wanted = refined->step.slope + sums.score[1] / (bend * weights.weight[1]);
  const double least = (-max_clock_error - clock_error) * n;
  const double most = (max_clock_error - clock_error) * n;
  refined->step.slope = fmin(fmax(wanted, least), most);
  // Of the score: noise, and the ends, where v is -1/2 and 1/2.
  const double noise = 0.5 * bend / task.snr;
  const double middle_bend = bend * weights.weight[0];
  const double slope_bend = bend * weights.weight[1];
  refined->middle_variance = (noise * weights.square[0] + task.edges) / (middle_bend * middle_bend);
  refined->slope_variance =
      (noise * weights.square[1] + 0.25 * task.edges) / (slope_bend * slope_bend);
  const double excess = fabs(wanted - refined->step.slope);
  const double unsure = refined->slope_variance + 12.0 * kTimeFloor * kTimeFloor;
  refined->excess = excess * excess > kSureExcess * kSureExcess * unsure ? excess / n : 0.0;
  refined->valid = refined->valid && fabs(refined->step.middle) <= kLongestStep &&
                   fabs(refined->step.slope) <= 2.0 * kLongestStep;
}

// ---- The result ----------------------------------------------------------------------------

// A stage-1 result: the line, where the symbols come to lie, and whether it is one.
struct LineVerdict {
  double offset = 0.0;
  double clock_error = 0.0;      // within +-max_clock_error
  double centre = 0.0;           // of the spectrum, cycles per nominal symbol
  double middle_variance = 0.0;  // of the time of the frame's middle
  double drift_variance = 0.0;
  double excess = 0.0;  // of the clock error, beyond +-max_clock_error; 0 if it is not sure
  double lambda = 0.0;
  // `lambda` of such a frame without noise, over what makes the line possible; 0 if it is.
  double missing = 0.0;
  bool sure = false;       // whatever the carrier says
  bool possible = false;   // if the carrier locks
  bool too_short = false;  // neither could be, without noise
};

// Whether a clock error `excess` beyond +-max_clock_error is one that a frame may have.
BASEBAND_HOST_DEVICE inline bool IsAllowed(double excess, double num_symbols) {
  return 0.5 * excess * num_symbols <= kMostSlip;
}

// A carrier's lock that stands for this much of a line, and there is none, is of something else.
inline constexpr double kContradiction = 5.0;

BASEBAND_HOST_DEVICE inline LineVerdict JudgeFrame(const LinePlan& plan, const TimingLine& line,
                                                   const LineEvidence& evidence, double centre,
                                                   double line_strength, int num_symbols) {
  LineVerdict verdict;
  const double frame_middle = (plan.num_samples - 1.0) * plan.symbols / (2.0 * plan.samples);
  // The drifts reach a little further than max_clock_error on the positive side: what is not within
  // it would have too few samples for the symbols, and what is no number none.
  const double most = plan.max_clock_error;
  const double clock_error = line.drift / (1.0 - line.drift);
  verdict.clock_error = fabs(clock_error) < 1.0 ? fmin(fmax(clock_error, -most), most) : 0.0;
  const double period = 1.0 + verdict.clock_error;
  const double offset = line.middle * period - verdict.clock_error * frame_middle;
  verdict.offset = offset - floor(offset / period) * period;
  if (!(verdict.offset < 1.0)) verdict.offset = 0.0;  // a symbol of more than the nominal length
  verdict.centre = centre;
  verdict.middle_variance = line.middle_variance;
  verdict.drift_variance = line.drift_variance;
  verdict.excess = line.excess;
  verdict.lambda = evidence.lambda;
  const double least = LineThreshold(plan, kConfirmedLine);
  const double sure = LineThreshold(plan, kSureLine);
  const double expected = kLineOfRolloff * num_symbols * static_cast<double>(plan.rolloff) *
                          fmin(line_strength * line_strength, 1.0);
  const bool is_there = !evidence.faint && evidence.lambda >= least;
  const bool is_allowed = !evidence.lone && !evidence.beyond && IsAllowed(line.excess, num_symbols);
  if (!is_allowed) {
    verdict.middle_variance = 1.0 / 12.0;
    verdict.drift_variance = most * most / 3.0;
  }
  verdict.missing = is_there ? 0.0 : expected / least;
  verdict.possible = is_there && is_allowed;
  verdict.sure = verdict.possible && evidence.lambda >= sure;
  verdict.too_short = expected < sure;
  return verdict;
}

// Of a frame that tells nothing of its timing: bad, or without energy.
BASEBAND_HOST_DEVICE inline Result LostResult(bool bad, double max_clock_error) {
  Result result;
  result.offset_stddev = result.centre_stddev = static_cast<float>(sqrt(1.0 / 12.0));
  result.clock_error_stddev = static_cast<float>(max_clock_error / sqrt(3.0));
  result.bad_samples = bad ? 1 : 0;
  return result;
}

// The carrier's lock, which is none of symbols at this rate if their line is missing.
BASEBAND_HOST_DEVICE inline carrier::Lock CarrierLock(const LineVerdict& verdict,
                                                      const carrier::Result& found) {
  if (found.lock != carrier::Lock::kLocked || verdict.missing == 0.0) return found.lock;
  const double snr = pow(10.0, 0.1 * static_cast<double>(found.snr_db));
  const double share = snr / (1.0 + snr);
  return verdict.missing * share * share >= kContradiction ? carrier::Lock::kBadFit : found.lock;
}

// The timing's result. `refined` is valid, or nothing became of it.
BASEBAND_HOST_DEVICE inline Result ResultOf(const LineVerdict& verdict, const Refined& refined,
                                            carrier::Lock carrier_lock, double max_clock_error,
                                            int num_symbols) {
  const double n = num_symbols;
  Result result;
  result.offset = verdict.offset;
  result.clock_error = verdict.clock_error;
  double middle_variance = verdict.middle_variance;
  double drift_variance = verdict.drift_variance;
  double excess = verdict.excess;
  if (refined.valid) {
    result.offset += refined.step.middle - 0.5 * refined.step.slope * (n - 1.0) / n;
    result.clock_error += refined.step.slope / n;
    middle_variance = refined.middle_variance;
    drift_variance = refined.slope_variance / (n * n);
    excess = refined.excess;
    result.refined = 1;
  }
  if (max_clock_error == 0.0) drift_variance = 0.0;
  const double floor = kTimeFloor * kTimeFloor;
  const double unknown = 1.0 / 12.0;
  middle_variance = fmin(middle_variance + floor, unknown);
  if (max_clock_error > 0.0) {
    drift_variance =
        fmin(drift_variance + 12.0 * floor / (n * n), max_clock_error * max_clock_error / 3.0);
  }
  const double to_first = 0.5 * (n - 1.0);
  result.centre_stddev = static_cast<float>(sqrt(middle_variance));
  drift_variance += excess * excess;
  if (max_clock_error > 0.0) result.clock_error_stddev = static_cast<float>(sqrt(drift_variance));
  result.offset_stddev = static_cast<float>(
      sqrt(fmin(middle_variance + drift_variance * to_first * to_first, unknown)));
  result.line = static_cast<float>(verdict.lambda);
  // The filter's is per nominal symbol, as samples are.
  result.spectrum_centre = static_cast<float>(verdict.centre * (1.0 + result.clock_error));
  const bool locked =
      IsAllowed(excess, n) &&
      (verdict.sure || (verdict.possible && carrier_lock == carrier::Lock::kLocked));
  result.lock = locked ? Lock::kLocked : verdict.too_short ? Lock::kTooShort : Lock::kNoLine;
  return result;
}

// The carrier by the result's symbols: those it was found in were at the line's times. How often
// and where it turns is as unsure as the symbols' length and time. `modulo` (carrier::Reach): what
// turns is the received carrier, of all f + k modulo the one nearest to the spectrum's centre; the
// whole moduli between are turns of the symbols, however long those are.
BASEBAND_HOST_DEVICE inline void FollowTiming(const LineVerdict& verdict, const Refined& refined,
                                              const Result& timing, carrier::Reference reference,
                                              double modulo, int num_symbols,
                                              carrier::Result* found) {
  const double from_centre = carrier::ReferenceFromCentre(reference, num_symbols);
  const double length_taken = 1.0 + verdict.clock_error;
  const double apart = verdict.centre * length_taken - found->frequency;
  const double alias = modulo * floor(apart / modulo + 0.5);
  const double turns = (found->frequency + alias) / length_taken;  // in a nominal symbol
  if (refined.valid) {
    const double moved =
        refined.step.middle + refined.step.slope * from_centre / static_cast<double>(num_symbols);
    found->phase = carrier::WrappedRadians(found->phase / (2.0 * kPi) + turns * moved,
                                           static_cast<int>(found->ambiguity));
    found->frequency = turns * (1.0 + timing.clock_error) - alias;
  }
  const double centre = static_cast<double>(timing.centre_stddev);
  const double length = static_cast<double>(timing.clock_error_stddev);
  const double time = sqrt(centre * centre + length * length * from_centre * from_centre);
  found->frequency_stddev = hypotf(found->frequency_stddev, static_cast<float>(turns * length));
  found->phase_stddev = hypotf(found->phase_stddev, static_cast<float>(2.0 * kPi * turns * time));
}

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_MATH_REFINE_MATH_H_
