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
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/downconvert/design.h"

namespace baseband::downconvert {
namespace {

// Work that an output of a stage takes beside its taps, in products of a tap and a sample: it is
// stored and read again, or turned by the oscillator.
constexpr double kWorkPerOutput = 16.0;
// The first stage's taps are complex when the devices have turned them.
constexpr double kFirstStageWork = 2.0;
// Share of the ripple that the sharp stage gets when there are others.
constexpr double kSharpShare = 0.6;
// What is left for rounding the taps to float32; by how much more when that was not enough.
constexpr double kMargin = 0.98;
constexpr double kNextMargin = 0.9;
constexpr int kTries = 5;

struct Factors {
  int up = 1;
  int down = 1;
};

// What is asked for, checked.
struct Task {
  Mask mask;
  Design design = Design::kKaiser;
  int up = 1;
  int down = 1;
  bool decimates() const { return down >= up; }
  size_t Sharp(size_t num_stages) const { return decimates() ? num_stages - 1 : 0; }
};

// The low pass of each stage.
std::vector<LowPass> LowPassesOf(const Task& task, const std::vector<Factors>& stages,
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

// Products an input sample, about; infinite if a stage cannot be.
double WorkOf(const Task& task, const std::vector<Factors>& stages) {
  const std::vector<LowPass> low_passes = LowPassesOf(task, stages, kMargin);
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

// The factors of least work: tries all ways to take factors out of down (or up).
class Search {
 public:
  explicit Search(const Task& task) : task_(task) { Try(task.decimates() ? task.down : task.up); }

  const std::vector<Factors>& best() const { return best_; }  // empty: there is none

 private:
  void Try(int rest) {
    const bool decimates = task_.decimates();
    Factors last;
    last.up = decimates ? task_.up : rest;
    last.down = decimates ? rest : task_.down;
    std::vector<Factors> stages = before_;
    stages.push_back(last);
    const double work = WorkOf(task_, stages);
    if (work < least_) {
      least_ = work;
      best_ = stages;
    }
    if (stages.size() == static_cast<size_t>(kMaxStages)) {
      return;
    }
    // No stage's rate is outside those of the input and the output, so that no index is.
    const int least_rest = decimates ? task_.up : task_.down;
    for (int factor = 2; factor <= rest / least_rest; ++factor) {
      if (rest % factor == 0) {
        Factors stage;
        (decimates ? stage.down : stage.up) = factor;
        before_.push_back(stage);
        Try(rest / factor);
        before_.pop_back();
      }
    }
  }

  const Task& task_;
  std::vector<Factors> before_;
  std::vector<Factors> best_;
  double least_ = std::numeric_limits<double>::infinity();
};

absl::StatusOr<std::vector<double>> DesignTaps(const LowPass& low_pass, Design design,
                                               std::string* remark) {
  if (design == Design::kEquiripple) {
    absl::StatusOr<std::vector<double>> taps = DesignEquiripple(low_pass);
    if (taps.ok()) {
      return taps;
    }
    *remark = absl::StrCat("Kaiser's design in place of equiripple: ", taps.status().message());
  }
  return DesignKaiser(low_pass);
}

absl::Status CannotBe(const Task& task, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "mask from pass_edge ", task.mask.pass_edge, " to stop_edge ", task.mask.stop_edge, " with ",
      task.mask.attenuation_db, " dB at up/down ", task.up, "/", task.down, ": ", why));
}

absl::Status Check(Task* task) {
  for (const auto& [name, value, largest] :
       {std::make_tuple("up", task->up, kMaxUp), std::make_tuple("down", task->down, kMaxDown)}) {
    if (value < 1 || value > largest) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " ", value, " is not in [1, ", largest, "]"));
    }
  }
  const int divisor = std::gcd(task->up, task->down);
  task->up /= divisor;
  task->down /= divisor;
  Mask& mask = task->mask;
  const double rate = static_cast<double>(task->up) / task->down;
  const double lower_rate = std::min(1.0, rate);
  if (!(mask.pass_edge > 0.0 && mask.pass_edge < lower_rate / 2.0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pass_edge ", mask.pass_edge, " is not in (0, ", lower_rate / 2.0,
        "), half of the lower of the input's and the output's rate, in cycles per input sample"));
  }
  double most = lower_rate - mask.pass_edge;
  if (task->up == 1) {
    most = std::min(most, 0.5);
  }
  if (mask.stop_edge == 0.0) {
    mask.stop_edge = most;
  }
  // A rounding of the client's own division is forgiven.
  if (!(mask.stop_edge > mask.pass_edge && mask.stop_edge <= most * (1.0 + 1e-9))) {
    return absl::InvalidArgumentError(absl::StrCat("stop_edge ", mask.stop_edge, " is not in (",
                                                   mask.pass_edge, ", ", most,
                                                   "], from pass_edge to what folds onto it"));
  }
  mask.stop_edge = std::min(mask.stop_edge, most);
  if (!(mask.ripple_db > 0.0 && mask.ripple_db <= 3.0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("ripple_db ", mask.ripple_db, " is not in (0, 3]"));
  }
  if (!(mask.attenuation_db >= 20.0 && mask.attenuation_db <= 140.0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("attenuation_db ", mask.attenuation_db, " is not in [20, 140]"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FilterPtr> Filter::FromMask(const Mask& mask, Design design, int up, int down) {
  Task task{mask, design, up, down};
  BASEBAND_RETURN_IF_ERROR(Check(&task));
  const std::vector<Factors> factors = Search(task).best();
  if (factors.empty()) {
    const LowPass low_pass = LowPassesOf(task, {Factors{task.up, task.down}}, kMargin)[0];
    return CannotBe(task, absl::StrCat("it would take about ", EstimateTaps(low_pass, design),
                                       " taps, the most is ", kMaxTaps));
  }
  const size_t sharp = task.Sharp(factors.size());
  double margin = kMargin;
  FilterReport measured;
  for (int i = 0; i < kTries; ++i, margin *= kNextMargin) {
    const std::vector<LowPass> low_passes = LowPassesOf(task, factors, margin);
    std::vector<Stage> stages;
    std::string remark;
    for (size_t s = 0; s < factors.size(); ++s) {
      const absl::StatusOr<std::vector<double>> taps = DesignTaps(low_passes[s], design, &remark);
      if (!taps.ok()) {
        return CannotBe(task, taps.status().message());
      }
      Stage stage;
      stage.up = factors[s].up;
      stage.down = factors[s].down;
      for (const double tap : *taps) {
        stage.taps.push_back(static_cast<float>(tap * stage.up));
      }
      stages.push_back(std::move(stage));
    }
    MeasureMask(stages, static_cast<int>(sharp), task.mask.pass_edge, task.mask.stop_edge,
                &measured);
    if (measured.ripple_db <= task.mask.ripple_db &&
        measured.attenuation_db >= task.mask.attenuation_db) {
      std::shared_ptr<Filter> filter = FromStages(std::move(stages));
      filter->report_.ripple_db = measured.ripple_db;
      filter->report_.attenuation_db = measured.attenuation_db;
      filter->report_.remark = std::move(remark);
      return FilterPtr(std::move(filter));
    }
  }
  return CannotBe(task, absl::StrCat("float32 taps reach ", measured.attenuation_db, " dB and ",
                                     measured.ripple_db, " dB of ripple"));
}

}  // namespace baseband::downconvert
