// Values that flags name: the lists of names, and the look-up with a refusal that tells them all.
#ifndef BASEBAND_CLIENT_CTL_COMMON_NAMED_VALUE_H_
#define BASEBAND_CLIENT_CTL_COMMON_NAMED_VALUE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace baseband::ctl {

template <typename T>
struct NamedValue {
  const char* name;
  T value;
};

// InvalidArgument "`flag` 'x' is not one of a, b, c".
template <typename T, size_t N>
absl::StatusOr<T> FindValue(const NamedValue<T> (&names)[N], absl::string_view flag,
                            absl::string_view name) {
  std::string known;
  for (const NamedValue<T>& candidate : names) {
    if (name == candidate.name) {
      return candidate.value;
    }
    absl::StrAppend(&known, known.empty() ? "" : ", ", candidate.name);
  }
  return absl::InvalidArgumentError(absl::StrCat(flag, " '", name, "' is not one of ", known));
}

// The first name of `value`, "?" if it has none.
template <typename T, size_t N>
std::string NameOf(const NamedValue<T> (&names)[N], T value) {
  for (const NamedValue<T>& candidate : names) {
    if (value == candidate.value) {
      return candidate.name;
    }
  }
  return "?";
}

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_NAMED_VALUE_H_
