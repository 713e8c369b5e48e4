// A clock that nobody sets.
#ifndef BASEBAND_KERNELS_BASE_STEADY_TIME_H_
#define BASEBAND_KERNELS_BASE_STEADY_TIME_H_

#include <chrono>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace baseband {

// CLOCK_MONOTONIC as a time: what the system's clock said when this was first asked, and all that
// has passed since. Goes forward at an even pace, whatever is done to the host's clock; costs some
// 40 ns. For all that is measured or waited for: arrivals, deadlines, time-outs, paces.
// What people or certificates call time is absl::Now(). Thread-safe.
inline absl::Time SteadyNow() {
  using Clock = std::chrono::steady_clock;  // libstdc++'s is CLOCK_MONOTONIC
  static const absl::Time epoch = absl::Now() - absl::FromChrono(Clock::now().time_since_epoch());
  return epoch + absl::FromChrono(Clock::now().time_since_epoch());
}

// What to add to a time of SteadyNow() to show it to people: the host's time of it, by the host's
// clock as it is set now.
inline absl::Duration SteadyToWall() { return absl::Now() - SteadyNow(); }

}  // namespace baseband

#endif  // BASEBAND_KERNELS_BASE_STEADY_TIME_H_
