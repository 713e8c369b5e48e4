// The bound of everything that waits: requests and their queued_bytes(), over all operations.
#ifndef BASEBAND_SERVER_BATCHING_ADMISSION_H_
#define BASEBAND_SERVER_BATCHING_ADMISSION_H_

#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace baseband::server {

class AdmissionTicket;

// Counts what was admitted and has not left the queues. Thread-safe.
class Admission {
 public:
  Admission(int64_t max_requests, int64_t max_bytes)
      : max_requests_(max_requests), max_bytes_(max_bytes) {}

  // Room for so many requests, of `bytes` together, before any memory is taken for them.
  // ResourceExhausted when there is none now.
  absl::StatusOr<AdmissionTicket> Enter(int64_t bytes, int64_t requests = 1);
  // What Enter would say of one.
  absl::Status Check(int64_t bytes) const;
  // Gives the room of so many requests, of `bytes` together, back.
  void Leave(int64_t requests, int64_t bytes);

  struct Usage {
    int64_t requests = 0;
    int64_t bytes = 0;
  };
  Usage usage() const;
  int64_t max_requests() const { return max_requests_; }
  int64_t max_bytes() const { return max_bytes_; }

 private:
  absl::Status CheckLocked(int64_t bytes, int64_t requests) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  const int64_t max_requests_;
  const int64_t max_bytes_;
  mutable absl::Mutex mutex_;
  Usage usage_ ABSL_GUARDED_BY(mutex_);
};

// Room that goes back in the destructor unless it was handed on. Move-only.
class AdmissionTicket {
 public:
  AdmissionTicket(Admission* admission, int64_t requests, int64_t bytes)
      : admission_(admission), requests_(requests), bytes_(bytes) {}
  AdmissionTicket(AdmissionTicket&& other) noexcept
      : admission_(std::exchange(other.admission_, nullptr)),
        requests_(other.requests_),
        bytes_(other.bytes_) {}
  AdmissionTicket& operator=(AdmissionTicket&&) = delete;
  ~AdmissionTicket() {
    if (admission_ != nullptr) {
      admission_->Leave(requests_, bytes_);
    }
  }
  // From here on the caller owes that Leave.
  void HandOn() { admission_ = nullptr; }

 private:
  Admission* admission_;
  int64_t requests_;
  int64_t bytes_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_BATCHING_ADMISSION_H_
