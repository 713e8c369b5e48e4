// A line of the log at most once a second, and how many were left out.
#ifndef BASEBAND_SERVER_CONFIG_LOG_LIMIT_H_
#define BASEBAND_SERVER_CONFIG_LOG_LIMIT_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace baseband::server {

// Thread-safe.
class LogLimit {
 public:
  // Something happened at `now`. Whether to write a line of it: with the number of times since the
  // last line that were not written.
  absl::optional<int64_t> Pass(absl::Time now) {
    absl::MutexLock lock(&mutex_);
    if (now < next_) {
      ++suppressed_;
      return absl::nullopt;
    }
    next_ = now + absl::Seconds(1);
    const int64_t suppressed = suppressed_;
    suppressed_ = 0;
    return suppressed;
  }

 private:
  absl::Mutex mutex_;
  absl::Time next_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  int64_t suppressed_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONFIG_LOG_LIMIT_H_
