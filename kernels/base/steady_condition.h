// Waits of an absl::Mutex that end in time.
#ifndef BASEBAND_KERNELS_BASE_STEADY_CONDITION_H_
#define BASEBAND_KERNELS_BASE_STEADY_CONDITION_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kernels/base/steady_time.h"

namespace baseband {

// In place of absl::CondVar and of Mutex::AwaitWithDeadline, which wait by the system's clock in
// Abseil 20220623, the relative ones, too: set back by an hour, it makes any such wait an hour
// longer. std's condition waits by the steady clock. Thread-safe.
class SteadyCondition {
 public:
  // Whoever makes a condition true that is waited for calls this afterwards, with the mutex or
  // without it.
  void NotifyAll() { changed_.notify_all(); }

  // Gives `mutex` up until NotifyAll, `deadline` of SteadyNow(), or for no reason at all; at most
  // for an hour.
  void WaitUntil(absl::Mutex& mutex, absl::Time deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const absl::Duration left = std::min(deadline - SteadyNow(), absl::Hours(1));
    if (left <= absl::ZeroDuration()) return;
    Lockable lockable{mutex};
    changed_.wait_for(lockable, absl::ToChronoNanoseconds(left));
  }

  // Returns once `condition()`, which is called with `mutex` held, or at `deadline`: which of them
  // it is.
  template <typename Condition>
  bool AwaitUntil(absl::Mutex& mutex, absl::Time deadline, const Condition& condition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    while (!condition()) {
      if (SteadyNow() >= deadline) return false;
      WaitUntil(mutex, deadline);
    }
    return true;
  }

 private:
  struct Lockable {  // std's word for it
    absl::Mutex& mutex;
    void lock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex.Lock(); }
    void unlock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex.Unlock(); }
  };

  std::condition_variable_any changed_;
};

}  // namespace baseband

#endif  // BASEBAND_KERNELS_BASE_STEADY_CONDITION_H_
