#include "kernels/timing/pulse_taps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/timing/math/pulse_math.h"

namespace baseband::timing {
namespace {

constexpr int kTailSpan = 4;          // symbols that a pulse may reach further than its taps
constexpr int kLeastHalfPeriod = 40;  // symbols; fine enough for the least roll-off
constexpr size_t kEdgeSteps = 16;     // of the integral over one half of an edge

// h_0 .. h_L, the largest 1.
std::vector<double> HalfOf(const PulseTaps& taps) {
  const size_t middle = taps.values.size() / 2;
  double largest = 0.0;
  for (const float tap : taps.values) largest = std::max(largest, std::fabs(double{tap}));
  std::vector<double> half;
  for (size_t n = 0; n <= middle; ++n) {
    half.push_back(0.5 * (taps.values[middle + n] / largest + taps.values[middle - n] / largest));
  }
  return half;
}

// Recurrences go on beside each other: one alone waits for its own products.
constexpr size_t kAtOnce = 8;
using AtOnce = std::array<double, kAtOnce>;

// G(f) at each of `f` by Clenshaw's recurrence.
AtOnce SpectrumAt(const std::vector<double>& half, int per_symbol, const AtOnce& f) {
  AtOnce twice_cos;
  AtOnce next = {};
  AtOnce after = {};
  for (size_t j = 0; j < kAtOnce; ++j) twice_cos[j] = 2.0 * std::cos(2.0 * kPi * f[j] / per_symbol);
  for (size_t n = half.size() - 1; n > 0; --n) {
    for (size_t j = 0; j < kAtOnce; ++j) {
      const double here = 2.0 * half[n] + twice_cos[j] * next[j] - after[j];
      after[j] = next[j];
      next[j] = here;
    }
  }
  AtOnce spectrum;
  for (size_t j = 0; j < kAtOnce; ++j) {
    spectrum[j] = (half[0] + 0.5 * twice_cos[j] * next[j] - after[j]) / per_symbol;
  }
  return spectrum;
}

double EnergyOf(const std::vector<double>& half, int per_symbol) {
  double sum = half[0] * half[0];
  for (size_t n = 1; n < half.size(); ++n) sum += 2.0 * half[n] * half[n];
  return sum / per_symbol;
}

// Integral of G^2 over |f| <= `band`, which is at most 1, by trapezoids.
double EnergyWithin(const std::vector<double>& spectrum, double band) {
  const double end = band * static_cast<double>(spectrum.size() - 1);
  const auto whole = static_cast<size_t>(end);
  double sum = 0.0;
  for (size_t i = 0; i < whole; ++i) {
    sum += spectrum[i] * spectrum[i] + spectrum[i + 1] * spectrum[i + 1];
  }
  if (whole + 1 < spectrum.size()) {
    const double rest = end - static_cast<double>(whole);
    const double from = spectrum[whole] * spectrum[whole];
    const double to = spectrum[whole + 1] * spectrum[whole + 1];
    sum += rest * (2.0 * from + rest * (to - from));
  }
  return sum / static_cast<double>(spectrum.size() - 1);
}

// The line of math/line_math.h without noise, over that of a root-raised-cosine pulse of the same
// energy: a / 4.
double LineStrength(const std::vector<double>& half, int per_symbol, double rolloff,
                    double energy) {
  static_assert(kEdgeSteps % kAtOnce == 0);
  double sum = 0.0;
  for (size_t i = 0; i < kEdgeSteps; i += kAtOnce) {
    AtOnce x;
    AtOnce above;
    AtOnce below;
    for (size_t j = 0; j < kAtOnce; ++j) {
      x[j] = 0.5 * rolloff * (static_cast<double>(i + j) + 0.5) / kEdgeSteps;
      above[j] = 0.5 + x[j];
      below[j] = 0.5 - x[j];
    }
    above = SpectrumAt(half, per_symbol, above);
    below = SpectrumAt(half, per_symbol, below);
    for (size_t j = 0; j < kAtOnce; ++j) {
      sum += above[j] * below[j] * std::cos(kPi * x[j] / rolloff);
    }
  }
  return 4.0 * sum / (kEdgeSteps * energy);
}

}  // namespace

absl::Status CheckTaps(int64_t per_symbol, absl::Span<const float> values) {
  if (per_symbol < kMinTapsPerSymbol || per_symbol > kMaxTapsPerSymbol) {
    return absl::InvalidArgumentError(absl::StrCat("taps_per_symbol ", per_symbol, " is not in [",
                                                   kMinTapsPerSymbol, ", ", kMaxTapsPerSymbol,
                                                   "]"));
  }
  const size_t count = values.size();
  const auto most = static_cast<size_t>(2 * kMaxTapsReach * per_symbol + 1);
  if (count < 3 || count > most || count % 2 == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("taps are ", count, ", not an odd number in [3, ", most, "], ", kMaxTapsReach,
                     " symbols to either side of the middle one"));
  }
  float largest = 0.0F;
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("taps[", i, "] ", values[i], " is not finite"));
    }
    largest = std::max(largest, std::fabs(values[i]));
  }
  if (largest == 0.0F) return absl::InvalidArgumentError("taps are all 0");
  for (size_t i = 0; i < count / 2; ++i) {
    const float mirrored = values[count - 1 - i];
    if (std::fabs(double{values[i]} - double{mirrored}) > kMaxTapsAsymmetry * double{largest}) {
      return absl::InvalidArgumentError(absl::StrCat(
          "taps are not symmetric: taps[", i, "] ", values[i], " and taps[", count - 1 - i, "] ",
          mirrored, " differ by more than ", kMaxTapsAsymmetry, " of the largest"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TapsPulse> TapsPulse::Create(const PulseTaps& taps, double rolloff,
                                            const ContinueCheck& may_continue) {
  TapsPulse pulse;
  BASEBAND_RETURN_IF_ERROR(pulse.SetSpectrum(taps, rolloff, may_continue));
  const auto reach = static_cast<int>(taps.values.size()) / 2 / taps.per_symbol + 1;
  pulse.most_span_ = reach + kTailSpan - 1;
  return pulse;
}

absl::Status TapsPulse::SetSpectrum(const PulseTaps& taps, double rolloff,
                                    const ContinueCheck& may_continue) {
  BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
  const std::vector<double> half = HalfOf(taps);
  const auto reach = static_cast<int>(half.size() - 1) / taps.per_symbol + 1;
  // Twice the tails' room, and even: 1/2 is a bin.
  const int bins = 2 * std::max(reach + 2 * kTailSpan, kLeastHalfPeriod);
  spectrum_.resize(static_cast<size_t>(bins) + 1);
  for (size_t i = 0; i < spectrum_.size(); i += kAtOnce) {
    AtOnce f;
    for (size_t j = 0; j < kAtOnce; ++j) f[j] = FrequencyOf(i + j);
    const AtOnce some = SpectrumAt(half, taps.per_symbol, f);
    std::copy_n(some.begin(), std::min(kAtOnce, spectrum_.size() - i),
                spectrum_.begin() + static_cast<int64_t>(i));
  }
  double energy = 0.0;     // sums over the bins of F,
  double squares = 0.0;    // of F^2,
  double spread = 0.0;     // of f^2 G^2,
  double at_others = 0.0;  // of the square of f G^2, folded,
  double changes = 0.0;    // and of that of its change from bin to bin
  double before = 0.0;
  for (size_t i = 0; i < spectrum_.size() - 1; ++i) {
    const size_t mirrored = spectrum_.size() - 1 - i;
    const double f = FrequencyOf(i);
    const double low = spectrum_[i] * spectrum_[i];
    const double high = spectrum_[mirrored] * spectrum_[mirrored];
    energy += low + high;
    squares += (low + high) * (low + high);
    spread += f * f * low + (1.0 - f) * (1.0 - f) * high;
    const double folded = i == 0 ? 0.0 : f * low - (1.0 - f) * high;
    at_others += folded * folded;
    changes += (folded - before) * (folded - before);
    before = folded;
  }
  const double whole = EnergyOf(half, taps.per_symbol);
  const double beyond = 1.0 - EnergyWithin(spectrum_, 0.5 * (1.0 + rolloff)) / whole;
  if (!(beyond <= kMaxEnergyBeyond)) {
    return absl::InvalidArgumentError(
        absl::StrCat("taps have ", beyond, " of their energy beyond the band of roll_off ", rolloff,
                     ", which ends at ", 0.5 * (1.0 + rolloff), " cycles per symbol: not in [0, ",
                     kMaxEnergyBeyond, "]"));
  }
  const double interference = squares * period() / (energy * energy) - 1.0;
  if (!(interference <= kMaxInterference)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "taps make symbols that, behind the filter matched to them, interfere with each other by ",
        interference, " of their power: not in [0, ", kMaxInterference, "]"));
  }
  const double line = LineStrength(half, taps.per_symbol, rolloff, energy / period());
  if (!(line >= kMinLineStrength)) {
    return absl::InvalidArgumentError(
        absl::StrCat("taps make a line at the symbol rate, by what they have within roll_off ",
                     rolloff, " / 2 of half a cycle per symbol, that is ", line,
                     " of a root-raised-cosine pulse's: not in [", kMinLineStrength, ", inf)"));
  }
  const double turns = 4.0 * kPi * kPi;
  changes += before * before;  // to bin 0 of the next period
  facts_.rolloff = rolloff;
  facts_.bandwidth = turns * spread / energy;
  facts_.neighbour_share = turns * at_others * period() / (energy * energy * facts_.bandwidth);
  facts_.neighbour_reach = 0.5 * changes * std::pow(period(), 3) / (energy * energy);
  facts_.line_strength = line;
  const double scale = 1.0 / std::sqrt(energy / period());
  for (double& bin : spectrum_) bin *= scale;
  return absl::OkStatus();
}

// What a filter lacks makes e_d of the symbol d places on, at two samples a symbol: the longest
// filter is cut until that is too much.
absl::StatusOr<int> TapsPulse::Span(const ContinueCheck& may_continue) const {
  const auto num_symbols = static_cast<int>(period() / 2.0);
  const int last = kPointsPerSymbol * num_symbols;
  BASEBAND_ASSIGN_OR_RETURN(
      const PulseHalf half,
      Half(1.0 / kPointsPerSymbol, static_cast<size_t>(last) + 1, may_continue));
  const auto at = [&](int n) {
    return std::abs(n) <= last ? half.values[static_cast<size_t>(std::abs(n))] : 0.0;
  };
  std::vector<double> lacking[2];  // of samples at even and at odd points
  for (std::vector<double>& e : lacking) e.resize(static_cast<size_t>(num_symbols) + 1);
  for (int n = last; n > kPointsPerSymbol; --n) {
    std::vector<double>& e = lacking[n % 2];
    double interference = 0.0;
    for (int d = 1; d <= num_symbols; ++d) {
      const int shift = kPointsPerSymbol * d;
      double& e_d = e[static_cast<size_t>(d)];
      e_d += at(n) * (at(n + shift) + at(n - shift)) * 2.0 / kPointsPerSymbol;
      interference += 2.0 * e_d * e_d;
    }
    if (interference > kTailInterference) return std::min(most_span_, n / kPointsPerSymbol + 1);
  }
  return 1;
}

absl::StatusOr<PulseHalf> TapsPulse::Half(double step, size_t count,
                                          const ContinueCheck& may_continue) const {
  PulseHalf half;
  half.values.resize(count);
  half.slopes.resize(count);
  for (size_t i = 0; i < spectrum_.size(); i += kAtOnce) {
    BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
    AtOnce angle = {};
    AtOnce step_cos = {};
    AtOnce step_sin = {};
    AtOnce re = {};
    AtOnce im = {};
    for (size_t j = 0; j < std::min(kAtOnce, spectrum_.size() - i); ++j) {
      // Those of -f along; both ends of the band are one bin, modulo D.
      const bool is_end = i + j == 0 || i + j + 1 == spectrum_.size();
      angle[j] = 2.0 * kPi * FrequencyOf(i + j);
      step_cos[j] = std::cos(angle[j] * step);
      step_sin[j] = std::sin(angle[j] * step);
      re[j] = (is_end ? 1.0 : 2.0) * spectrum_[i + j] / period();
    }
    for (size_t n = 0; n < count; ++n) {
      for (size_t j = 0; j < kAtOnce; ++j) {
        half.values[n] += re[j];
        half.slopes[n] -= angle[j] * im[j];
        const double next = re[j] * step_cos[j] - im[j] * step_sin[j];
        im[j] = re[j] * step_sin[j] + im[j] * step_cos[j];
        re[j] = next;
      }
    }
  }
  return half;
}

}  // namespace baseband::timing
