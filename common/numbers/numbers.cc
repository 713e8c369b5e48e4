#include "common/numbers/numbers.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace baseband {
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

// Decimal: SimpleAtod takes 0x10, too.
bool ParseFinite(absl::string_view text, double* number) {
  return text.find_first_of("xX") == text.npos && absl::SimpleAtod(text, number) &&
         std::isfinite(*number);
}

absl::Status NotADuration(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a duration, such as 500us or 1.5s"));
}

// InvalidArgument for a number without a unit.
absl::Status WantUnit(absl::string_view text) {
  double number = 0;
  return ParseFinite(text, &number) && number >= 0
             ? absl::InvalidArgumentError(
                   absl::StrCat(text, ": a duration needs a unit, as ", text, "s or ", text, "ms"))
             : absl::OkStatus();
}

}  // namespace

absl::StatusOr<double> ParseNumber(absl::string_view text) {
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
  const absl::StatusOr<double> number = ParseNumber(text);
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

absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text) {
  if (absl::Status status = WantUnit(text); !status.ok()) {
    return status;
  }
  absl::Duration duration;
  return absl::ParseDuration(absl::StrReplaceAll(text, {{"min", "m"}}), &duration) &&
                 duration >= absl::ZeroDuration() && duration < absl::InfiniteDuration()
             ? absl::StatusOr<absl::Duration>(duration)
             : NotADuration(text);
}

absl::StatusOr<double> ParseSeconds(absl::string_view text) {
  if (absl::Status status = WantUnit(text); !status.ok()) {
    return status;
  }
  // The longer ones first: "ms" ends in "s".
  constexpr Suffix kUnits[] = {{"ns", "e-9", 1}, {"us", "e-6", 1}, {"ms", "e-3", 1}, {"s", "", 1},
                               {"min", "", 60},  {"m", "", 60},    {"h", "", 3600}};
  for (const Suffix& unit : kUnits) {
    absl::string_view rest = text;
    double number = 0;
    if (absl::ConsumeSuffix(&rest, unit.text) &&
        ParseFinite(absl::StrCat(rest, unit.exponent), &number) && number >= 0) {
      return number * unit.factor;
    }
  }
  return NotADuration(text);
}

// absl writes no unit behind zero.
std::string DurationText(absl::Duration duration) {
  return duration == absl::ZeroDuration() ? "0s" : absl::FormatDuration(duration);
}

}  // namespace baseband
