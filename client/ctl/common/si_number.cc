#include "client/ctl/common/si_number.h"

#include <cmath>
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

// "9.1M" as "9.1e6": the decimal point is moved in the text, so that nothing is rounded twice.
std::string WithExponent(absl::string_view text) {
  absl::ConsumeSuffix(&text, "Hz") || absl::ConsumeSuffix(&text, "hz");
  text = absl::StripAsciiWhitespace(text);
  const std::pair<char, const char*> kSuffixes[] = {
      {'k', "e3"}, {'K', "e3"}, {'M', "e6"}, {'G', "e9"}, {'T', "e12"}};
  for (const auto& [letter, exponent] : kSuffixes) {
    if (!text.empty() && text.back() == letter) {
      text.remove_suffix(1);
      return absl::StrCat(absl::StripTrailingAsciiWhitespace(text), exponent);
    }
  }
  return std::string(text);
}

}  // namespace

absl::StatusOr<double> ParseSiNumber(absl::string_view text) {
  double number = 0;
  if (absl::SimpleAtod(WithExponent(text), &number) && std::isfinite(number)) {
    return number;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a number, such as 9100000, 9.1e6 or 9.1M"));
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
