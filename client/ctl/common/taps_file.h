// A filter's taps from a file.
#ifndef BASEBAND_CLIENT_CTL_COMMON_TAPS_FILE_H_
#define BASEBAND_CLIENT_CTL_COMMON_TAPS_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace baseband::ctl {

// Numbers, separated by blanks, commas or line ends, # for comments; or float32 (.f32). NotFound
// for a missing file; InvalidArgument names the line, or the size of more than kMaxTextBytes.
absl::StatusOr<std::vector<float>> ReadTaps(const std::string& path);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_TAPS_FILE_H_
