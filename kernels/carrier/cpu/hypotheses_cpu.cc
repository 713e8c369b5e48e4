// Stage S4 on the CPU device: which line, and which of the frequencies and phases that it leaves
// open.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "kernels/base/work_steps.h"
#include "kernels/carrier/recover_cpu.h"

namespace baseband::carrier {

Estimate FrameRecovery::EstimateOf(const Hypothesis& hypothesis) const {
  const Line& line = lines_[hypothesis.line];
  Estimate estimate = estimate_;
  estimate.table = blunt_table_;
  SetHypothesis(plan_, line.nu, line.phase, hypothesis.alias, hypothesis.branch, plan_.num_symbols,
                &estimate);
  return estimate;
}

void FrameRecovery::ListHypotheses(int line) {
  const int branches = plan_.branches;
  if (branches == 1) {
    hypotheses_[num_hypotheses_++] = {line, 0, 0, 0.0};
    return;
  }
  int aliases[kMaxPower];
  bool in_range[kMaxPower];
  for (int residue = 0; residue < branches; ++residue) {
    aliases[residue] = AliasOf(plan_, lines_[line].nu, residue, &in_range[residue]);
  }
  if (std::none_of(in_range, in_range + branches, [](bool is) { return is; })) in_range[0] = true;
  double by_turn[kMaxPower][kMaxPower] = {};  // [turn][n modulo branches]
  double fits[kMaxAliased];                   // [residue * branches + branch]
  const int count = branches * branches;
  const auto dropped = static_cast<double>(kDropped);
  int best = 0;
  int left = count;
  double elsewhere = -kNoRival;  // the best fit out of range
  const auto undecided = [&] {
    return left > branches || std::fabs(fits[best] - elsewhere) < dropped;
  };
  for (passes_done_ = 0; passes_done_ < kFitPasses && (passes_done_ == 0 || undecided());
       ++passes_done_) {
    for (int turn = 0; turn < branches; ++turn) {
      (void)CountStep();
      AddCoarseFits(view_, arrays_.frame, EstimateOf({line, 0, turn, 0.0}), passes_done_, branches,
                    by_turn[turn]);
    }
    best = -1;
    elsewhere = -kNoRival;
    for (int h = 0; h < count; ++h) {
      const int residue = h / branches;
      fits[h] = 0.0;
      for (int n = 0; n < branches; ++n) {
        fits[h] += by_turn[TurnOfSymbol(residue, h % branches, n, branches)][n];
      }
      if (!in_range[residue]) {
        elsewhere = std::max(elsewhere, fits[h]);
      } else if (best < 0 || fits[h] > fits[best]) {
        best = h;
      }
    }
    left = 0;
    for (int h = 0; h < count; ++h) {
      left += in_range[h / branches] && fits[best] - fits[h] < dropped ? 1 : 0;
    }
  }
  elsewhere_ = std::max(elsewhere_, elsewhere - fits[best]);
  // The likeliest of those that are left.
  int order[kMaxAliased];
  std::iota(order, order + count, 0);
  const auto place = [&](int h) { return std::make_tuple(!in_range[h / branches], -fits[h], h); };
  const int kept = std::min(left, kMaxOfLine);
  std::partial_sort(order, order + kept, order + count,
                    [&](int a, int b) { return place(a) < place(b); });
  for (int i = 0; i < count; ++i) {
    const int h = order[i];
    const int residue = h / branches;
    if (i < kept) {
      hypotheses_[num_hypotheses_++] = {line, aliases[residue], h % branches, fits[h]};
    } else if (in_range[residue] && residue != best / branches) {
      const double gap = fits[best] - fits[h];
      rival_ = std::min(rival_, WholeGap(gap, passes_done_, plan_.num_symbols));
    }
  }
}

FrameRecovery::Hypothesis FrameRecovery::BestHypothesis() const {
  return *std::max_element(hypotheses_, hypotheses_ + num_hypotheses_,
                           [](const Hypothesis& a, const Hypothesis& b) { return a.fit < b.fit; });
}

void FrameRecovery::DropHypotheses() {
  const Hypothesis best = BestHypothesis();
  int left = 0;
  for (int k = 0; k < num_hypotheses_; ++k) {
    const double gap = best.fit - hypotheses_[k].fit;
    if (gap < static_cast<double>(kDropped)) {
      hypotheses_[left++] = hypotheses_[k];
    } else if (!hypotheses_[k].SameCarrier(best)) {
      rival_ = std::min(rival_, WholeGap(gap, passes_done_ + 1, plan_.num_symbols));
    }
  }
  num_hypotheses_ = left;
}

void FrameRecovery::ChooseHypothesis() {
  blunt_table_ = BluntTable(view_, estimate_.table,
                            LineVariance(lines_[0].lambda, plan_.num_symbols, plan_.line_power));
  num_hypotheses_ = 0;
  passes_done_ = 0;
  int lines = 0;
  for (int k = 0; k < num_lines_; ++k) {
    if (lines_[0].lambda - lines_[k].lambda > static_cast<double>(kDoubt)) continue;
    ListHypotheses(k);
    ++lines;
  }
  if (lines > 1) {  // some may have been compared on more symbols than others
    passes_done_ = 0;
    for (int k = 0; k < num_hypotheses_; ++k) hypotheses_[k].fit = 0.0;
  }
  for (; passes_done_ < kFitPasses && num_hypotheses_ > 1; ++passes_done_) {
    for (int k = 0; k < num_hypotheses_; ++k) {
      (void)CountStep();
      hypotheses_[k].fit +=
          SumCoarseFit(view_, arrays_.frame, EstimateOf(hypotheses_[k]), passes_done_);
    }
    DropHypotheses();
  }
  const Hypothesis best = BestHypothesis();
  for (int k = 0; k < num_hypotheses_; ++k) {
    const Hypothesis& other = hypotheses_[k];
    if (!other.SameCarrier(best)) {
      rival_ = std::min(rival_, best.fit - other.fit);
    } else if (other.branch != best.branch && best.fit - other.fit <= kClose) {
      close_branch_ = true;
    }
  }
  alias_ = best.alias;
  line_ = lines_[best.line];
  line_.nu += alias_;
  line_.phase = WrappedTurns(line_.phase + AliasTurns(alias_, plan_.num_symbols));
  const int table = estimate_.table;
  estimate_ = EstimateOf(best);
  estimate_.table = table;
}

}  // namespace baseband::carrier
