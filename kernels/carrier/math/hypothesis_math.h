// Stage S4 of recover_math.h: the carriers that a line leaves open. For both devices.
//
// A line of power p at nu cycles per symbol, its phase at the frame's centre c, is left by each of
//   f = (nu + alias) / p,   phase at the centre = (phase + branch + alias c) / p turns,
// which turn symbol n back by (alias n + branch) / p turns more than alias 0, branch 0 does. Turned
// by `branches` / p, p / branches being the order within which a phase can be told, a symbol looks
// the same. So there are `branches` of both, and what symbol n says of any pair depends only on
//   turn = (alias n + branch) mod branches:
// with the fits at every turn added up apart for each n mod branches, `branches` fits a symbol tell
// all branches^2 hypotheses from each other. Those of a line with several aliases are sorted out
// so, pass by pass, until no more than `branches` are left; then all that are left, of all lines,
// are compared one by one.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_HYPOTHESIS_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_HYPOTHESIS_MATH_H_

#include <cmath>

#include "kernels/base/host_device.h"
#include "kernels/carrier/math/estimate_math.h"
#include "kernels/carrier/math/frame_plan.h"

namespace baseband::carrier {

// S4 goes over the symbols in passes, pass j taking the groups of kFitGroup symbols whose number is
// j modulo kFitPasses. After each, hypotheses that lie kDropped nats or more behind the best are
// dropped (that a true one ever does has a probability of exp(-kDropped)); one alone is not summed.
inline constexpr int kFitPasses = 16;
inline constexpr int kFitGroup = 64;
inline constexpr float kDropped = 24.0F;
// The best hypothesis is doubted if another is within this, nats.
inline constexpr double kClose = 7.0;

// By how much another carrier is behind the best on the whole frame, from `gap` nats after `passes`
// of the passes that have symbols.
BASEBAND_HOST_DEVICE inline double WholeGap(double gap, int passes, int num_symbols) {
  const int groups = (num_symbols + kFitGroup - 1) / kFitGroup;
  const int all = groups < kFitPasses ? groups : kFitPasses;
  return passes < all ? gap * all / passes : gap;
}
inline constexpr double kNoRival = 1e300;

// So many of a line are kept at most, and of a line with aliases there may be so many.
inline constexpr int kMaxOfLine = kMaxPower;
inline constexpr int kMaxAliased = kMaxPower * kMaxPower;
inline constexpr int kMaxHypotheses = kPeaks * kMaxOfLine;
static_assert(kKnownPeaks <= kMaxHypotheses, "known symbols have lines with one hypothesis each");

// The alias that is `residue` modulo plan.branches and whose f is the nearest to 0; to *in_range
// whether that is in reach.
BASEBAND_HOST_DEVICE inline int AliasOf(const FramePlan& plan, double nu, int residue,
                                        bool* in_range) {
  *in_range = residue == 0;
  // Without a search, or with one alias only, that is the line's own.
  if (!(plan.reach > 0.0) && residue == 0) return 0;
  const double branches = plan.branches;
  const int alias =
      residue - plan.branches * static_cast<int>(floor((nu + residue) / branches + 0.5));
  if (!(plan.reach > 0.0)) return alias;
  // Half open: of two ends that are one frequency, one counts.
  const double f = (nu + alias) / plan.line_power;
  const double shift = kPlanRounding * plan.reach;
  *in_range = f >= -plan.reach - shift && f < plan.reach - shift;
  return alias;
}
// Aliases out of range are heard, too: if one of them is this much likelier than all in range, the
// carrier is not in range. They are added up until this, or kDropped the other way, is clear.
inline constexpr double kElsewhere = 14.0;

BASEBAND_HOST_DEVICE inline double WrappedTurns(double turns) { return turns - floor(turns + 0.5); }

BASEBAND_HOST_DEVICE inline int TurnOfSymbol(int alias_residue, int branch, int n_residue,
                                             int branches) {
  return (alias_residue * n_residue + branch) % branches;
}

// Turns of a line's phase that come with an alias.
BASEBAND_HOST_DEVICE inline double AliasTurns(int alias, int num_symbols) {
  return alias * (0.5 * (num_symbols - 1.0));
}

// Frequency and phase of a hypothesis, into *estimate.
BASEBAND_HOST_DEVICE inline void SetHypothesis(const FramePlan& plan, double nu, double phase,
                                               int alias, int branch, int num_symbols,
                                               Estimate* estimate) {
  estimate->frequency = (nu + alias) / plan.line_power;
  estimate->phase = (phase + branch) / plan.line_power +
                    WrappedTurns(AliasTurns(alias, num_symbols) / plan.line_power);
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_HYPOTHESIS_MATH_H_
