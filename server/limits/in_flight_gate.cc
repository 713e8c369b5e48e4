#include "server/limits/in_flight_gate.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "kernels/base/steady_time.h"
#include "server/metrics/unserved.h"

namespace baseband::server {

absl::Status InFlightGate::Come(absl::Time now) {
  last_come_ = now;
  return closed_ ? Because(UnservedReason::kDraining,
                           absl::UnavailableError("this server is shutting down: use another one"))
                 : absl::OkStatus();
}

absl::Status InFlightGate::Enter(absl::Time now, int64_t calls) {
  absl::MutexLock lock(&mutex_);
  absl::Status status = Come(now);
  if (status.ok()) inside_ += calls;
  return status;
}

void InFlightGate::Leave(int64_t calls) {
  absl::MutexLock lock(&mutex_);
  // Under the lock: once it is given up, the gate may be gone.
  inside_ -= calls;
  if (inside_ == 0) emptied_.NotifyAll();
}

absl::Status InFlightGate::CheckOpen(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  return Come(now);
}

void InFlightGate::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
}

void InFlightGate::WaitUntilEmpty(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  emptied_.AwaitUntil(mutex_, deadline,
                      [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return inside_ == 0; });
}

void InFlightGate::WaitUntilQuiet(absl::Duration quiet, absl::Time deadline) const {
  for (;;) {
    const absl::Time now = SteadyNow();
    absl::Time until;
    {
      absl::MutexLock lock(&mutex_);
      until = std::min(last_come_ + quiet, deadline);
    }
    if (until <= now) return;
    absl::SleepFor(until - now);
  }
}

}  // namespace baseband::server
