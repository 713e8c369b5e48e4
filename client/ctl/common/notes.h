// What the user should know although the command goes on.
#ifndef BASEBAND_CLIENT_CTL_COMMON_NOTES_H_
#define BASEBAND_CLIENT_CTL_COMMON_NOTES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace baseband::ctl {

// A line each on standard error.
void PrintNotes(const std::vector<std::string>& notes);

// "--rate 61440000 contradicts a.sigmf-meta, which says 64000000: 61440000 is taken".
std::string Contradiction(absl::string_view flag, double taken, absl::string_view path,
                          double said);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_NOTES_H_
