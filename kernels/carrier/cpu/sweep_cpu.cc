// Fine::kSweep on the CPU device: the paper's way, a candidate after another.
#include <algorithm>
#include <cmath>

#include "kernels/base/work_steps.h"
#include "kernels/carrier/math/sweep_math.h"
#include "kernels/carrier/recover_cpu.h"

namespace baseband::carrier {

void FrameRecovery::Sweep() {
  // The line at each candidate, from sums over blocks around the coarse frequency.
  if (parameters_.coarse != Coarse::kNone) {
    ChooseHypothesis();
    SettleOnBin();
  } else {
    estimate_.frequency = 0.0;
  }
  const double coarse = estimate_.frequency;
  coarse_frequency_ = coarse;
  const int num_candidates = plan_.num_candidates();
  const int length = plan_.sweep_block;
  const int num_blocks = SumLineBlocks(arrays_.frame, arrays_.line, coarse * plan_.line_power,
                                       length, false, arrays_.blocks);
  const auto offset = [&](int k) { return (k - plan_.last_candidate) * parameters_.sweep_step; };
  Line strongest;
  for (int k = 0; k < num_candidates && CountStep(); ++k) {
    const double delta = offset(k) * plan_.line_power * plan_.points;
    const Line line = LineAtBlocks(coarse * plan_.line_power, delta, num_blocks, length);
    arrays_.candidates[k] = line.phase;
    if (line.lambda > strongest.lambda) strongest = line;
  }
  if (parameters_.coarse == Coarse::kNone) {
    // There is no peak: the branch is told where the line is strongest.
    lines_[0] = strongest;
    num_lines_ = 1;
    ChooseHypothesis();
  } else {
    line_ = {coarse * plan_.line_power, estimate_.phase * plan_.line_power, 0.0};
  }

  const double centre_phase = estimate_.phase;
  const double line_phase = line_.phase;
  int best = 0;
  int judged = 0;  // all of them, unless nobody wants the result any more
  for (int k = 0; k < num_candidates && CountStep(); ++k, ++judged) {
    Estimate candidate = estimate_;
    candidate.frequency = coarse + offset(k);
    candidate.phase =
        CandidatePhase(centre_phase, line_phase, arrays_.candidates[k], plan_.line_power);
    arrays_.evm[k] =
        static_cast<float>(SumEvm(view_, arrays_.frame, candidate) / plan_.num_symbols);
    if (arrays_.evm[k] < arrays_.evm[best]) best = k;
  }
  double place = best;
  if (parameters_.sweep_interpolate && best > 0 && best + 1 < judged) {
    place += ParabolaOffset(arrays_.evm[best - 1], arrays_.evm[best], arrays_.evm[best + 1]);
  }
  const double found = (place - plan_.last_candidate) * parameters_.sweep_step;
  const Line line = LineAtBlocks(coarse * plan_.line_power, found * plan_.line_power * plan_.points,
                                 num_blocks, length);
  estimate_.frequency = coarse + found;
  estimate_.phase = CandidatePhase(centre_phase, line_phase, line.phase, plan_.line_power);
}

}  // namespace baseband::carrier
