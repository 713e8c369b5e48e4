// Values that flags name: the lists of names, and the look-up with a refusal that tells them all.
#ifndef BASEBAND_CLIENT_CTL_COMMON_NAMED_VALUE_H_
#define BASEBAND_CLIENT_CTL_COMMON_NAMED_VALUE_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "kernels/base/nearest.h"

namespace baseband::ctl {

// "`what` 'brnt' is not one of none, zoom, brent; did you mean brent?": what is said of every word
// that is none of a list. No number is meant to be another one.
inline std::string NotOneOf(absl::string_view what, absl::string_view word,
                            const std::vector<std::string>& known) {
  const bool is_word = std::any_of(word.begin(), word.end(), absl::ascii_isalpha);
  return absl::StrCat(what, what.empty() ? "'" : " '", word, "' is not one of ",
                      absl::StrJoin(known, ", "), DidYouMean(is_word ? NearName(word, known) : ""));
}

template <typename T>
struct NamedValue {
  const char* name;
  T value;
};

// The Python client's known_symbols is known-symbols, too. InvalidArgument as NotOneOf() has it.
template <typename T, size_t N>
absl::StatusOr<T> FindValue(const NamedValue<T> (&names)[N], absl::string_view flag,
                            absl::string_view name) {
  std::vector<std::string> known;
  const std::string dashed = absl::StrReplaceAll(name, {{"_", "-"}});
  for (const NamedValue<T>& candidate : names) {
    if (dashed == absl::StrReplaceAll(candidate.name, {{"_", "-"}})) {
      return candidate.value;
    }
    known.emplace_back(candidate.name);
  }
  return absl::InvalidArgumentError(NotOneOf(flag, name, known));
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
