#include "client/ctl/common/json_values.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "common/numbers/numbers.h"

namespace baseband::ctl {

absl::StatusOr<Json> ParseJson(absl::string_view text) {
  if (absl::StripAsciiWhitespace(text).empty()) return absl::InvalidArgumentError("is empty");
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::exception& error) {  // of what is no JSON, and of numbers past a double's
    // Behind the library's names for it.
    absl::string_view what = error.what();
    for (const absl::string_view name : {"] ", " at "}) {
      const size_t place = what.find(name);
      if (place != absl::string_view::npos) what.remove_prefix(place + name.size());
    }
    return absl::InvalidArgumentError(absl::StrCat("is not JSON: ", what));
  }
}

absl::Status SetNumber(const Json& json, double* value) {
  if (json.is_number()) {
    *value = json.get<double>();
    return absl::OkStatus();
  }
  const absl::StatusOr<double> parsed =
      json.is_string() ? ParseNumber(json.get<std::string>())
                       : absl::InvalidArgumentError(absl::StrCat(json.dump(), " is not a number"));
  *value = parsed.value_or(0);
  return parsed.status();
}

absl::Status SetInteger(const Json& json, int* value) {
  double parsed = 0;
  if (absl::Status status = SetNumber(json, &parsed); !status.ok()) {
    return status;
  }
  if (parsed != std::floor(parsed) || std::abs(parsed) > 1e9) {
    return absl::InvalidArgumentError(absl::StrCat(json.dump(), " is not a whole number"));
  }
  *value = static_cast<int>(parsed);
  return absl::OkStatus();
}

absl::Status SetText(const Json& json, std::string* value) {
  if (!json.is_string()) {
    return absl::InvalidArgumentError(absl::StrCat(json.dump(), " is not a text"));
  }
  *value = json.get<std::string>();
  return absl::OkStatus();
}

absl::Status SetBool(const Json& json, bool* value) {
  if (!json.is_boolean()) {
    return absl::InvalidArgumentError(absl::StrCat(json.dump(), " is not true or false"));
  }
  *value = json.get<bool>();
  return absl::OkStatus();
}

absl::Status SetDuration(const Json& json, absl::Duration* value) {
  // A number has no unit, and is told so.
  return json.is_number() ? ParseDuration(json.dump()).status()
                          : SetNamed(json, &ParseDuration, value);
}

}  // namespace baseband::ctl
