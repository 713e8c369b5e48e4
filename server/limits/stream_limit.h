// How many streams are open, and may be.
#ifndef BASEBAND_SERVER_LIMITS_STREAM_LIMIT_H_
#define BASEBAND_SERVER_LIMITS_STREAM_LIMIT_H_

#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/metrics/unserved.h"

namespace baseband::server {

class StreamPlace;

// Thread-safe.
class StreamLimit {
 public:
  // `noun`: what they are, in the plural.
  StreamLimit(const char* noun, int64_t max_streams) : noun_(noun), max_streams_(max_streams) {}

  // A place for a stream that has come; ResourceExhausted, and it takes none, if it is one too
  // many.
  absl::StatusOr<StreamPlace> Enter();

 private:
  friend class StreamPlace;
  void Vacate() {
    absl::MutexLock lock(&mutex_);
    --places_;
  }

  const char* const noun_;
  const int64_t max_streams_;
  absl::Mutex mutex_;
  int64_t places_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The place of one stream, or none; goes back in the destructor. Move-only.
class StreamPlace {
 public:
  StreamPlace() = default;
  StreamPlace(StreamPlace&& other) noexcept { *this = std::move(other); }
  StreamPlace& operator=(StreamPlace&& other) noexcept {
    std::swap(limit_, other.limit_);
    return *this;
  }
  ~StreamPlace() {
    if (limit_ != nullptr) limit_->Vacate();
  }

 private:
  friend class StreamLimit;
  explicit StreamPlace(StreamLimit* limit) : limit_(limit) {}

  StreamLimit* limit_ = nullptr;
};

inline absl::StatusOr<StreamPlace> StreamLimit::Enter() {
  absl::MutexLock lock(&mutex_);
  if (places_ >= max_streams_) {
    return Because(
        UnservedReason::kStreamLimit,
        absl::ResourceExhaustedError(absl::StrCat(
            max_streams_, " ", noun_, " are open already: that is all this server takes")));
  }
  ++places_;
  return StreamPlace(this);
}

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_STREAM_LIMIT_H_
