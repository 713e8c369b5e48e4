#include "client/ctl/common/si_number.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace baseband::ctl {
namespace {

struct Suffix {
  const char* text;
  const char* exponent;  // of ten
  double factor;
};
constexpr Suffix kDecimal[] = {
    {"k", "e3", 1e3}, {"K", "e3", 1e3}, {"M", "e6", 1e6}, {"G", "e9", 1e9}, {"T", "e12", 1e12}};
constexpr Suffix kBinary[] = {
    {"Ki", "", 1024}, {"Mi", "", 1048576}, {"Gi", "", 1073741824}, {"Ti", "", 1099511627776}};

absl::Status NotANumber(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a number, such as 9100000, 9.1e6 or 9.1M"));
}

bool ParseFinite(absl::string_view text, double* number) {
  return absl::SimpleAtod(text, number) && std::isfinite(*number);
}

absl::Status NotATime(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a time such as 500us"));
}

// InvalidArgument for a number without a unit.
absl::Status WantUnit(absl::string_view text) {
  double number = 0;
  return ParseFinite(text, &number) && number >= 0
             ? absl::InvalidArgumentError(absl::StrCat(text, ": say ", text, "s or ", text, "ms"))
             : absl::OkStatus();
}

}  // namespace

absl::StatusOr<double> ParseSiNumber(absl::string_view text) {
  absl::string_view rest = text;
  double number = 0;
  for (const Suffix& suffix : kBinary) {
    if (absl::ConsumeSuffix(&rest, suffix.text)) {
      return ParseFinite(rest, &number) ? absl::StatusOr<double>(number * suffix.factor)
                                        : NotANumber(text);
    }
  }
  absl::ConsumeSuffix(&rest, "Hz") || absl::ConsumeSuffix(&rest, "hz");
  rest = absl::StripAsciiWhitespace(rest);
  // "9.1M" as "9.1e6": the decimal point is moved in the text, so that nothing is rounded twice.
  std::string digits(rest);
  for (const Suffix& suffix : kDecimal) {
    if (absl::ConsumeSuffix(&rest, suffix.text)) {
      digits = absl::StrCat(absl::StripTrailingAsciiWhitespace(rest), suffix.exponent);
      break;
    }
  }
  return ParseFinite(digits, &number) ? absl::StatusOr<double>(number) : NotANumber(text);
}

absl::StatusOr<int64_t> ParseWhole(absl::string_view text) {
  int64_t whole = 0;
  if (absl::SimpleAtoi(text, &whole)) {  // a double does not hold all digits
    return whole;
  }
  const absl::StatusOr<double> number = ParseSiNumber(text);
  if (!number.ok()) {
    return number.status();
  }
  if (*number != std::floor(*number) || std::abs(*number) > 9e18) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not a whole number below 9e18"));
  }
  return static_cast<int64_t>(*number);
}

std::string ShortNumber(double number) {
  std::string shortest = absl::StrFormat("%.15g", number);
  if (std::abs(number) < 1e4) {
    return shortest;
  }
  const auto offer = [&](const Suffix& suffix) {
    const double quotient = number / suffix.factor;
    const std::string text = absl::StrFormat("%.15g%s", quotient, suffix.text);
    if (quotient == std::floor(quotient) && text.size() < shortest.size()) {
      shortest = text;
    }
  };
  std::for_each(std::begin(kDecimal), std::end(kDecimal), offer);
  std::for_each(std::begin(kBinary), std::end(kBinary), offer);
  return shortest;
}

absl::StatusOr<absl::Duration> ParseTime(absl::string_view text) {
  if (absl::Status status = WantUnit(text); !status.ok()) {
    return status;
  }
  absl::Duration time;
  return absl::ParseDuration(text, &time) && time >= absl::ZeroDuration() &&
                 time < absl::InfiniteDuration()
             ? absl::StatusOr<absl::Duration>(time)
             : NotATime(text);
}

absl::StatusOr<double> ParseSeconds(absl::string_view text) {
  if (absl::Status status = WantUnit(text); !status.ok()) {
    return status;
  }
  // The longer ones first: "ms" ends in "s".
  constexpr Suffix kUnits[] = {{"ns", "e-9", 1}, {"us", "e-6", 1}, {"ms", "e-3", 1},
                               {"s", "", 1},     {"m", "", 60},    {"h", "", 3600}};
  for (const Suffix& unit : kUnits) {
    absl::string_view rest = text;
    double number = 0;
    if (absl::ConsumeSuffix(&rest, unit.text) &&
        ParseFinite(absl::StrCat(rest, unit.exponent), &number) && number >= 0) {
      return number * unit.factor;
    }
  }
  return NotATime(text);
}

absl::StatusOr<v1::OscillatorFrequency> ParseFrequency(absl::string_view text) {
  v1::OscillatorFrequency frequency;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
  if (parts.size() < 2) {
    const absl::StatusOr<double> hz = ParseSiNumber(text);
    if (!hz.ok()) {
      return hz.status();
    }
    frequency.set_hz(*hz);
    return frequency;
  }
  int64_t num = 0;
  uint64_t den = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &num) || !absl::SimpleAtoi(parts[1], &den) ||
      den == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "' is not a fraction of the sample rate, such as 9123457/64000000"));
  }
  frequency.mutable_fraction()->set_num(num);
  frequency.mutable_fraction()->set_den(den);
  return frequency;
}

std::string Hertz(double hz) {
  const std::pair<double, const char*> kUnits[] = {{1e9, "GHz"}, {1e6, "MHz"}, {1e3, "kHz"}};
  for (const auto& [unit, name] : kUnits) {
    if (std::abs(hz) >= unit * (1 - 1e-12)) {
      return absl::StrFormat("%.12g %s", hz / unit, name);
    }
  }
  return absl::StrFormat("%.12g Hz", hz);
}

}  // namespace baseband::ctl
