// Options that take numbers and times: written, explained and refused alike in every command.
//
//   AddNumber(app, "--rate", "HZ", &rate_hz, Above(0), "sample rate of the input (64M)");
//   AddTime(app, "--timeout", &timeout, {absl::Milliseconds(1), absl::Hours(24)},
//           "for connecting and for each request (60s)");
//
// A number is written as common/numbers has it: 9.1M, 64Ki, 5e-7. A time has a unit: 5s, 500us. The
// help tells the range, in front of the default in brackets at its end; the unit stands for the
// value. Errors begin with the option's name and end with the range.
#ifndef BASEBAND_CLIENT_CTL_COMMON_OPTIONS_H_
#define BASEBAND_CLIENT_CTL_COMMON_OPTIONS_H_

#include <cmath>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace baseband::ctl {

// From `low` to `high`, both included, but `low` only if the range is not `open`, and `high` only
// if it is not `open_high`.
struct Range {
  double low = -INFINITY;
  double high = INFINITY;
  bool open = false;
  bool open_high = false;
};
inline Range Between(double low, double high) { return {low, high, false, false}; }
inline Range AtLeast(double low) { return {low, INFINITY, false, false}; }
inline Range Above(double low) { return {low, INFINITY, true, false}; }
inline Range UpTo(double high) { return {0, high, true, false}; }  // from above 0
inline Range Inside(double low, double high) { return {low, high, true, true}; }
inline Range AnyNumber() { return {}; }

// "in [1, 1Mi]", "in (0, 1]", "in (0, 0.5)", ">= 0", "> 0", "any number"; of times "in [1ms, 24h]".
std::string ToText(const Range& range);

inline const Range kSeeds = Between(0, 9007199254740992);  // 2^53

struct TimeRange {
  absl::Duration low;
  absl::Duration high = absl::InfiniteDuration();
  bool open = false;
};
std::string ToText(const TimeRange& range);

// The names of the validators that these options carry, for who wants to tell them from others.
inline constexpr char kNumberOption[] = "number";
inline constexpr char kTimeOption[] = "time";

// For an option's check(): takes these words alone, and refuses others as NotOneOf() has it.
CLI::Validator OneOf(std::vector<std::string> words);

namespace options_internal {

// `take` reads the values; what it says is wrong is told behind the option's name.
CLI::Option* Add(CLI::App* app, const std::string& name, const char* kind, const std::string& unit,
                 const std::string& range, const std::string& help, bool many,
                 std::function<absl::Status(const std::vector<std::string>&)> take);

absl::Status Read(absl::string_view text, const Range& range, double* value);
absl::Status Read(absl::string_view text, const Range& range, int64_t* value);
absl::Status Read(absl::string_view text, const TimeRange& range, absl::Duration* value);
absl::Status Read(absl::string_view text, const TimeRange& range, double* seconds);

template <typename T>
using Number = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

template <typename T>
absl::Status ReadAs(absl::string_view text, const Range& range, T* value) {
  Number<T> number = 0;
  absl::Status status = Read(text, range, &number);
  if (status.ok()) {
    *value = static_cast<T>(number);
  }
  return status;
}
template <typename T>
absl::Status ReadAs(absl::string_view text, const Range& range, absl::optional<T>* value) {
  return ReadAs(text, range, &value->emplace());
}

}  // namespace options_internal

// `T` is an arithmetic type, whole or not, whose values include the range; or absl::optional of
// one.
template <typename T>
CLI::Option* AddNumber(CLI::App* app, const std::string& name, const std::string& unit, T* field,
                       const Range& range, const std::string& help) {
  return options_internal::Add(app, name, kNumberOption, unit, ToText(range), help, /*many=*/false,
                               [field, range](const std::vector<std::string>& values) {
                                 return options_internal::ReadAs(values[0], range, field);
                               });
}
// Any number of them behind one another.
template <typename T>
CLI::Option* AddNumber(CLI::App* app, const std::string& name, const std::string& unit,
                       std::vector<T>* field, const Range& range, const std::string& help) {
  return options_internal::Add(
      app, name, kNumberOption, unit, ToText(range), help, /*many=*/true,
      [field, range](const std::vector<std::string>& values) {
        absl::Status status;
        for (const std::string& value : values) {
          status.Update(options_internal::ReadAs(value, range, &field->emplace_back()));
        }
        return status;
      });
}

// `field` is an absl::Duration, absl::optional of one, or a double: seconds, for times that a
// Duration, which counts quarters of a nanosecond, would round.
template <typename Field>
CLI::Option* AddTime(CLI::App* app, const std::string& name, Field* field, const TimeRange& range,
                     const std::string& help) {
  return options_internal::Add(
      app, name, kTimeOption, "TIME", ToText(range), help, /*many=*/false,
      [field, range](const std::vector<std::string>& values) {
        std::conditional_t<std::is_same_v<Field, double>, double, absl::Duration> time{};
        absl::Status status = options_internal::Read(values[0], range, &time);
        if (status.ok()) {
          *field = time;
        }
        return status;
      });
}

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_OPTIONS_H_
