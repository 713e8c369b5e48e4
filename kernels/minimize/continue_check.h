// Whether to go on with something long.
#ifndef BASEBAND_KERNELS_MINIMIZE_CONTINUE_CHECK_H_
#define BASEBAND_KERNELS_MINIMIZE_CONTINUE_CHECK_H_

#include <functional>

#include "absl/status/status.h"

namespace baseband::minimize {

// Asked now and then by what takes long, on the thread that does it; what it says other than OK
// ends that and is returned. None: go on.
using ContinueCheck = std::function<absl::Status()>;

inline absl::Status Ask(const ContinueCheck& may_continue) {
  return may_continue != nullptr ? may_continue() : absl::OkStatus();
}

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_CONTINUE_CHECK_H_
