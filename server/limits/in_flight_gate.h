// Counts the calls in flight and closes to new ones: what a graceful drain waits for.
//
//   if (absl::Status open = gate.Enter(SteadyNow()); !open.ok()) return open;
//   ...                                     // the call
//   gate.Leave();                           // its answer is sent
#ifndef BASEBAND_SERVER_LIMITS_IN_FLIGHT_GATE_H_
#define BASEBAND_SERVER_LIMITS_IN_FLIGHT_GATE_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kernels/base/steady_condition.h"

namespace baseband::server {

// Times are SteadyNow()'s. Thread-safe.
class InFlightGate {
 public:
  // So many calls have come together, at `now`. OK: they are inside, also for whoever closes the
  // gate in this moment, and each must Leave, once its answer is sent. Unavailable, and none is
  // inside, once the gate is closed.
  absl::Status Enter(absl::Time now, int64_t calls = 1);
  void Leave(int64_t calls = 1);
  // The same, of what stays outside all the same: a stream, whose requests enter one by one.
  absl::Status CheckOpen(absl::Time now);

  // From now on nobody is let in.
  void Close();
  // Returns once all who entered have left, at the latest at `deadline`.
  void WaitUntilEmpty(absl::Time deadline);
  // Returns once nobody has come for `quiet`, at the latest at `deadline`.
  void WaitUntilQuiet(absl::Duration quiet, absl::Time deadline) const;

 private:
  absl::Status Come(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  SteadyCondition emptied_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t inside_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time last_come_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_IN_FLIGHT_GATE_H_
