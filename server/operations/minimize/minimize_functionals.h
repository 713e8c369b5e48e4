// What a request minimises, from its message and payload. Internal to service/.
#ifndef BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_FUNCTIONALS_H_
#define BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_FUNCTIONALS_H_

#include "absl/status/statusor.h"
#include "baseband/v1/baseband.pb.h"
#include "kernels/base/continue_check.h"
#include "kernels/minimize/functional.h"
#include "server/device/payload.h"

namespace baseband::server {

// InvalidArgument names the field, its value and its range. May take long, for tables are made, and
// asks `may_continue` then.
absl::StatusOr<minimize::FunctionalPtr> FunctionalFromProto(const v1::MinimizeRequest& message,
                                                            const Payload& payload,
                                                            const minimize::Grid& grid,
                                                            const ContinueCheck& may_continue);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_FUNCTIONALS_H_
