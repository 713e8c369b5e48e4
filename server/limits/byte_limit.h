// A bound on memory that calls hold together, in bytes.
#ifndef BASEBAND_SERVER_LIMITS_BYTE_LIMIT_H_
#define BASEBAND_SERVER_LIMITS_BYTE_LIMIT_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/metrics/unserved.h"

namespace baseband::server {

// Thread-safe.
class ByteLimit {
 public:
  // `noun`: who holds the memory, in the plural.
  ByteLimit(const char* noun, int64_t max_bytes) : noun_(noun), max_bytes_(max_bytes) {}

  int64_t used() const {
    absl::MutexLock lock(&mutex_);
    return used_;
  }

 private:
  friend class ByteHold;

  absl::Status Change(int64_t from, int64_t to) {
    absl::MutexLock lock(&mutex_);
    const int64_t others = used_ - from;
    if (to > max_bytes_) {
      return absl::InvalidArgumentError(absl::StrCat("the request needs ", to,
                                                     " bytes of memory; this server lets all ",
                                                     noun_, " together have ", max_bytes_));
    }
    if (to > from && to > max_bytes_ - others) {
      return Because(UnservedReason::kSearchMemory,
                     absl::ResourceExhaustedError(absl::StrCat(
                         "the request needs ", to, " bytes of memory; other ", noun_, " hold ",
                         others, ", and this server lets all of them have ", max_bytes_)));
    }
    used_ = others + to;
    return absl::OkStatus();
  }

  const char* const noun_;
  const int64_t max_bytes_;
  mutable absl::Mutex mutex_;
  int64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
};

// What one call holds of a limit, nothing at first; goes back in the destructor. Not thread-safe.
class ByteHold {
 public:
  explicit ByteHold(ByteLimit* limit) : limit_(limit) {}
  ByteHold(const ByteHold&) = delete;
  ByteHold& operator=(const ByteHold&) = delete;
  ~ByteHold() { (void)Resize(0); }

  // Holds `bytes` from now on. Else it is as it was: ResourceExhausted if that is more than there
  // is now, InvalidArgument if it is more than there ever is.
  absl::Status Resize(int64_t bytes) {
    const absl::Status status = limit_->Change(bytes_, bytes);
    if (status.ok()) bytes_ = bytes;
    return status;
  }

 private:
  ByteLimit* const limit_;
  int64_t bytes_ = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_BYTE_LIMIT_H_
