#include "client/ctl/common/taps_file.h"

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/ctl/common/files.h"
#include "kernels/base/status_macros.h"

namespace baseband::ctl {

absl::StatusOr<std::vector<float>> ReadTaps(const std::string& path) {
  std::vector<float> taps;
  if (absl::EndsWithIgnoreCase(path, ".f32")) {
    BASEBAND_ASSIGN_OR_RETURN(const std::string bytes, ReadData(path, kMaxTextBytes));
    if (bytes.size() % sizeof(float) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " has ", bytes.size(), " bytes, not a multiple of the 4 of a tap"));
    }
    taps.resize(bytes.size() / sizeof(float));
    std::memcpy(taps.data(), bytes.data(), taps.size() * sizeof(float));
  } else {
    BASEBAND_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
    int line_number = 0;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
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
