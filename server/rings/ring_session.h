// One ring: takes a client's submissions, makes jobs of them, completes each once it is done. What
// a call does for its request is done here without one, by the same RequestContext.
#ifndef BASEBAND_SERVER_RINGS_RING_SESSION_H_
#define BASEBAND_SERVER_RINGS_RING_SESSION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/shm/ring.h"
#include "server/calls/call_environment.h"
#include "server/calls/request_context.h"
#include "server/device/shared_memory.h"

namespace baseband::server {

// The client may write anything to the ring, at any time: an entry is copied once, and the copy is
// checked. What it does to its own side of the protocol is its own loss.
class RingSession : public std::enable_shared_from_this<RingSession> {
 public:
  // Submissions that are taken at a time, before the next ring's: none more after so long, for the
  // thread serves others, too.
  static constexpr int kTurn = 16;
  static constexpr absl::Duration kTurnTime = absl::Microseconds(200);
  static constexpr uint32_t kMaxRingHeader = 64 << 10;
  // Of the jobs that a ring has registered. What is made of a header takes some 6 times as much.
  static constexpr size_t kMaxJobs = 1024;
  static constexpr int64_t kMaxJobBytes = 64 << 10;

  // The ring of `client` at `offset` of its region `memory`. It counts among the streams of the
  // client and of all. `environment` outlives it. InvalidArgument: no ring lies there;
  // ResourceExhausted: there are too many; Unavailable: the server shuts down.
  static absl::StatusOr<std::shared_ptr<RingSession>> Open(
      const CallEnvironment& environment, const std::string& client,
      std::shared_ptr<const SharedMemory> memory, uint64_t offset);

  // ---- on the one thread that looks after it

  // Takes what is there, up to kTurn; false: nothing. Jobs start when the thread calls
  // DispatchGathered().
  bool Take();
  // Nothing can be taken. The bell will be rung when that changes; where it will not, for there is
  // a submission already, and as many requests under way as there are entries, `look_again` becomes
  // true.
  bool MaySleep(bool* look_again) {
    if (baseband_ring_server_may_sleep(&ring_, taken_) != 0) return true;
    const bool is_full_now = is_full();  // once: a completion may come in between
    *look_again |= is_full_now;
    return is_full_now;
  }
  void Awake() { BASEBAND_RING_STORE(&ring_.header->server_waits, 0); }
  // As many requests are under way as there are entries: completions have to come first.
  bool is_full() const { return taken_ - completed_.load() >= ring_.entries; }
  uint32_t entries() const { return ring_.entries; }
  // So far.
  uint64_t completed() const { return completed_.load(std::memory_order_relaxed); }

  // ---- on any thread

  // Nobody waits any more: nothing is taken, and what was is cancelled.
  void End();

 private:
  struct InFlight;
  using InFlightPtr = std::shared_ptr<InFlight>;
  struct RegisteredJob;

  RingSession(const CallEnvironment& environment, const std::string& client,
              std::shared_ptr<const SharedMemory> memory, const BasebandRing& ring);

  void Begin(const BasebandSubmission& submission, absl::Time arrival);
  // From here on an error is the request's answer.
  absl::Status Accept(const InFlightPtr& request);
  // Reads what the submission names in the region.
  absl::Status ReadRequest(const InFlightPtr& request) const;
  absl::StatusOr<absl::Span<uint8_t>> Range(const char* field, uint64_t offset,
                                            uint64_t bytes) const;
  absl::Status Convert(const InFlightPtr& request);
  // Whether the reply's range has room for an answer of so many bytes.
  static absl::Status CheckRoom(const InFlightPtr& request, int64_t bytes);
  // The request's job is made.
  absl::Status UseJob(const InFlightPtr& request, JobPtr job);
  absl::Status Register(const InFlightPtr& request, JobPtr job) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Forget(uint32_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  std::shared_ptr<const RegisteredJob> FindJob(uint32_t number) ABSL_LOCKS_EXCLUDED(mutex_);

  void Answer(const InFlightPtr& request, absl::StatusOr<Reply> reply);
  void Refuse(const InFlightPtr& request, const absl::Status& status);
  void Complete(const InFlightPtr& request, const absl::Status& status,
                const BasebandCompletion& completion) ABSL_LOCKS_EXCLUDED(mutex_);

  const CallEnvironment& environment_;
  const std::shared_ptr<const SharedMemory> memory_;
  const BasebandRing ring_;
  Requester requester_;
  StreamPlace place_;
  ClientHold hold_;
  // The thread's; nobody else forgets jobs.
  uint64_t taken_ = 0;
  uint32_t found_number_ = 0;
  std::shared_ptr<const RegisteredJob> found_;  // last, by that number
  std::atomic<bool> is_over_{false};

  mutable absl::Mutex mutex_;
  std::atomic<uint64_t> completed_{0};  // grows under the mutex
  std::unordered_map<uint32_t, std::shared_ptr<const RegisteredJob>> jobs_ ABSL_GUARDED_BY(mutex_);
  int64_t job_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t last_job_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_RINGS_RING_SESSION_H_
