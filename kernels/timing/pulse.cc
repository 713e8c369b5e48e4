#include "kernels/timing/pulse.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/timing/math/pulse_math.h"

namespace baseband::timing {
namespace {

// Filters centred within half of 1 / kRowsPerSymbol of the place they are for; how the rest is made
// up for: math/place_math.h.
constexpr int kRowsPerSymbol = 256;
constexpr int kRowTapsMultiple = 16;    // of a row, for vectors
constexpr double kInterference = 7e-7;  // power, of the symbol's: below -60 dB
constexpr int kGridPerSymbol = 4;       // of the sums that stand for integrals
constexpr int64_t kEvaluationsBetweenChecks = 1 << 14;

// Interference between symbols if the filter's taps are begin, begin + step .. end of the grid: the
// sums of what it misses.
double InterferenceOf(const std::vector<double>& g, int begin, int end, int step) {
  const int reach = 2 * end / kGridPerSymbol + 20;
  const auto at = [&](int n) { return g[static_cast<size_t>(std::abs(n))]; };
  double interference = 0.0;
  double own = 0.0;
  for (int k = -reach; k <= reach; ++k) {
    double sum = 0.0;
    for (int n = begin; n <= end; n += step) sum += at(n) * at(n + k * kGridPerSymbol);
    if (k == 0) own = sum;
    if (k != 0) interference += sum * sum;
  }
  return interference / (own * own);
}

// The least span, from 1.8 / roll-off on, that leaves no more than kInterference, with the taps
// that a filter between the samples has more at its ends, too: what is missed falls and rises again
// as the filter gets longer.
absl::StatusOr<int> SpanFor(double rolloff, const ContinueCheck& may_continue) {
  const auto most = static_cast<int>(std::ceil(6.0 / rolloff)) + 4;
  std::vector<double> g;
  for (int n = 0; n <= (3 * most + 22) * kGridPerSymbol; ++n) {
    g.push_back(RootRaisedCosine(rolloff, static_cast<double>(n) / kGridPerSymbol));
  }
  for (auto span = static_cast<int>(std::ceil(1.8 / rolloff)); span < most; ++span) {
    BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
    const int last = span * kGridPerSymbol;
    // At 2 and 4 samples a symbol, at a sample and between two.
    const double interference =
        std::max({InterferenceOf(g, -last, last + 2, 2), InterferenceOf(g, -last - 1, last + 1, 2),
                  InterferenceOf(g, -last, last, 1), InterferenceOf(g, -last, last + 1, 1)});
    if (interference <= kInterference) return span;
  }
  return most;
}

uint64_t NextId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
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
  std::string key(sizeof(rolloff) + sizeof(samples) + sizeof(symbols), '\0');
  std::memcpy(key.data(), &rolloff, sizeof(rolloff));
  std::memcpy(key.data() + sizeof(rolloff), &samples, sizeof(samples));
  std::memcpy(key.data() + sizeof(rolloff) + sizeof(samples), &symbols, sizeof(symbols));
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
  return absl::OkStatus();
}

absl::StatusOr<PulsePtr> Pulse::Create(const PulseShape& shape, const ContinueCheck& may_continue) {
  BASEBAND_RETURN_IF_ERROR(CheckPulse(shape));
  const std::shared_ptr<Pulse> pulse(new Pulse);
  pulse->shape_ = shape.Reduced();
  pulse->id_ = NextId();
  const double a = shape.rolloff;
  BASEBAND_ASSIGN_OR_RETURN(pulse->span_, SpanFor(a, may_continue));
  pulse->bandwidth_ = 4.0 * kPi * kPi * (1.0 / 12.0 + a * a * (0.25 - 2.0 / (kPi * kPi)));
  double neighbours = 0.0;
  for (int d = 1; d < static_cast<int>(40.0 / a); ++d) {
    neighbours += RaisedCosineSlopeAt(a, d) * RaisedCosineSlopeAt(a, d);
  }
  pulse->neighbour_share_ = 2.0 * neighbours / pulse->bandwidth_;

  const double spacing = 1.0 / shape.samples_per_symbol();  // of samples, symbols
  PulseView& layout = pulse->layout_;
  layout.rows = static_cast<int>(std::ceil(kRowsPerSymbol * spacing));
  layout.before = static_cast<int>(std::floor(pulse->span_ / spacing));
  layout.taps = 2 * layout.before + 2;
  layout.row_taps = (layout.taps + kRowTapsMultiple - 1) / kRowTapsMultiple * kRowTapsMultiple;
  pulse->taps_.resize(static_cast<size_t>(layout.rows) * static_cast<size_t>(layout.row_taps));
  int64_t evaluations = 0;
  for (int row = 0; row < layout.rows; ++row) {
    if (evaluations >= kEvaluationsBetweenChecks) {
      BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
      evaluations = 0;
    }
    evaluations += layout.taps;
    Tap* const taps = pulse->taps_.data() + static_cast<size_t>(row) * layout.row_taps;
    for (int j = 0; j < layout.taps; ++j) {
      const double t = (j - layout.before - static_cast<double>(row) / layout.rows) * spacing;
      taps[j].value = static_cast<float>(spacing * RootRaisedCosine(a, t));
      taps[j].slope = static_cast<float>(-spacing * RootRaisedCosineSlope(a, t));
    }
  }
  return PulsePtr(pulse);
}

PulseView Pulse::view() const {
  PulseView view = layout_;
  view.taps_of = taps_.data();
  return view;
}

int64_t Pulse::bytes() const { return static_cast<int64_t>(taps_.size() * sizeof(Tap)); }

}  // namespace baseband::timing
