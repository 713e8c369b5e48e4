#include "client/ctl/common/taps_file.h"

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/ctl/common/files.h"

namespace baseband::ctl {

absl::StatusOr<std::vector<float>> ReadTaps(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) {
    return text.status();
  }
  std::vector<float> taps;
  if (absl::EndsWithIgnoreCase(path, ".f32")) {
    taps.resize(text->size() / sizeof(float));
    std::memcpy(taps.data(), text->data(), taps.size() * sizeof(float));
  } else {
    int line_number = 0;
    for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
      ++line_number;
      const std::vector<absl::string_view> halves = absl::StrSplit(line, absl::MaxSplits('#', 1));
      for (const absl::string_view word :
           absl::StrSplit(halves[0], absl::ByAnyChar(" ,;\t\r"), absl::SkipEmpty())) {
        if (!absl::SimpleAtof(word, &taps.emplace_back())) {
          return absl::InvalidArgumentError(
              absl::StrCat(path, ", line ", line_number, ": '", word, "' is not a number"));
        }
      }
    }
  }
  if (taps.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has no taps in it"));
  }
  return taps;
}

}  // namespace baseband::ctl
