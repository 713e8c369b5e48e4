// From a mask to stages. How many stages, and by what factor each one, is what takes the least
// work.
//
// Decimating, stages before the last only make room: at an input rate of 1 / P and dividing by D
// they pass P pass_edge and stop from 1 / D - P stop_edge on, since what folds to beyond the mask's
// own stop edge the last stage takes away. That transition is wide, so they are short; the last one
// has the mask's transition band, at the lowest rate. Interpolating, it is the same backwards: the
// sharp stage first, at the lowest rate, then those that take away the images it leaves.
//
// Every input frequency has one way to the output, on which one of the stages stops it: each must
// have the whole attenuation, and the ripples add up.
//
// No special stages, because they would not pay here. A half-band filter has a zero for every
// second tap, but the devices' loops are dense (to leave out every second sample costs them as much
// as to use it), and an ordinary stage of factor 2 has fewer taps in all, as its transition need
// not be symmetric about 1/4. A CIC stage, N boxcars of D ones, is cheap in integers only: as a
// running sum in float32 its output would depend on where the sum began, and as N (D - 1) + 1 taps
// it costs as any taps do while it droops in the pass band; stages designed for the same fold
// are flat and no longer.
#include "kernels/downconvert/cascade.h"

#include <cmath>
#include <cstdint>

namespace baseband::downconvert {
namespace {

// Work that an output of a stage takes beside its taps, in products of a tap and a sample: it is
// stored and read again, or turned by the oscillator.
constexpr double kWorkPerOutput = 16.0;
// The first stage's taps are complex when the devices have turned them.
constexpr double kFirstStageWork = 2.0;
// Share of the ripple that the sharp stage gets when there are others.
constexpr double kSharpShare = 0.6;
constexpr int64_t kCost = 500000;  // of all ways to go on from one factor

// Products an input sample, about; infinite if a stage cannot be.
double WorkOf(const CascadeTask& task, const std::vector<Factors>& stages) {
  const std::vector<LowPass> low_passes = LowPassesOf(task, stages, kRoundingMargin);
  double work = 0.0;
  double rate = 1.0;
  for (size_t s = 0; s < stages.size(); ++s) {
    const LowPass& low_pass = low_passes[s];
    const int64_t taps =
        low_pass.pass < low_pass.stop ? EstimateTaps(low_pass, task.design) : kMaxTaps + 1;
    if (taps > kMaxTaps) {
      return std::numeric_limits<double>::infinity();
    }
    rate *= static_cast<double>(stages[s].up) / stages[s].down;
    const double products = static_cast<double>(taps) / stages[s].up;
    work += rate * (products * (s == 0 ? kFirstStageWork : 1.0) + kWorkPerOutput);
  }
  return work;
}

}  // namespace

std::vector<LowPass> LowPassesOf(const CascadeTask& task, const std::vector<Factors>& stages,
                                 double margin) {
  const size_t sharp = task.Sharp(stages.size());
  const double ripple = 1.0 - std::pow(10.0, -task.mask.ripple_db / 40.0);
  const double stop = std::pow(10.0, -task.mask.attenuation_db / 20.0);
  std::vector<LowPass> low_passes;
  double scale = 1.0;  // a frequency of the input, seen at the stage's input
  for (size_t s = 0; s < stages.size(); ++s) {
    LowPass low_pass;
    low_pass.pass = task.mask.pass_edge * scale / stages[s].up;
    if (s == sharp) {
      low_pass.stop = task.mask.stop_edge * scale / stages[s].up;
    } else if (task.decimates()) {
      low_pass.stop = 1.0 / stages[s].down - task.mask.stop_edge * scale;
    } else {
      low_pass.stop = (1.0 - task.mask.stop_edge * scale) / stages[s].up;
    }
    const double share = stages.size() == 1 ? 1.0
                         : s == sharp
                             ? kSharpShare
                             : (1.0 - kSharpShare) / static_cast<double>(stages.size() - 1);
    low_pass.pass_error = ripple * share * margin;
    low_pass.stop_error = stop * margin * (stages.size() == 1 ? 1.0 : 1.0 - ripple);
    low_passes.push_back(low_pass);
    scale *= static_cast<double>(stages[s].down) / stages[s].up;
  }
  return low_passes;
}

void CascadeSearch::Start(const CascadeTask& task, SlicedWork* work) {
  task_ = &task;
  const int rest = task.decimates() ? task.down : task.up;
  TryHere(rest);
  const std::vector<int> factors = FactorsOf(rest);
  const auto count = static_cast<int64_t>(factors.size());
  work->Do({SlicedWork::Each(count, kCost, [this, rest, factors](int64_t begin, int64_t end) {
    for (int64_t f = begin; f < end; ++f) TryFactor(rest, factors[static_cast<size_t>(f)]);
  })});
}

// That may be taken out of `rest`: no stage's rate is outside those of the input and the output,
// so that no index is.
std::vector<int> CascadeSearch::FactorsOf(int rest) const {
  std::vector<int> factors;
  const int most = rest / (task_->decimates() ? task_->up : task_->down);
  for (int factor = 2; factor <= most; ++factor) {
    if (rest % factor == 0) factors.push_back(factor);
  }
  return factors;
}

// One stage for all of `rest`. Returns whether there may be more of them.
bool CascadeSearch::TryHere(int rest) {
  const bool decimates = task_->decimates();
  Factors last;
  last.up = decimates ? task_->up : rest;
  last.down = decimates ? rest : task_->down;
  std::vector<Factors> stages = before_;
  stages.push_back(last);
  const double work = WorkOf(*task_, stages);
  if (work < least_) {
    least_ = work;
    best_ = stages;
  }
  return stages.size() < static_cast<size_t>(kMaxStages);
}

void CascadeSearch::TryFactor(int rest, int factor) {
  Factors stage;
  (task_->decimates() ? stage.down : stage.up) = factor;
  before_.push_back(stage);
  if (TryHere(rest / factor)) {
    for (const int next : FactorsOf(rest / factor)) TryFactor(rest / factor, next);
  }
  before_.pop_back();
}

}  // namespace baseband::downconvert
