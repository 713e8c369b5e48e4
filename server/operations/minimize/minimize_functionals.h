// What a request minimises, from its message and payload. Internal to service/.
#ifndef BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_FUNCTIONALS_H_
#define BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_FUNCTIONALS_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/status/statusor.h"
#include "baseband/v1/baseband.pb.h"
#include "kernels/base/continue_check.h"
#include "kernels/minimize/functional.h"
#include "server/device/payload.h"

namespace baseband::server {

// Beyond what int64 holds: what checks ranges refuses it by its own name.
inline int64_t Saturated(uint64_t value) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::min(value, kMax));
}

// InvalidArgument names the field, its value and its range. May take long, for tables are made, and
// asks `may_continue` then.
absl::StatusOr<minimize::FunctionalPtr> FunctionalFromProto(const v1::MinimizeRequest& message,
                                                            const Payload& payload,
                                                            const minimize::Grid& grid,
                                                            const ContinueCheck& may_continue);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_FUNCTIONALS_H_
