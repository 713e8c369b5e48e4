#include "client/ctl/studies/left_out.h"

#include "absl/strings/str_format.h"
#include "client/ctl/common/terminal.h"

namespace baseband::ctl {

void Print(const LeftOut& left_out, double floor, std::FILE* report) {
  if (left_out.empty()) return;
  const std::string last =
      left_out.size() > 1 ? absl::StrFormat(" to %g", left_out.back()) : std::string();
  absl::FPrintF(report, "  left out by --floor=%g: %s, %g%s dB\n", floor,
                Plural(static_cast<int64_t>(left_out.size()), "point"), left_out.front(), last);
}

}  // namespace baseband::ctl
