// Options of CLI11 that take numbers as people write them.
#ifndef BASEBAND_CLIENT_CTL_COMMON_SI_OPTION_H_
#define BASEBAND_CLIENT_CTL_COMMON_SI_OPTION_H_

#include <string>

#include "CLI/App.hpp"
#include "absl/strings/str_format.h"
#include "client/ctl/common/si_number.h"

namespace baseband::ctl {

// option->transform(SiNumber()) rewrites "64M" to digits.
inline CLI::Validator SiNumber() {
  return CLI::Validator(
      [](std::string& text) {
        const absl::StatusOr<double> number = ParseSiNumber(text);
        if (!number.ok()) {
          return std::string(number.status().message());
        }
        text = absl::StrFormat("%.17g", *number);
        return std::string();
      },
      "", "number with a suffix");
}

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_SI_OPTION_H_
