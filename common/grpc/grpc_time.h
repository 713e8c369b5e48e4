// Times of SteadyNow() for gRPC.
#ifndef BASEBAND_COMMON_GRPC_GRPC_TIME_H_
#define BASEBAND_COMMON_GRPC_GRPC_TIME_H_

#include <grpc/support/time.h>

#include "absl/time/time.h"
#include "kernels/base/steady_time.h"

namespace baseband {

// `when` of SteadyNow() by the clock that gRPC itself goes by: a system_clock time it would
// convert, and be wrong if the system's clock is set meanwhile.
inline gpr_timespec ToGrpcTime(absl::Time when) {
  if (when == absl::InfiniteFuture()) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  const timespec left = absl::ToTimespec(when - SteadyNow());
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      {left.tv_sec, static_cast<int32_t>(left.tv_nsec), GPR_TIMESPAN});
}

}  // namespace baseband

#endif  // BASEBAND_COMMON_GRPC_GRPC_TIME_H_
