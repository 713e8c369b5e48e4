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
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/downconvert/design.h"
#include "kernels/downconvert/filter_design.h"

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
  // Adds it to `work`. `task` stays.
  void Start(const Task& task, SlicedWork* work) {
    task_ = &task;
    const int rest = task.decimates() ? task.down : task.up;
    TryHere(rest);
    const std::vector<int> factors = FactorsOf(rest);
    const auto count = static_cast<int64_t>(factors.size());
    work->Do({SlicedWork::Each(count, kCost, [this, rest, factors](int64_t begin, int64_t end) {
      for (int64_t f = begin; f < end; ++f) TryFactor(rest, factors[static_cast<size_t>(f)]);
    })});
  }

  const std::vector<Factors>& best() const { return best_; }  // empty: there is none

 private:
  static constexpr int64_t kCost = 500000;  // of all ways to go on from one factor

  // That may be taken out of `rest`: no stage's rate is outside those of the input and the output,
  // so that no index is.
  std::vector<int> FactorsOf(int rest) const {
    std::vector<int> factors;
    const int most = rest / (task_->decimates() ? task_->up : task_->down);
    for (int factor = 2; factor <= most; ++factor) {
      if (rest % factor == 0) factors.push_back(factor);
    }
    return factors;
  }

  // One stage for all of `rest`. Returns whether there may be more of them.
  bool TryHere(int rest) {
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

  void TryFactor(int rest, int factor) {
    Factors stage;
    (task_->decimates() ? stage.down : stage.up) = factor;
    before_.push_back(stage);
    if (TryHere(rest / factor)) {
      for (const int next : FactorsOf(rest / factor)) TryFactor(rest / factor, next);
    }
    before_.pop_back();
  }

  const Task* task_ = nullptr;
  std::vector<Factors> before_;
  std::vector<Factors> best_;
  double least_ = std::numeric_limits<double>::infinity();
};

absl::Status CannotBe(const Task& task, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "mask: from ", task.mask.pass_edge, " to ", task.mask.stop_edge, " cycles per sample with ",
      task.mask.attenuation_db, " dB at up/down ", task.up, "/", task.down, " ", why));
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
  const MaskEdges most = LargestEdges(mask.pass_edge, task->up, task->down);
  if (!(mask.pass_edge > 0.0 && mask.pass_edge < most.pass)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pass_edge ", mask.pass_edge, " is not in (0, ", most.pass,
        "), half of the lower of the input's and the output's rate, in cycles per input sample"));
  }
  if (mask.stop_edge == 0.0) {
    mask.stop_edge = most.stop;
  }
  // A rounding of the client's own division is forgiven.
  if (!(mask.stop_edge > mask.pass_edge && mask.stop_edge <= most.stop * (1.0 + 1e-9))) {
    return absl::InvalidArgumentError(absl::StrCat("stop_edge ", mask.stop_edge, " is not in (",
                                                   mask.pass_edge, ", ", most.stop,
                                                   "], from pass_edge to what folds onto it"));
  }
  mask.stop_edge = std::min(mask.stop_edge, most.stop);
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

MaskEdges LargestEdges(double pass_edge, int up, int down) {
  const double lower_rate = std::min(1.0, static_cast<double>(up) / down);
  MaskEdges most;
  most.pass = lower_rate / 2.0;
  most.stop = lower_rate - pass_edge;
  if (down % up == 0) most.stop = std::min(most.stop, 0.5);  // nothing is interpolated
  return most;
}

class FilterDesign::Implementation {
 public:
  explicit Implementation(const Task& task) : task_(task) {
    work_.Do({SlicedWork::Once([this] { search_.Start(task_, &work_); }),
              SlicedWork::Once([this] { BeginTry(); })});
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  bool Step(int64_t work) { return work_.Run(work); }
  const absl::StatusOr<FilterPtr>& result() const { return result_; }
  int64_t MaxBytes() const;

 private:
  void BeginTry();
  void DesignStage(size_t s);
  void AddStage(size_t s, const std::vector<double>& taps);
  void JudgeTry();

  Task task_;
  SlicedWork work_;
  Search search_;
  double margin_ = kMargin;
  int tries_ = 0;
  std::vector<LowPass> low_passes_;  // by stage
  std::vector<Stage> stages_;
  std::string remark_;
  EquirippleDesign equiripple_;
  KaiserDesign kaiser_;
  MaskMeasurement measurement_;
  absl::StatusOr<FilterPtr> result_ = FilterPtr();
};

void FilterDesign::Implementation::BeginTry() {
  const std::vector<Factors>& factors = search_.best();
  if (factors.empty()) {
    const LowPass low_pass = LowPassesOf(task_, {Factors{task_.up, task_.down}}, kMargin)[0];
    result_ =
        CannotBe(task_, absl::StrCat("it would take about ", EstimateTaps(low_pass, task_.design),
                                     " taps, the most is ", kMaxTaps));
    return;
  }
  low_passes_ = LowPassesOf(task_, factors, margin_);
  stages_.clear();
  remark_.clear();
  result_ = FilterPtr();
  std::vector<SlicedWork::Part> parts;
  for (size_t s = 0; s < factors.size(); ++s) {
    parts.push_back(SlicedWork::Once([this, s] { DesignStage(s); }));
  }
  parts.push_back(SlicedWork::Once([this] {
    if (!result_.ok()) return;
    measurement_.Start(stages_, task_.Sharp(stages_.size()), task_.mask.pass_edge,
                       task_.mask.stop_edge, &work_);
  }));
  parts.push_back(SlicedWork::Once([this] { JudgeTry(); }));
  work_.Do(std::move(parts));
}

void FilterDesign::Implementation::DesignStage(size_t s) {
  if (!result_.ok()) return;
  const auto kaiser = [this, s] {
    work_.Do({SlicedWork::Once([this, s] { kaiser_.Start(low_passes_[s], &work_); }),
              SlicedWork::Once([this, s] {
                if (!kaiser_.status().ok()) {
                  result_ = CannotBe(task_, kaiser_.status().message());
                } else {
                  AddStage(s, kaiser_.taps());
                }
              })});
  };
  if (task_.design == Design::kKaiser) return kaiser();
  work_.Do({SlicedWork::Once([this, s] { equiripple_.Start(low_passes_[s], &work_); }),
            SlicedWork::Once([this, s, kaiser] {
              if (equiripple_.status().ok()) return AddStage(s, equiripple_.taps());
              remark_ = absl::StrCat("Kaiser's design in place of equiripple: ",
                                     equiripple_.status().message());
              kaiser();
            })});
}

void FilterDesign::Implementation::AddStage(size_t s, const std::vector<double>& taps) {
  Stage stage;
  stage.up = search_.best()[s].up;
  stage.down = search_.best()[s].down;
  for (const double tap : taps) {
    stage.taps.push_back(static_cast<float>(tap * stage.up));
  }
  stages_.push_back(std::move(stage));
}

void FilterDesign::Implementation::JudgeTry() {
  if (!result_.ok()) return;
  const double ripple_db = measurement_.ripple_db();
  const double attenuation_db = measurement_.attenuation_db();
  if (ripple_db <= task_.mask.ripple_db && attenuation_db >= task_.mask.attenuation_db) {
    std::shared_ptr<Filter> filter = Filter::FromStages(std::move(stages_));
    filter->report_.ripple_db = ripple_db;
    filter->report_.attenuation_db = attenuation_db;
    filter->report_.remark = std::move(remark_);
    result_ = FilterPtr(std::move(filter));
  } else if (++tries_ < kTries) {
    margin_ *= kNextMargin;
    BeginTry();
  } else {
    result_ = CannotBe(task_, absl::StrCat("is beyond float32 taps, which reach ", attenuation_db,
                                           " dB and ", ripple_db, " dB of ripple"));
  }
}

// While a stage is designed it has a table that is being made; then all stages have theirs.
int64_t FilterDesign::Implementation::MaxBytes() const {
  if (low_passes_.empty()) return Amplitude::BytesToMake(kMaxTaps);
  int64_t making = 0;
  int64_t made = 0;
  for (const LowPass& low_pass : low_passes_) {
    // Designs end within a few percent of the estimate, or begin anew as Kaiser's.
    const int64_t taps =
        std::min<int64_t>(kMaxTaps, EstimateTaps(low_pass, Design::kKaiser) * 5 / 4);
    making = std::max(making, Amplitude::BytesToMake(taps));
    made += Amplitude::BytesOf(taps);
  }
  return making + made;
}

FilterDesign::FilterDesign(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
FilterDesign::FilterDesign(FilterDesign&&) noexcept = default;
FilterDesign& FilterDesign::operator=(FilterDesign&&) noexcept = default;
FilterDesign::~FilterDesign() = default;

absl::StatusOr<FilterDesign> FilterDesign::Create(const Mask& mask, Design design, int up,
                                                  int down) {
  Task task{mask, design, up, down};
  BASEBAND_RETURN_IF_ERROR(Check(&task));
  return FilterDesign(std::make_unique<Implementation>(task));
}

bool FilterDesign::Step(int64_t work) { return implementation_->Step(work); }

absl::StatusOr<FilterPtr> FilterDesign::Result() const { return implementation_->result(); }

int64_t FilterDesign::MaxBytes() const { return implementation_->MaxBytes(); }

absl::StatusOr<FilterPtr> Filter::FromMask(const Mask& mask, Design design, int up, int down) {
  BASEBAND_ASSIGN_OR_RETURN(FilterDesign made, FilterDesign::Create(mask, design, up, down));
  while (!made.Step()) {
  }
  return made.Result();
}

}  // namespace baseband::downconvert
