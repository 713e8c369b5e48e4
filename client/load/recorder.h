// Counts the calls of one worker as they are sent and end.
#ifndef BASEBAND_CLIENT_LOAD_RECORDER_H_
#define BASEBAND_CLIENT_LOAD_RECORDER_H_

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "baseband/v1/baseband.pb.h"
#include "client/load/totals.h"

namespace baseband::load {

// The part of a load that is measured, in nanoseconds since its begin.
struct Window {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t interval_ns = 1;

  bool Contains(int64_t time_ns) const { return time_ns >= begin_ns && time_ns < end_ns; }
  size_t intervals() const;
};

// A call that has ended. Times in nanoseconds since the load's begin.
struct Ended {
  size_t workload = 0;
  Outcome outcome = Outcome::kGood;
  int64_t due_ns = 0;  // when it was to be sent
  int64_t sent_ns = 0;
  int64_t end_ns = 0;
  const v1::Timing* timing = nullptr;  // if known
  double info_bits = 0;                // of blocks that decoded
  Blocks blocks;
  const Iterations* iterations = nullptr;  // of its code blocks, if known; of a Request's answers
  bool by_shared_memory = false;           // its payload
  double message_bytes = 0;
  std::string explanation;  // the cause of a refusal, what was wrong
};

// Thread-safe.
class Recorder {
 public:
  Recorder(const Window& window, size_t workloads)
      : window_(window), totals_(workloads, window.intervals()) {}

  // A call is sent at `sent_ns`; `waited`: there was no room for it before. Calls come in the order
  // in which they were due, those among them that were skipped by OnEnd(): what comes late because
  // it was due before one that had to wait was sent, had no room either.
  void OnSend(int64_t due_ns, int64_t sent_ns, bool waited);
  // A call of a closed loop, which is due when it is sent.
  void OnClosedSend(int64_t due_ns);
  void OnEnd(const Ended& ended);
  // The answer of a call that OnEnd() has counted as good or late, of this worker or another one,
  // was found to be wrong.
  void Reject(const Ended& ended);

  // Calls due in the measurement that have been sent, or skipped.
  int64_t due() const;
  // Those of its first `intervals`.
  int64_t DueWithin(size_t intervals) const;
  // Calls, whenever they were due, that have been sent and not ended.
  int64_t in_flight() const;
  // What became of calls due in the measurement that have ended so far.
  Outcomes outcomes() const;
  // One interval as it is now, with the calls due in it that have been sent or skipped; cheap
  // enough to be asked for while the load runs.
  Interval At(size_t interval) const;
  // All that was counted; afterwards nothing more is.
  Totals Take();

 private:
  void CountDue(int64_t due_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Window window_;
  mutable absl::Mutex mutex_;
  Totals totals_ ABSL_GUARDED_BY(mutex_);
  int64_t due_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  // When the last call that had no room, or came too late for it, was sent or skipped.
  int64_t held_until_ns_ ABSL_GUARDED_BY(mutex_) = INT64_MIN;
};

// "RESOURCE_EXHAUSTED: the queue is full (# requests)": `message` with each number as one #.
std::string Cause(const char* code, const std::string& message);

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_RECORDER_H_
