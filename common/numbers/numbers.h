// Numbers and durations as people write them to all our programs: 9.1M, 64Ki, 500us.
#ifndef BASEBAND_COMMON_NUMBERS_NUMBERS_H_
#define BASEBAND_COMMON_NUMBERS_NUMBERS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace baseband {

// The double next to what the text says: "9.1M" is 9100000 exactly. k, M, G and T may follow the
// number (K too; a lower-case m is refused: it could mean a thousandth), and Hz after that; or Ki,
// Mi, Gi and Ti, which are powers of 1024. InvalidArgument "'9.1X' is not a number, ..".
absl::StatusOr<double> ParseNumber(absl::string_view text);
// The same, whole and exact: "10k", "64Ki".
absl::StatusOr<int64_t> ParseWhole(absl::string_view text);
// Whether it is one of [low, high]; only then *value is set to it.
template <typename T>
bool ParseWholeIn(absl::string_view text, int64_t low, int64_t high, T* value) {
  const absl::StatusOr<int64_t> whole = ParseWhole(text);
  if (!whole.ok() || *whole < low || *whole > high) {
    return false;
  }
  *value = static_cast<T>(*whole);
  return true;
}

// In the form above that is shortest: "50M", "1Mi", "4096", "0.5".
std::string ShortNumber(double number);

// "500us", "1.5s", "1h30min": numbers with ns, us, ms, s, min (or m) and h. InvalidArgument "'x' is
// not a duration, ..", also of one that is negative or without end; of a bare number, 0 too, whose
// unit nobody can know, "5: a duration needs a unit, as 5s or 5ms".
absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text);
// The same, of one number and its unit, without the quarters of nanoseconds of a Duration:
// "16.276ns" is 1.6276e-8.
absl::StatusOr<double> ParseSeconds(absl::string_view text);

// As ParseDuration reads it: "0s", "500us", "24h".
std::string DurationText(absl::Duration duration);

}  // namespace baseband

#endif  // BASEBAND_COMMON_NUMBERS_NUMBERS_H_
