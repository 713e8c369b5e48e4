#include "client/ctl/common/frequency.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/numbers/numbers.h"

namespace baseband::ctl {

absl::StatusOr<v1::OscillatorFrequency> ParseFrequency(absl::string_view text) {
  v1::OscillatorFrequency frequency;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
  if (parts.size() < 2) {
    const absl::StatusOr<double> hz = ParseNumber(text);
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
