#include "kernels/timing/pulse.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/timing/math/pulse_math.h"
#include "kernels/timing/pulse_taps.h"

namespace baseband::timing {
namespace {

// Filters centred within half of 1 / kRowsPerSymbol of the place they are for; how the rest is made
// up for: math/place_math.h.
constexpr int kRowsPerSymbol = 256;
constexpr int kRowTapsMultiple = 16;  // of a row, for vectors
constexpr size_t kEvaluationsBetweenChecks = 1 << 13;

// Interference between symbols if the filter's taps are begin, begin + step .. end of the grid: the
// sums of what it misses.
double InterferenceOf(const std::vector<double>& g, int begin, int end, int step) {
  const int reach = 2 * end / kPointsPerSymbol + 20;
  const auto at = [&](int n) { return g[static_cast<size_t>(std::abs(n))]; };
  double interference = 0.0;
  double own = 0.0;
  for (int k = -reach; k <= reach; ++k) {
    double sum = 0.0;
    for (int n = begin; n <= end; n += step) sum += at(n) * at(n + k * kPointsPerSymbol);
    if (k == 0) own = sum;
    if (k != 0) interference += sum * sum;
  }
  return interference / (own * own);
}

// No filter is shorter.
int LeastSpan(const PulseShape& shape) {
  return shape.taps != nullptr ? 1 : static_cast<int>(std::ceil(1.8 / shape.rolloff));
}

// The least span, from LeastSpan on, that leaves no more than kTailInterference, with the taps
// that a filter between the samples has more at its ends, too: what is missed falls and rises again
// as the filter gets longer.
absl::StatusOr<int> SpanFor(const PulseShape& shape, const ContinueCheck& may_continue) {
  const double rolloff = shape.rolloff;
  const auto most = static_cast<int>(std::ceil(6.0 / rolloff)) + 4;
  std::vector<double> g;
  for (int n = 0; n <= (3 * most + 22) * kPointsPerSymbol; ++n) {
    g.push_back(RootRaisedCosine(rolloff, static_cast<double>(n) / kPointsPerSymbol));
  }
  for (int span = LeastSpan(shape); span < most; ++span) {
    BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
    const int last = span * kPointsPerSymbol;
    // At 2 and 4 samples a symbol, at a sample and between two.
    const double interference =
        std::max({InterferenceOf(g, -last, last + 2, 2), InterferenceOf(g, -last - 1, last + 1, 2),
                  InterferenceOf(g, -last, last, 1), InterferenceOf(g, -last, last + 1, 1)});
    if (interference <= kTailInterference) return span;
  }
  return most;
}

// The half of a root-raised-cosine pulse, at `count` points `step` symbols apart.
absl::StatusOr<PulseHalf> RootRaisedCosineHalf(double rolloff, double step, size_t count,
                                               const ContinueCheck& may_continue) {
  PulseHalf half;
  for (size_t n = 0; n < count; ++n) {
    if (n % kEvaluationsBetweenChecks == 0) BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
    const double t = static_cast<double>(n) * step;
    half.values.push_back(RootRaisedCosine(rolloff, t));
    half.slopes.push_back(RootRaisedCosineSlope(rolloff, t));
  }
  return half;
}

// The layout of the filters of a pulse of that span, without its pointer.
PulseView LayoutOf(const PulseShape& shape, int span) {
  const double spacing = 1.0 / shape.samples_per_symbol();  // of samples, symbols
  PulseView layout;
  layout.rows = static_cast<int>(std::ceil(kRowsPerSymbol * spacing));
  layout.before = static_cast<int>(std::floor(span / spacing));
  layout.taps = 2 * layout.before + 2;
  layout.row_taps = (layout.taps + kRowTapsMultiple - 1) / kRowTapsMultiple * kRowTapsMultiple;
  return layout;
}

size_t NumTaps(const PulseView& layout) {
  return static_cast<size_t>(layout.rows) * static_cast<size_t>(layout.row_taps);
}

int64_t BytesOf(const PulseShape& shape, const PulseView& layout) {
  const size_t own = shape.taps == nullptr ? 0 : shape.taps->values.size() * sizeof(float);
  return static_cast<int64_t>(NumTaps(layout) * sizeof(Tap) + own);
}

uint64_t NextId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

// Of a root-raised-cosine pulse.
PulseFacts FactsOf(double rolloff) {
  const double a = rolloff;
  PulseFacts facts;
  facts.rolloff = a;
  facts.bandwidth = 4.0 * kPi * kPi * (1.0 / 12.0 + a * a * (0.25 - 2.0 / (kPi * kPi)));
  double neighbours = 0.0;
  for (int d = 1; d < static_cast<int>(40.0 / a); ++d) {
    const double square = RaisedCosineSlopeAt(a, d) * RaisedCosineSlopeAt(a, d);
    neighbours += square;
    facts.neighbour_reach += d * square * d;
  }
  facts.neighbour_share = 2.0 * neighbours / facts.bandwidth;
  return facts;
}

}  // namespace

PulseShape PulseShape::Reduced() const {
  PulseShape reduced = *this;
  const int divisor = std::gcd(samples, symbols);
  reduced.samples /= divisor;
  reduced.symbols /= divisor;
  return reduced;
}

std::string PulseShape::Key() const {
  std::string key;
  const auto append = [&key](const auto* numbers, size_t count) {
    key.append(reinterpret_cast<const char*>(numbers), count * sizeof(*numbers));
  };
  append(&rolloff, 1);
  append(&samples, 1);
  append(&symbols, 1);
  if (taps != nullptr) {
    append(&taps->per_symbol, 1);
    append(taps->values.data(), taps->values.size());
  }
  return key;
}

absl::Status CheckPulse(const PulseShape& shape) {
  if (!(shape.rolloff >= kMinRolloff && shape.rolloff <= kMaxRolloff)) {
    return absl::InvalidArgumentError(absl::StrCat("roll_off ", shape.rolloff, " is not in [",
                                                   kMinRolloff, ", ", kMaxRolloff, "]"));
  }
  const auto rate = [&] {
    return absl::StrCat("samples_per_symbol ", shape.samples, "/", shape.symbols);
  };
  if (shape.samples < 1 || shape.symbols < 1 ||
      shape.samples < int64_t{kMinSamplesPerSymbol} * shape.symbols ||
      shape.samples > int64_t{kMaxSamplesPerSymbol} * shape.symbols) {
    return absl::InvalidArgumentError(absl::StrCat(rate(), " is not in [", kMinSamplesPerSymbol,
                                                   ", ", kMaxSamplesPerSymbol, "]"));
  }
  if (shape.Reduced().samples > kMaxRateTerm) {
    return absl::InvalidArgumentError(
        absl::StrCat(rate(), " is ", shape.Reduced().samples, "/", shape.Reduced().symbols,
                     " in lowest terms, of which none may be more than ", kMaxRateTerm));
  }
  return shape.taps == nullptr ? absl::OkStatus()
                               : CheckTaps(shape.taps->per_symbol, shape.taps->values);
}

absl::StatusOr<PulsePtr> Pulse::Create(const PulseShape& shape, const ContinueCheck& may_continue) {
  BASEBAND_ASSIGN_OR_RETURN(PulsePlan plan, PulsePlan::Create(shape, may_continue));
  BASEBAND_RETURN_IF_ERROR(plan.LayOut(may_continue));
  return plan.Make(may_continue);
}

absl::StatusOr<PulsePlan> PulsePlan::Create(const PulseShape& shape,
                                            const ContinueCheck& may_continue) {
  BASEBAND_RETURN_IF_ERROR(CheckPulse(shape));
  PulsePlan plan;
  plan.pulse_ = std::shared_ptr<Pulse>(new Pulse);
  Pulse& pulse = *plan.pulse_;
  pulse.shape_ = shape.Reduced();
  pulse.id_ = NextId();
  pulse.layout_ = LayoutOf(pulse.shape_, LeastSpan(pulse.shape_));
  if (shape.taps == nullptr) {
    pulse.facts_ = FactsOf(pulse.shape_.rolloff);
  } else {
    BASEBAND_ASSIGN_OR_RETURN(TapsPulse taps,
                              TapsPulse::Create(*shape.taps, shape.rolloff, may_continue));
    plan.taps_ = std::make_shared<TapsPulse>(std::move(taps));
    pulse.facts_ = plan.taps_->facts();
  }
  return plan;
}

absl::Status PulsePlan::LayOut(const ContinueCheck& may_continue) {
  const PulseShape& shape = pulse_->shape_;
  BASEBAND_ASSIGN_OR_RETURN(
      pulse_->span_, taps_ != nullptr ? taps_->Span(may_continue) : SpanFor(shape, may_continue));
  pulse_->layout_ = LayoutOf(shape, pulse_->span_);
  return absl::OkStatus();
}

int64_t PulsePlan::bytes() const { return pulse_->bytes(); }

int64_t PulsePlan::LeastBytes(const PulseShape& shape) {
  return BytesOf(shape, LayoutOf(shape, LeastSpan(shape)));
}

absl::StatusOr<PulsePtr> PulsePlan::Make(const ContinueCheck& may_continue) {
  const double step = pulse_->RowStep();
  const size_t count = pulse_->HalfPoints();
  BASEBAND_ASSIGN_OR_RETURN(
      const PulseHalf half,
      taps_ != nullptr ? taps_->Half(step, count, may_continue)
                       : RootRaisedCosineHalf(pulse_->shape_.rolloff, step, count, may_continue));
  pulse_->SetFilters(half);
  return PulsePtr(std::move(pulse_));
}

double Pulse::RowStep() const { return 1.0 / (shape_.samples_per_symbol() * layout_.rows); }

size_t Pulse::HalfPoints() const {
  return static_cast<size_t>(layout_.before + 1) * static_cast<size_t>(layout_.rows) + 1;
}

void Pulse::SetFilters(const PulseHalf& half) {
  const double spacing = 1.0 / shape_.samples_per_symbol();
  taps_.resize(NumTaps(layout_));
  for (int row = 0; row < layout_.rows; ++row) {
    Tap* const taps = taps_.data() + static_cast<size_t>(row) * layout_.row_taps;
    for (int j = 0; j < layout_.taps; ++j) {
      const int steps = (j - layout_.before) * layout_.rows - row;
      const auto n = static_cast<size_t>(std::abs(steps));
      const double slope = steps < 0 ? -half.slopes[n] : half.slopes[n];
      taps[j].value = static_cast<float>(spacing * half.values[n]);
      taps[j].slope = static_cast<float>(-spacing * slope);
    }
  }
}

PulseView Pulse::view() const {
  PulseView view = layout_;
  view.taps_of = taps_.data();
  return view;
}

int64_t Pulse::bytes() const { return BytesOf(shape_, layout_); }

}  // namespace baseband::timing
