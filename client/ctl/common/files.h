// Whole files in and out; "-" is standard input or output.
#ifndef BASEBAND_CLIENT_CTL_COMMON_FILES_H_
#define BASEBAND_CLIENT_CTL_COMMON_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace baseband::ctl {

// NotFound or Unavailable with the system's reason and the path.
absl::StatusOr<std::string> ReadFile(const std::string& path);
absl::Status WriteFile(const std::string& path, absl::string_view contents);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_FILES_H_
