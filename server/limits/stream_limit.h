// How many streams are open, and may be.
#ifndef BASEBAND_SERVER_LIMITS_STREAM_LIMIT_H_
#define BASEBAND_SERVER_LIMITS_STREAM_LIMIT_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/metrics/unserved.h"

namespace baseband::server {

// Thread-safe.
class StreamLimit {
 public:
  // `noun`: what they are, in the plural.
  StreamLimit(const char* noun, int64_t max_streams) : noun_(noun), max_streams_(max_streams) {}

  // A stream has come; exactly one Vacate must follow whatever is returned: ResourceExhausted if it
  // is one too many.
  absl::Status Enter() {
    absl::MutexLock lock(&mutex_);
    if (++places_ > max_streams_) {
      return Because(
          UnservedReason::kStreamLimit,
          absl::ResourceExhaustedError(absl::StrCat(
              max_streams_, " ", noun_, " are open already: that is all this server takes")));
    }
    return absl::OkStatus();
  }
  // It is over: from what its client hears next, another may come in its place.
  void Vacate() {
    absl::MutexLock lock(&mutex_);
    --places_;
  }

 private:
  const char* const noun_;
  const int64_t max_streams_;
  absl::Mutex mutex_;
  int64_t places_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_STREAM_LIMIT_H_
