// A lock for the way of a small job. To wake a thread that sleeps takes tens of microseconds, which
// is what the job takes: who finds the mutex taken looks again for a while, and sleeps after that.
#ifndef BASEBAND_KERNELS_BASE_SPINNING_LOCK_H_
#define BASEBAND_KERNELS_BASE_SPINNING_LOCK_H_

#include <atomic>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "kernels/base/pause.h"

namespace baseband {

// As absl::MutexLock until Allow(): Abseil's checks of the order of locks, where they are on, see
// nothing of a lock that was taken by looking. For mutexes that nobody holds for long.
class ABSL_SCOPED_LOCKABLE SpinningLock {
 public:
  explicit SpinningLock(absl::Mutex* mutex)
      ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS : mutex_(mutex) {
    for (int i = looks_.load(std::memory_order_relaxed); i > 0; --i) {
      if (mutex_->TryLock()) return;
      Pause();
    }
    mutex_->Lock();
  }
  ~SpinningLock() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_->Unlock(); }
  SpinningLock(const SpinningLock&) = delete;
  SpinningLock& operator=(const SpinningLock&) = delete;

  // For the whole process, from now on.
  static void Allow() { looks_.store(kLooks, std::memory_order_relaxed); }

 private:
  static constexpr int kLooks = 500;  // some 20 us
  static inline std::atomic<int> looks_{0};

  absl::Mutex* const mutex_;
};

}  // namespace baseband

#endif  // BASEBAND_KERNELS_BASE_SPINNING_LOCK_H_
