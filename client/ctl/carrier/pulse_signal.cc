#include "client/ctl/carrier/pulse_signal.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/ctl/common/angles.h"
#include "common/numbers/numbers.h"
#include "kernels/timing/math/place_math.h"

namespace baseband::ctl {
namespace {

constexpr int64_t kMaxPart = 4096;  // of SymbolTiming.samples_per_symbol

// What a pulse has beyond so many symbols is less than 60 dB of its energy:
// its tails are below 1 / (4 pi roll_off t^2).
int SpanOf(double roll_off) {
  return static_cast<int>(std::ceil(std::cbrt(2e6 / 3) / std::pow(4 * kPi * roll_off, 2.0 / 3)));
}

double Sinc(double x) { return std::abs(x) < 1e-9 ? 1 : std::sin(kPi * x) / (kPi * x); }

// Of taps, and of what is left of their edges.
int SpanOf(absl::Span<const float> taps, int per_symbol) {
  return static_cast<int>(taps.size()) / (2 * per_symbol) + 5;
}

// What taps have within one cycle per symbol, at `t` symbols from the middle one.
double BandOf(double t, absl::Span<const float> taps, int per_symbol) {
  const double middle = 0.5 * static_cast<double>(taps.size() - 1);
  double sum = 0;
  for (size_t n = 0; n < taps.size(); ++n) {
    sum += double{taps[n]} * Sinc(2 * (t - (static_cast<double>(n) - middle) / per_symbol));
  }
  return sum;
}

// Of BandOf: two samples a symbol tell all of it.
double EnergyOf(absl::Span<const float> taps, int per_symbol) {
  const int span = 2 * SpanOf(taps, per_symbol);
  double energy = 0;
  for (int n = -span; n <= span; ++n) {
    energy += std::pow(BandOf(0.5 * n, taps, per_symbol), 2) / 2;
  }
  return energy;
}

bool ParseFraction(absl::string_view text, int64_t* numerator, int64_t* denominator) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
  if (parts.size() == 2) {
    return ParseWholeIn(parts[0], 1, INT32_MAX, numerator) &&
           ParseWholeIn(parts[1], 1, INT32_MAX, denominator);
  }
  const std::vector<absl::string_view> digits = absl::StrSplit(text, '.');
  if (digits.size() == 1) {
    *denominator = 1;
    return ParseWholeIn(text, 1, INT32_MAX, numerator);
  }
  // "2.125" as it is written: 2125/1000.
  int64_t whole = 0;
  int64_t rest = 0;
  if (digits.size() != 2 || digits[1].size() > 6 || !absl::SimpleAtoi(digits[0], &whole) ||
      !absl::SimpleAtoi(digits[1], &rest) || whole < 0 || whole > INT32_MAX || rest < 0 ||
      digits[1].find_first_not_of("0123456789") != absl::string_view::npos) {
    return false;
  }
  *denominator = 1;
  for (size_t i = 0; i < digits[1].size(); ++i) {
    *denominator *= 10;
  }
  *numerator = whole * *denominator + rest;
  return true;
}

constexpr int kNodes = 1024;  // of a PulseTable, a symbol

}  // namespace

absl::StatusOr<SamplesPerSymbol> ParseSamplesPerSymbol(absl::string_view text) {
  SamplesPerSymbol found;
  if (!ParseFraction(text, &found.numerator, &found.denominator)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no number of samples, such as 4, 5/2 or 2.5"));
  }
  const int64_t divisor = std::gcd(found.numerator, found.denominator);
  found.numerator /= divisor;
  found.denominator /= divisor;
  if (found.numerator < 2 * found.denominator || found.numerator > 16 * found.denominator) {
    return absl::InvalidArgumentError(absl::StrCat(text, " is not in [2, 16]"));
  }
  if (found.numerator > kMaxPart) {
    return absl::InvalidArgumentError(absl::StrCat(
        text, " is ", ToText(found), ", whose numerator is not in [2, ", kMaxPart, "]"));
  }
  return found;
}

int64_t SymbolsOf(const SamplesPerSymbol& rate, double max_clock_error, int64_t num_samples) {
  return timing::NumSymbols(static_cast<int>(rate.numerator), static_cast<int>(rate.denominator),
                            max_clock_error, num_samples);
}

int64_t SamplesFor(const SamplesPerSymbol& rate, double max_clock_error, int64_t num_symbols) {
  const double last = 1 + static_cast<double>(num_symbols - 1) * (1 + max_clock_error);
  auto samples = 1 + static_cast<int64_t>(last * rate.value());
  while (SymbolsOf(rate, max_clock_error, samples) < num_symbols) {
    ++samples;
  }
  return samples;
}

std::string ToText(const SamplesPerSymbol& samples_per_symbol) {
  return samples_per_symbol.denominator == 1
             ? absl::StrCat(samples_per_symbol.numerator)
             : absl::StrCat(samples_per_symbol.numerator, "/", samples_per_symbol.denominator);
}

double RootRaisedCosine(double t, double roll_off) {
  constexpr double kNear = 1e-6;  // of a place where numerator and denominator are zero
  const double x = std::abs(t);
  const double pole = 1 / (4 * roll_off);
  if (x < kNear) {
    return 1 - roll_off + 4 * roll_off / kPi;
  }
  if (std::abs(x - pole) < kNear) {
    return roll_off / std::sqrt(2) *
           ((1 + 2 / kPi) * std::sin(kPi * pole) + (1 - 2 / kPi) * std::cos(kPi * pole));
  }
  const double scaled = 4 * roll_off * x;
  return (std::sin(kPi * x * (1 - roll_off)) + scaled * std::cos(kPi * x * (1 + roll_off))) /
         (kPi * x * (1 - scaled * scaled));
}

PulseTable::PulseTable(const PulseSpec& spec)
    : span_(spec.taps.empty() ? std::max(8, SpanOf(spec.roll_off))
                              : SpanOf(spec.taps, spec.taps_per_symbol)) {
  const double scale =
      spec.taps.empty() ? 1 : 1 / std::sqrt(EnergyOf(spec.taps, spec.taps_per_symbol));
  for (int i = 0; i <= span_ * kNodes + 1; ++i) {
    const double t = static_cast<double>(i) / kNodes;
    nodes_.push_back(spec.taps.empty() ? RootRaisedCosine(t, spec.roll_off)
                                       : scale * BandOf(t, spec.taps, spec.taps_per_symbol));
  }
}

double PulseTable::At(double t) const {
  const double place = std::abs(t) * kNodes;
  const auto node = static_cast<size_t>(place);
  if (node + 1 >= nodes_.size()) {
    return 0;
  }
  const double rest = place - static_cast<double>(node);
  return nodes_[node] + rest * (nodes_[node + 1] - nodes_[node]);
}

void AppendSamples(const SignalSpec& spec, const PulseSpec& pulses, const PulseTable& pulse,
                   absl::Span<const uint32_t> known_positions, absl::Span<const Complex> known,
                   Random* random, std::vector<Complex>* sent, std::vector<Complex>* received) {
  const int64_t num_samples =
      SamplesFor(pulses.samples_per_symbol, kDefaultMaxClockError, spec.num_symbols);
  const double period = 1 + pulses.clock_error;
  // From symbol -before on: as many as reach into the frame, wherever it begins and drifts to.
  const auto before =
      static_cast<int64_t>(std::ceil(pulse.span() / period + std::abs(pulses.offset))) + 1;
  const auto drift = static_cast<int64_t>(
      std::ceil(2 * std::abs(pulses.clock_error) * static_cast<double>(spec.num_symbols)));
  std::vector<Complex> symbols;
  size_t next_known = 0;
  for (int64_t k = -before; k < spec.num_symbols + drift + before; ++k) {
    Complex symbol = spec.points[(random->Next() >> 32) * spec.points.size() >> 32];
    if (next_known < known_positions.size() && k == int64_t{known_positions[next_known]}) {
      symbol = known[next_known++];
    }
    symbols.push_back(symbol);
    if (sent != nullptr && k >= 0 && k < spec.num_symbols) {
      sent->push_back(symbol);
    }
  }
  // Of I and of Q. A matched filter at so many samples to a symbol leaves 1 / value() of it.
  const auto deviation = static_cast<float>(
      std::sqrt(0.5 * pulses.samples_per_symbol.value() * std::pow(10, -spec.snr_db / 10)));
  received->reserve(received->size() + static_cast<size_t>(num_samples));
  for (int64_t n = 0; n < num_samples; ++n) {
    const double t = static_cast<double>(n * pulses.samples_per_symbol.denominator) /
                     static_cast<double>(pulses.samples_per_symbol.numerator);
    const double place = (t - pulses.offset) / period;  // of the sample, among the symbols
    const auto first = static_cast<int64_t>(std::ceil(place - pulse.span() / period));
    const auto last = static_cast<int64_t>(std::floor(place + pulse.span() / period));
    std::complex<double> sum = 0;
    for (int64_t k = first; k <= last; ++k) {
      sum += std::complex<double>(symbols[static_cast<size_t>(k + before)]) *
             pulse.At((place - static_cast<double>(k)) * period);
    }
    const double turns = spec.frequency * place;
    sum *= std::polar(1.0, spec.phase + 2 * kPi * (turns - std::floor(turns)));
    received->push_back(Complex(sum) + deviation * Normal(random));
  }
}

}  // namespace baseband::ctl
