// What a model, parameters and a frame's length come to, before any symbol is looked at. For both
// devices; the host has more of it in recover_plan.h.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_FRAME_PLAN_H_
#define BASEBAND_KERNELS_CARRIER_MATH_FRAME_PLAN_H_

#include <cmath>

#include "kernels/base/host_device.h"
#include "kernels/carrier/math/line_math.h"
#include "kernels/carrier/math/recover_math.h"
#include "kernels/carrier/model.h"
#include "kernels/carrier/recover.h"

namespace baseband::carrier {

inline constexpr double kPlanRounding = 1e-9;  // of a quotient that should be a whole number

// L of the FFT.
BASEBAND_HOST_DEVICE inline int FftPoints(int num_symbols) {
  int points = kMinFftPoints;
  while (points < num_symbols) points *= 2;
  return points;
}

BASEBAND_HOST_DEVICE inline int GreatestCommonDivisor(int a, int b) {
  while (b != 0) {
    const int rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// The greatest |f| that the known symbols alone tell from its aliases. A single one tells none.
BASEBAND_HOST_DEVICE inline double LimitOfKnown(int divisor) {
  return 0.5 / (divisor > 1 ? divisor : 1);
}

// The greatest |f| that can be told from its aliases. f + 1 / h is one if it turns no known symbol
// (h divides their distances, whose greatest common divisor is `divisor`; 0: none, or one, is
// known) and every other symbol by one of the constellation's symmetries.
BASEBAND_HOST_DEVICE inline double LimitOfFrequency(Coarse coarse, int symmetry, int divisor) {
  switch (coarse) {
    case Coarse::kNone:
      break;
    case Coarse::kPower:
      return 0.5 / GreatestCommonDivisor(symmetry, divisor);
    case Coarse::kKnown:
      return LimitOfKnown(divisor);
  }
  return 0.5;
}

// carrier::ReachOf, see recover.h; `divisor` as above. What tells aliases apart are the symbols,
// known or not: those are the same to every method, whatever it looks for.
BASEBAND_HOST_DEVICE inline Reach ReachOfDivisor(const Parameters& parameters, int symmetry,
                                                 int divisor) {
  Reach reach;
  reach.modulo = 2.0 * LimitOfFrequency(Coarse::kPower, symmetry, divisor);
  if (parameters.coarse != Coarse::kNone) {
    reach.frequency = parameters.max_frequency > 0.0
                          ? parameters.max_frequency
                          : LimitOfFrequency(parameters.coarse, symmetry, divisor);
  } else if (parameters.fine == Fine::kSweep) {
    reach.frequency = parameters.sweep_range;
  }
  return reach;
}

// Up to which |f| is searched, and what can be told apart there.
struct FrequencyRange {
  double most = 0.5;         // Parameters::max_frequency, or the limit that 0 stands for
  double limit = 0.5;        // LimitOfFrequency
  double known_limit = 0.5;  // of the known symbols alone
};

struct FramePlan {
  bool known_line = false;  // the line is r conj(known), else symbols to the power
  int line_power = 1;       // the carrier's angles are the line's divided by this
  int branches = 1;  // phases that a line leaves open, and frequencies: line_power / ambiguity
  int max_peaks = 1;
  int last_half_bin = 0;   // half bins -last .. last are searched
  double half_bins = 1.0;  // how many these are
  double max_frequency = 0.5;
  double known_limit = 0.5;  // FrequencyRange
  double reach = 0.0;        // of the frequencies that a line leaves open; 0: its own alone
  double period = 0.0;  // frequencies so far apart are one and the same, or 0: none are in range

  // How far a step may go, radians, see StepLimit. A known line's phase is unique: its may be long.
  BASEBAND_HOST_DEVICE double step_limit() const { return StepLimit(known_line ? 2 : line_power); }
};

// How far a sweep's candidates are from its middle, |k| <= this.
BASEBAND_HOST_DEVICE inline int LastCandidate(const Parameters& parameters, int num_symbols) {
  if (parameters.fine != Fine::kSweep) return 0;
  const double range = parameters.sweep_range > 0.0 ? parameters.sweep_range : 0.5 / num_symbols;
  const double last = floor(range / parameters.sweep_step * (1.0 + kPlanRounding));
  return static_cast<int>(fmin(last, static_cast<double>(kMaxSweepBins))) +
         parameters.sweep_guard_bins;
}
BASEBAND_HOST_DEVICE inline int NumCandidates(const Parameters& parameters, int num_symbols) {
  return 2 * LastCandidate(parameters, num_symbols) + 1;
}
// Symbols in a block of the sweep's line sums: within one the line of the outermost candidate turns
// by a sixteenth at most.
BASEBAND_HOST_DEVICE inline int SweepBlockLength(const Parameters& parameters, int line_power,
                                                 int num_symbols) {
  const double turning =
      line_power * LastCandidate(parameters, num_symbols) * parameters.sweep_step;
  const int longest = LineBlockLength(num_symbols);
  int length = 1;
  while (length < longest && 2.0 * length * turning <= 1.0 / 16.0) length *= 2;
  return length;
}

BASEBAND_HOST_DEVICE inline FramePlan PlanFrame(const ModelView& model,
                                                const Parameters& parameters,
                                                const FrequencyRange& range, bool symbols_known,
                                                int num_symbols, int points) {
  const Coarse coarse = parameters.coarse;
  const int ambiguity = symbols_known ? 1 : model.symmetry;
  FramePlan plan;
  plan.known_line = coarse == Coarse::kKnown || (coarse == Coarse::kNone && symbols_known);
  plan.line_power = plan.known_line ? 1 : model.power;
  plan.branches = plan.line_power > ambiguity ? plan.line_power / ambiguity : 1;
  plan.max_frequency = range.most;
  plan.known_limit = range.known_limit;
  if (coarse != Coarse::kNone) {
    plan.max_peaks = plan.known_line ? kKnownPeaks : kPeaks;
    const double last = 2.0 * points * plan.line_power * range.most * (1.0 + kPlanRounding);
    plan.last_half_bin = static_cast<int>(fmin(floor(last), static_cast<double>(points)));
    plan.half_bins = fmin(2.0 * plan.last_half_bin + 1.0, 2.0 * points);
    // A line is found up to a bin beyond the range.
    plan.reach =
        fmin(range.most + 1.0 / (static_cast<double>(points) * plan.line_power), range.limit);
  } else if (parameters.fine == Fine::kSweep) {
    plan.reach = (LastCandidate(parameters, num_symbols) + 0.5) * parameters.sweep_step;
  }
  if (plan.branches == 1) plan.reach = 0.0;
  const bool blind = coarse == Coarse::kPower && !symbols_known;
  if (range.most >= range.limit * (1.0 - kPlanRounding) && (blind || range.limit == 0.5)) {
    plan.period = 2.0 * range.limit;
  }
  return plan;
}

// The points of a coarse spectrum's curve (CurveOf in recover.h): each is the greatest of `group`
// half bins from -last_half_bin on. Its range does not depend on which symbols are known.
struct SpectrumCurve {
  int num_points = 0;
  int last_half_bin = 0;
  int group = 1;
};
BASEBAND_HOST_DEVICE inline SpectrumCurve SpectrumCurveOf(const ModelView& model,
                                                          const Parameters& parameters,
                                                          int points) {
  SpectrumCurve curve;
  if (parameters.coarse == Coarse::kNone || parameters.fine == Fine::kSweep) return curve;
  const int line_power = parameters.coarse == Coarse::kKnown ? 1 : model.power;
  const double most = parameters.max_frequency > 0.0 ? parameters.max_frequency : 0.5;
  const double last = 2.0 * points * line_power * most * (1.0 + kPlanRounding);
  curve.last_half_bin = static_cast<int>(fmin(floor(last), static_cast<double>(points)));
  const int half_bins = 2 * curve.last_half_bin + 1;
  curve.group = (half_bins + kMaxCurvePoints - 1) / kMaxCurvePoints;
  curve.num_points = (half_bins + curve.group - 1) / curve.group;
  return curve;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_FRAME_PLAN_H_
