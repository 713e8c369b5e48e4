// A mask is checked; its cascade is sought, designed stage by stage and measured as a whole. Where
// rounding took too much of the mask, all of it begins anew with more left for that.
#include "kernels/downconvert/filter_design.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/downconvert/cascade.h"
#include "kernels/downconvert/design.h"

namespace baseband::downconvert {
namespace {

constexpr double kNextMargin = 0.9;  // of kRoundingMargin, where that was not enough
constexpr int kTries = 5;

absl::Status CannotBe(const CascadeTask& task, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "mask: from ", task.mask.pass_edge, " to ", task.mask.stop_edge, " cycles per sample with ",
      task.mask.attenuation_db, " dB at up/down ", task.up, "/", task.down, " ", why));
}

absl::Status Check(CascadeTask* task) {
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
  if (!(mask.ripple_db >= kMinRippleDb && mask.ripple_db <= kMaxRippleDb)) {
    return absl::InvalidArgumentError(absl::StrCat("ripple_db ", mask.ripple_db, " is not in [",
                                                   kMinRippleDb, ", ", kMaxRippleDb, "]"));
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
  explicit Implementation(const CascadeTask& task) : task_(task) {
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

  CascadeTask task_;
  SlicedWork work_;
  CascadeSearch search_;
  double margin_ = kRoundingMargin;
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
    const LowPass low_pass =
        LowPassesOf(task_, {Factors{task_.up, task_.down}}, kRoundingMargin)[0];
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
  CascadeTask task{mask, design, up, down};
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
