#include "kernels/timing/pulse_taps.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/timing/math/pulse_math.h"

namespace baseband::timing {
namespace {

constexpr int kTailSpan = 4;          // symbols that a pulse may reach further than its taps
constexpr int kLeastHalfPeriod = 40;  // symbols; fine enough for the least roll-off
constexpr int kEdgeSteps = 16;        // of the integral over one half of an edge

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

// G(f) by Clenshaw's recurrence.
double SpectrumAt(const std::vector<double>& half, int per_symbol, double f) {
  const double twice_cos = 2.0 * std::cos(2.0 * kPi * f / per_symbol);
  double next = 0.0;
  double after = 0.0;
  for (size_t n = half.size() - 1; n > 0; --n) {
    const double here = 2.0 * half[n] + twice_cos * next - after;
    after = next;
    next = here;
  }
  return (half[0] + 0.5 * twice_cos * next - after) / per_symbol;
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
  double sum = 0.0;
  for (int i = 0; i < kEdgeSteps; ++i) {
    const double x = 0.5 * rolloff * (i + 0.5) / kEdgeSteps;
    sum += SpectrumAt(half, per_symbol, 0.5 + x) * SpectrumAt(half, per_symbol, 0.5 - x) *
           std::cos(kPi * x / rolloff);
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
  BASEBAND_RETURN_IF_ERROR(pulse.SetSpan(reach + kTailSpan - 1, may_continue));
  return pulse;
}

absl::Status TapsPulse::SetSpectrum(const PulseTaps& taps, double rolloff,
                                    const ContinueCheck& may_continue) {
  const std::vector<double> half = HalfOf(taps);
  const auto reach = static_cast<int>(half.size() - 1) / taps.per_symbol + 1;
  // Twice the tails' room, and even: 1/2 is a bin.
  const int bins = 2 * std::max(reach + 2 * kTailSpan, kLeastHalfPeriod);
  spectrum_.resize(static_cast<size_t>(bins) + 1);
  for (size_t i = 0; i < spectrum_.size(); ++i) {
    if (i % 16 == 0) BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
    spectrum_[i] = SpectrumAt(half, taps.per_symbol, FrequencyOf(i));
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
absl::Status TapsPulse::SetSpan(int most, const ContinueCheck& may_continue) {
  const auto num_symbols = static_cast<int>(period() / 2.0);
  const int last = kPointsPerSymbol * num_symbols;
  BASEBAND_ASSIGN_OR_RETURN(
      const PulseHalf half,
      Half(1.0 / kPointsPerSymbol, static_cast<size_t>(last) + 1, may_continue));
  const auto at = [&](int n) {
    return std::abs(n) <= last ? half.values[static_cast<size_t>(std::abs(n))] : 0.0;
  };
  span_ = 1;
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
    if (interference > kTailInterference) {
      span_ = std::min(most, n / kPointsPerSymbol + 1);
      break;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<PulseHalf> TapsPulse::Half(double step, size_t count,
                                          const ContinueCheck& may_continue) const {
  PulseHalf half;
  half.values.resize(count);
  half.slopes.resize(count);
  for (size_t i = 0; i < spectrum_.size(); ++i) {
    BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
    // Those of -f along; both ends of the band are one bin, modulo D.
    const double weight =
        (i == 0 || i + 1 == spectrum_.size() ? 1.0 : 2.0) * spectrum_[i] / period();
    const double angle = 2.0 * kPi * FrequencyOf(i);
    const double step_cos = std::cos(angle * step);
    const double step_sin = std::sin(angle * step);
    double re = weight;
    double im = 0.0;
    for (size_t n = 0; n < count; ++n) {
      half.values[n] += re;
      half.slopes[n] -= angle * im;
      const double next = re * step_cos - im * step_sin;
      im = re * step_sin + im * step_cos;
      re = next;
    }
  }
  return half;
}

}  // namespace baseband::timing
