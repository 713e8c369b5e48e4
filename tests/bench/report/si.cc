#include "tests/bench/report/si.h"

#include <cmath>

#include "absl/strings/str_format.h"

namespace baseband::bench {
namespace {

constexpr const char* kPrefixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P"};

}  // namespace

SiPrefix SiPrefixOf(double value) {
  int exponent = 0;
  while (exponent < 5 && std::fabs(value) >= 999.5) {
    value /= 1000.0;
    ++exponent;
  }
  while (exponent > -3 && value != 0.0 && std::fabs(value) < 0.9995) {
    value *= 1000.0;
    --exponent;
  }
  return {kPrefixes[exponent + 3], std::pow(1000.0, exponent)};
}

std::string Si(double value, const std::string& unit) {
  const SiPrefix prefix = SiPrefixOf(value);
  value /= prefix.factor;
  const int digits = std::fabs(value) < 9.995 ? 2 : std::fabs(value) < 99.95 ? 1 : 0;
  return absl::StrFormat("%.*f %s%s", digits, value, prefix.letter, unit);
}

}  // namespace baseband::bench
