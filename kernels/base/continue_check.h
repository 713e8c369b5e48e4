// How long work is told whether to go on.
#ifndef BASEBAND_KERNELS_BASE_CONTINUE_CHECK_H_
#define BASEBAND_KERNELS_BASE_CONTINUE_CHECK_H_

#include <functional>

#include "absl/status/status.h"

namespace baseband {

// Asked by whoever works for long, every few milliseconds and before each step that may take
// longer: anything but OK ends the work, and is what it ends with. It may return late, while it is
// somebody else's turn. Empty: go on to the end.
using ContinueCheck = std::function<absl::Status()>;

inline absl::Status MayContinue(const ContinueCheck& check) {
  return check ? check() : absl::OkStatus();
}

}  // namespace baseband

#endif  // BASEBAND_KERNELS_BASE_CONTINUE_CHECK_H_
