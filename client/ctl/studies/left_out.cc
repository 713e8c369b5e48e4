#include "client/ctl/studies/left_out.h"

#include "absl/strings/str_format.h"
#include "client/ctl/common/terminal.h"

namespace baseband::ctl {

std::string ToText(const LeftOut& left_out, double floor) {
  if (left_out.empty()) return "";
  const std::string last =
      left_out.size() > 1 ? absl::StrFormat(" to %g", left_out.back()) : std::string();
  return absl::StrFormat("  left out by --floor=%g: %s, %g%s dB\n", floor,
                         Plural(static_cast<int64_t>(left_out.size()), "point"), left_out.front(),
                         last);
}

}  // namespace baseband::ctl
