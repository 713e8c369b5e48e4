#include "client/ctl/common/options.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/ctl/common/named_value.h"
#include "common/numbers/numbers.h"

namespace baseband::ctl {
namespace {

// "requests in flight, in [1, 1024] (8)".
std::string WithRange(const std::string& help, const std::string& range) {
  const size_t bracket = help.rfind('(');
  const bool has_default =
      !help.empty() && help.back() == ')' &&
      (bracket == 0 || (bracket != std::string::npos && help[bracket - 1] == ' '));
  const std::string text = has_default ? help.substr(0, bracket == 0 ? 0 : bracket - 1) : help;
  return absl::StrCat(text, text.empty() ? "" : ", ", range,
                      has_default ? absl::StrCat(" ", help.substr(bracket)) : "");
}

// The name that errors begin with: of "--out,-o" the first.
std::string FirstName(const std::string& names) { return names.substr(0, names.find(',')); }

template <typename AnyRange, typename Value>
bool Contains(const AnyRange& range, const Value& value) {
  return value <= range.high && (range.open ? value > range.low : value >= range.low);
}
bool Contains(const Range& range, double value) {
  return Contains<Range, double>(range, value) && !(range.open_high && value == range.high);
}
bool Contains(const Range& range, int64_t value) {
  return Contains(range, static_cast<double>(value));
}

// Of the ends as text; `high` is empty if there is none.
std::string RangeText(bool open, const std::string& low, const std::string& high,
                      bool open_high = false) {
  return high.empty()
             ? absl::StrCat(open ? "> " : ">= ", low)
             : absl::StrCat("in ", open ? "(" : "[", low, ", ", high, open_high ? ")" : "]");
}

// Reads `text` by `parse` into `value`, and holds it against the range.
template <typename Value, typename AnyRange>
absl::Status ReadBy(absl::StatusOr<Value> (*parse)(absl::string_view), absl::string_view text,
                    const AnyRange& limits, const std::string& range, Value* value) {
  const absl::StatusOr<Value> parsed = parse(text);
  if (!parsed.ok()) {
    return parsed.status();
  }
  *value = *parsed;
  return Contains(limits, *parsed)
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(text, " is not ", range));
}

}  // namespace

std::string ToText(const Range& range) {
  return std::isfinite(range.low)
             ? RangeText(range.open, ShortNumber(range.low),
                         std::isfinite(range.high) ? ShortNumber(range.high) : "", range.open_high)
             : "any number";
}

std::string ToText(const TimeRange& range) {
  return RangeText(range.open, DurationText(range.low),
                   range.high < absl::InfiniteDuration() ? DurationText(range.high) : "");
}

CLI::Validator OneOf(std::vector<std::string> words) {
  // By which completions know them, see common/manual.
  const std::string listed = absl::StrCat("{", absl::StrJoin(words, ","), "}");
  const auto check = [words = std::move(words)](std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end() ? std::string()
                                                                      : NotOneOf("", word, words);
  };
  return CLI::Validator(check, listed);
}

namespace options_internal {

CLI::Option* Add(CLI::App* app, const std::string& name, const char* kind, const std::string& unit,
                 const std::string& range, const std::string& help, bool many,
                 std::function<absl::Status(const std::vector<std::string>&)> take) {
  const auto read = [name, take = std::move(take)](const std::vector<std::string>& values) {
    if (const absl::Status status = take(values); !status.ok()) {
      throw CLI::ValidationError(absl::StrCat(FirstName(name), " ", status.message()));
    }
  };
  const std::string text = WithRange(help, range);
  CLI::Option* const option =
      many ? app->add_option_function<std::vector<std::string>>(name, read, text)
           : app->add_option_function<std::string>(
                 name, [read](const std::string& value) { read({value}); }, text);
  const auto accept = [](std::string&) { return std::string(); };
  return option->type_name(unit)->check(CLI::Validator(accept, "", kind));
}

absl::Status Read(absl::string_view text, const Range& range, double* value) {
  return ReadBy(&ParseNumber, text, range, ToText(range), value);
}
absl::Status Read(absl::string_view text, const Range& range, int64_t* value) {
  return ReadBy(&ParseWhole, text, range, ToText(range), value);
}
absl::Status Read(absl::string_view text, const TimeRange& range, absl::Duration* value) {
  return ReadBy(&ParseDuration, text, range, ToText(range), value);
}
absl::Status Read(absl::string_view text, const TimeRange& range, double* seconds) {
  const Range limits = {absl::ToDoubleSeconds(range.low), absl::ToDoubleSeconds(range.high),
                        range.open};
  return ReadBy(&ParseSeconds, text, limits, ToText(range), seconds);
}

}  // namespace options_internal
}  // namespace baseband::ctl
