#include "client/ctl/common/notes.h"

#include <cstdio>

#include "absl/strings/str_format.h"

namespace baseband::ctl {

void PrintNotes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    absl::FPrintF(stderr, "basebandctl: %s\n", note);
  }
}

std::string Contradiction(absl::string_view flag, double taken, absl::string_view path,
                          double said) {
  return absl::StrFormat("%s %.12g contradicts %s, which says %.12g: %.12g is taken", flag, taken,
                         path, said, taken);
}

}  // namespace baseband::ctl
