// Objects of JSON files that people write, read key by key into structs.
#ifndef BASEBAND_CLIENT_CTL_COMMON_JSON_VALUES_H_
#define BASEBAND_CLIENT_CTL_COMMON_JSON_VALUES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/ctl/common/named_value.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {

using Json = nlohmann::ordered_json;

// `text` as JSON. InvalidArgument "is not JSON: line 3, column 5: ..", what was read and expected;
// "is empty" of nothing but blanks.
absl::StatusOr<Json> ParseJson(absl::string_view text);

// Each sets `*value` from `json`, or is InvalidArgument that says what `json` is not.
absl::Status SetNumber(const Json& json, double* value);  // a number, or a text such as "9.1M"
absl::Status SetInteger(const Json& json, int* value);    // the same, whole, within +-10^9
absl::Status SetText(const Json& json, std::string* value);
absl::Status SetBool(const Json& json, bool* value);
absl::Status SetDuration(const Json& json, absl::Duration* value);  // a text such as "500us"

// A text that `parse` turns into what is set.
template <typename T>
absl::Status SetNamed(const Json& json, absl::StatusOr<T> (*parse)(absl::string_view), T* value) {
  std::string text;
  if (absl::Status status = SetText(json, &text); !status.ok()) {
    return status;
  }
  const absl::StatusOr<T> parsed = parse(text);
  if (parsed.ok()) {
    *value = *parsed;
  }
  return parsed.status();
}

// What one key of an object sets.
template <typename T>
struct JsonKey {
  const char* name;
  std::function<absl::Status(const Json&, T*)> set;
};

// Sets all that `object` has. InvalidArgument ".down: .." for a wrong value, ": 'x' is not one of
// .." for a key that is not among `keys`: to be put after the object's place in the file.
// `Key` is a JsonKey<T>, or more than that.
template <typename Key, typename T>
absl::Status SetKeys(const Json& object, const std::vector<Key>& keys, T* target) {
  for (const auto& [name, value] : object.items()) {
    std::vector<std::string> known;
    const Key* found = nullptr;
    for (const Key& key : keys) {
      known.emplace_back(key.name);
      found = name == key.name ? &key : found;
    }
    if (found == nullptr) {
      return absl::InvalidArgumentError(NotOneOf(":", name, known));
    }
    if (const absl::Status status = found->set(value, target); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat(".", name, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_JSON_VALUES_H_
