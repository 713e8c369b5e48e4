// What a request may need that takes long, up to seconds: the design of its filters, the
// preparation of a search and the refinement of its answer. Away from the threads that serve gRPC.
#ifndef BASEBAND_SERVER_LIMITS_SLOW_PATH_EXECUTOR_H_
#define BASEBAND_SERVER_LIMITS_SLOW_PATH_EXECUTOR_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace baseband::server {

// Asked before each step that may take seconds; anything but OK is what the request is refused
// with. Empty: there is no time for such a step.
using ContinueCheck = std::function<absl::Status()>;

// One thread that does what it is given, one piece after the other: those who need it wait for each
// other, and nobody else for them. Thread-safe.
class SlowPathExecutor {
 public:
  // What waits, without the piece in work, is at most `max_waiting` pieces that hold at most
  // `max_bytes` together.
  SlowPathExecutor(int64_t max_waiting, int64_t max_bytes);
  ~SlowPathExecutor();

  // `work`, which holds `bytes` of memory, is called once, soon. Else it is not called:
  // ResourceExhausted if too much waits, Unavailable after Finish.
  absl::Status Add(int64_t bytes, std::function<void()> work);
  // Returns once all that was added is done.
  void Finish();

 private:
  struct Piece {
    int64_t bytes = 0;
    std::function<void()> work;
  };

  bool HasPieceOrIsClosed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Work();

  const int64_t max_waiting_;
  const int64_t max_bytes_;
  absl::Mutex mutex_;
  std::deque<Piece> waiting_ ABSL_GUARDED_BY(mutex_);
  int64_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: uses all of the above
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_SLOW_PATH_EXECUTOR_H_
