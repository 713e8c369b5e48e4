// Counts the objects of a kind that exist: who takes away what they use waits until none does.
//
//   class Call { const LiveCount::One alive_; ... };   // first member: the last to be destroyed
//   ...
//   calls.WaitUntilNone();
//   queue.Shutdown();                                  // nobody starts anything on it any more
#ifndef BASEBAND_SERVER_LIMITS_LIVE_COUNT_H_
#define BASEBAND_SERVER_LIMITS_LIVE_COUNT_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace baseband::server {

// Thread-safe.
class LiveCount {
 public:
  // One of them, from its constructor to its destructor, after which it touches the count no more.
  class One {
   public:
    explicit One(LiveCount* count) : count_(*count) { count_.Add(1); }
    ~One() { count_.Add(-1); }
    One(const One&) = delete;
    One& operator=(const One&) = delete;

   private:
    LiveCount& count_;
  };

  int64_t count() const {
    absl::MutexLock lock(&mutex_);
    return live_;
  }
  // Returns once there is none.
  void WaitUntilNone() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](int64_t* live) { return *live == 0; }, &live_));
  }

 private:
  void Add(int64_t change) {
    absl::MutexLock lock(&mutex_);
    live_ += change;
  }

  mutable absl::Mutex mutex_;
  int64_t live_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_LIVE_COUNT_H_
