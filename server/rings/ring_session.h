// One ring: takes a client's submissions, makes jobs of them, completes each once it is done. What
// a call does for its request is done here without one, by the same RequestContext.
#ifndef BASEBAND_SERVER_RINGS_RING_SESSION_H_
#define BASEBAND_SERVER_RINGS_RING_SESSION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/shm/ring.h"
#include "server/calls/call_environment.h"
#include "server/calls/request_context.h"
#include "server/device/payload.h"
#include "server/device/shared_memory.h"

namespace baseband::server {

// The client may write anything to the ring, at any time: an entry is copied once, and the copy is
// checked. What it does to its own side of the protocol is its own loss.
class RingSession : public std::enable_shared_from_this<RingSession> {
 public:
  // Submissions that are taken at a time, before the next ring's: none more after so long, for the
  // thread serves others, too.
  static constexpr int kTurn = 64;
  static constexpr absl::Duration kTurnTime = absl::Microseconds(200);
  static constexpr uint32_t kMaxRingHeader = 64 << 10;
  // Of the jobs that a ring has registered: of their headers, and of what is made of them once and
  // kept, Job::kept_bytes(). Those beyond that are made anew for each request.
  static constexpr size_t kMaxJobs = 1024;
  static constexpr int64_t kMaxJobBytes = 64 << 10;
  static constexpr int64_t kMaxKeptBytes = 4 << 20;
  // Small requests of one registered job that are taken in one turn go through the server as one
  // job: what that costs for each is most of what they cost. They have so much together, of
  // payload, replies and blocks, and deadlines that are as near: the earliest counts for all.
  static constexpr int64_t kMaxJoinedBytes = 512 << 10;
  static constexpr int64_t kMaxJoinedBlocks = 64;
  static constexpr absl::Duration kJoinedDeadlines = absl::Microseconds(20);
  // That there is no time for a request, with what goes before it, stands so long at most, for
  // those of the same job that are to be done as soon: to look at one takes 6 us, and a thread that
  // is sent ten times what there is time for has none for those that may be served.
  static constexpr absl::Duration kRefusalStands = absl::Microseconds(50);

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
  // For a test that is not to depend on how fast its machine is.
  void LengthenTurns() { turn_time_ = absl::InfiniteDuration(); }
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

  // Starts at once, unless it waits for the turn's end: to go with more of its kind, or to be
  // refused with others.
  void Begin(const BasebandSubmission& submission, absl::Time arrival);
  // Those that wait.
  void StartJoined();
  // They are several, and accepted as one.
  bool AreOneJob();
  // Not OK: it was refused, and is told so.
  absl::Status Start(const BasebandSubmission& submission,
                     std::shared_ptr<const RegisteredJob> registered, absl::Time arrival);
  // Whether it is refused without a closer look, and waits for that: its deadline has passed, or
  // the last refusal stands for it as well.
  bool IsRefused(const BasebandSubmission& submission,
                 const std::shared_ptr<const RegisteredJob>& registered, absl::Time arrival);
  void RefuseLater(const absl::Status& status, const BasebandSubmission& submission,
                   const std::shared_ptr<const RegisteredJob>& registered, absl::Time arrival);
  // Lets `status`, of `request`, stand for those like it.
  void LetStand(const InFlight& request, const absl::Status& status);
  // Those that wait for it.
  void TellRefused();
  // Nothing is wrong with it as such.
  bool IsSound(const BasebandSubmission& submission, const RegisteredJob& job) const;
  // Whether it may be one of those that wait.
  bool IsLikeJoined(const BasebandSubmission& submission, const RegisteredJob& job) const;
  // OK: all of `submissions` are accepted, as one job. Otherwise none is.
  absl::Status AcceptJoined(const InFlightPtr& request,
                            absl::Span<const BasebandSubmission> submissions);
  // Of sound ones.
  void AddAskers(absl::Span<const BasebandSubmission> submissions, InFlight* request) const;
  // From here on an error is the request's answer.
  absl::Status Accept(const InFlightPtr& request);
  // Reads what the submission names in the region.
  absl::Status ReadRequest(const InFlightPtr& request) const;
  PayloadPiece PieceAt(absl::Span<const uint8_t> payload) const {
    return {payload.data(), static_cast<int64_t>(payload.size()), &memory_->region()};
  }
  absl::StatusOr<absl::Span<uint8_t>> Range(const char* field, uint64_t offset,
                                            uint64_t bytes) const;
  absl::Status Convert(const InFlightPtr& request);
  // Whether the reply's range has room for an answer of so many bytes.
  static absl::Status CheckRoom(const InFlightPtr& request, int64_t bytes);
  // The request's job is made.
  absl::Status UseJob(const InFlightPtr& request, JobPtr job);
  static absl::Status Submit(const InFlightPtr& request, JobPtr job);
  absl::Status Register(const InFlightPtr& request, JobPtr job) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Forget(uint32_t number) ABSL_LOCKS_EXCLUDED(mutex_);
  std::shared_ptr<const RegisteredJob> FindJob(uint32_t number) ABSL_LOCKS_EXCLUDED(mutex_);

  void Answer(const InFlightPtr& request, const absl::Status& end, JobPtr job);
  void Refuse(const InFlightPtr& request, const absl::Status& status);
  // `completions`, one of each asker, lack their names and values.
  void Complete(const InFlightPtr& request, const absl::Status& status,
                absl::Span<BasebandCompletion> completions) ABSL_LOCKS_EXCLUDED(mutex_);
  void CompleteWithout(const InFlightPtr& request);  // an answer

  const CallEnvironment& environment_;
  const std::shared_ptr<const SharedMemory> memory_;
  const BasebandRing ring_;
  Requester requester_;
  StreamPlace place_;
  ClientHold hold_;
  // The thread's; nobody else forgets jobs.
  uint64_t taken_ = 0;
  absl::Duration turn_time_ = kTurnTime;
  uint32_t found_number_ = 0;
  std::shared_ptr<const RegisteredJob> found_;  // last, by that number
  struct Joined {
    std::shared_ptr<const RegisteredJob> job;
    std::vector<BasebandSubmission> submissions;
    uint64_t earliest_ns = 0;  // of their deadlines
    uint64_t latest_ns = 0;
    absl::Time arrival;  // of the first
  };
  Joined joined_;  // in this turn
  // Was refused at `at`, when it had `left` until its deadline, and may come after `retry`.
  struct Refusal {
    std::shared_ptr<const RegisteredJob> job;  // null: there is none
    uint16_t priority = 0;
    absl::Time at;
    absl::Duration left;
    absl::Duration retry;
    absl::Status status;
  };
  Refusal refusal_;  // the last
  struct Refused {
    absl::Status status;
    std::shared_ptr<const RegisteredJob> job;  // of the first
    std::vector<BasebandSubmission> submissions;
    absl::Time arrival;
  };
  Refused refused_;  // in this turn
  std::atomic<bool> is_over_{false};

  mutable absl::Mutex mutex_;
  std::atomic<uint64_t> completed_{0};  // grows under the mutex
  std::unordered_map<uint32_t, std::shared_ptr<const RegisteredJob>> jobs_ ABSL_GUARDED_BY(mutex_);
  int64_t job_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t last_job_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_RINGS_RING_SESSION_H_
