// Brings waiting jobs and free lanes together. Batches form by themselves: when a lane is free,
// what waits leaves; while all are busy, work gathers.
#ifndef BASEBAND_SERVER_BATCHING_DISPATCHER_H_
#define BASEBAND_SERVER_BATCHING_DISPATCHER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "kernels/base/periodic_thread.h"
#include "kernels/base/steady_condition.h"
#include "kernels/base/steady_time.h"
#include "server/batching/admission.h"
#include "server/batching/batch_queue.h"
#include "server/batching/device_clock.h"
#include "server/batching/quarantine.h"
#include "server/batching/scheduler.h"
#include "server/device/device.h"
#include "server/jobs/job.h"
#include "server/jobs/operation.h"
#include "server/metrics/metrics.h"

namespace baseband::server {

struct DispatcherOptions {
  // Of all jobs; outlives the dispatcher.
  const OperationTable* operations = nullptr;
  BatchLimits limits;
  int64_t queue_requests = 0;
  int64_t queue_bytes = 0;
  double low_share = 0.0;  // see Scheduler
  ShareWeights share_weights;
  std::function<absl::Time()> clock = &SteadyNow;
  // How long a lane may have a batch in hand without progress; 0: for ever.
  absl::Duration watchdog = absl::ZeroDuration();
  // Called once for each loss of a device, on any thread, never under a lock, before the calls in
  // flight on it are answered.
  std::function<void(Device&, DeviceLoss, const std::string& why)> on_loss;
  // Called after that once no lane of it is busy any more, likewise; may be empty.
  std::function<void(Device&)> on_loss_end;
  // Makes the batches; something else than the operations' own where faults are injected.
  std::function<std::unique_ptr<Batch>(std::vector<JobPtr>, Device&)> make_batch =
      [](std::vector<JobPtr> jobs, Device&) { return MakeBatch(std::move(jobs)); };
};

// Promises:
// - A job is owned by the dispatcher iff Submit returned OK; its `done` then runs exactly once,
//   never under a lock.
// - A job whose deadline has passed or whose caller is gone leaves the queue unlaunched; on a CPU
//   device, where a batch has pieces, it is cut short also while it runs, and is answered
//   Cancelled.
// - The thread that submits to a free lane also starts it: an idle server adds no thread switch
//   between a request and its kernel.
// - Who goes first, and on which lanes, is scheduler.h's word.
// - What cannot make its deadline, by what was learned in the last second, is not admitted.
// - A lane that ended a batch answers a few jobs at once, while other lanes keep its device busy;
//   many, or where the device would be idle meanwhile, after it has started the next batch.
// - A job that is bound to a device (Job::device) runs there or, once that is lost, is answered
//   Unavailable, also while it waits.
// - A device is lost when it says so, when a lane of it makes no progress for options.watchdog (and
//   up to a quarter more), or by LoseDevice. What is in flight on it is answered at once, also
//   while a lane still runs it: the batch and its memory then stay until the lane ends, and nobody
//   hears of that. What waits goes to the other devices, those on standby last; if there are none
//   it is answered Unavailable. Searches do not move from a device to one on standby, whose pieces
//   have another length: those that wait are answered Unavailable too.
// - A lost device whose lanes have ended may come back: Restore.
// - What may have brought the device down does not go to the next one by itself: it is answered
//   Internal, which no client tries again, and its like is refused for a while (quarantine.h), also
//   what waits of it. That is all that ran on a device that says it is broken, and what ran on the
//   lanes that stood still: a kernel without an end is the doing of its request as much as a wild
//   pointer is. What ran beside a lane that stood still, or on a device that an admin gave up, is
//   answered Unavailable.
// Thread-safe.
class Dispatcher {
 public:
  // `devices` outlive the dispatcher, and so does `metrics`.
  Dispatcher(const DispatcherOptions& options, absl::Span<Device* const> devices, Metrics* metrics);
  // Waits until every accepted job was answered and every lane has ended. Nothing may be submitted
  // any more. Where HasStuckLane, that may never be: end the process without it.
  ~Dispatcher();

  // Whether there is room for a request of `bytes` now, for little more than a lock:
  // ResourceExhausted as of Admit.
  absl::Status CheckRoom(int64_t bytes) const { return admission_.Check(bytes); }

  // Room for `job`, whose caller, deadline, fingerprint, work and bytes of both sides are set.
  // ResourceExhausted, which may know when to come back (RetryAfter): the queues are full, or its
  // deadline would pass while others go first; DeadlineExceeded: even an idle server could not make
  // it; FailedPrecondition: its like is in quarantine.
  absl::StatusOr<AdmissionTicket> Admit(Job* job);
  // How long a request of that operation, client and class would wait if it were submitted now; it
  // is no background work, but for its class.
  struct Wait {
    double seconds = 0.0;
    int devices = 1;        // that share what more comes
    bool is_known = false;  // else much of it is a guess
  };
  Wait WaitOf(int operation, const std::string& client, Priority priority) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes `job`, whose payload is in place, and returns OK. Otherwise leaves it where it was:
  // InvalidArgument when it is larger than any lane, Unavailable when no device is healthy. Who
  // `gathers` has more at hand, that may leave with this one, and calls DispatchGathered() after
  // the last.
  absl::Status Submit(JobPtr& job, AdmissionTicket ticket, bool gathers = false)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Starts batches while there is a free lane and something to run on it.
  void Dispatch() ABSL_LOCKS_EXCLUDED(mutex_) { DispatchWhile(/*only_gathered=*/false); }
  // The same, for as long as jobs wait that were gathered. Whoever brings many small jobs leaves to
  // others, who see to it anyway, to describe their large ones.
  void DispatchGathered() ABSL_LOCKS_EXCLUDED(mutex_) { DispatchWhile(/*only_gathered=*/true); }

  // Returns once every accepted job was answered.
  void WaitUntilIdle();

  // Takes the device of that id out of service, as lost by `cause`. NotFound if there is none, or
  // it is not healthy.
  absl::Status LoseDevice(const std::string& id, DeviceLoss cause, const std::string& why);
  // `device`, lost and without a busy lane, works again: it gets work as before its loss. Pieces of
  // searches that wait and were made for its stand-in are answered Unavailable.
  void Restore(Device& device) ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls `f` while no lane of any device is busy, and starts none meanwhile. DeadlineExceeded,
  // without it, if they are not done with what they have within `patience`; Unavailable, at once,
  // if one is stuck.
  absl::Status WhileLanesAreIdle(absl::Duration patience, const std::function<absl::Status()>& f)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Looks whether the lanes make progress; what the watchdog does kLooks times in options.watchdog.
  static constexpr int kLooks = 8;
  void LookAtLanes();
  bool HasHealthyDevice() const;
  // Whose like is refused.
  Quarantine& quarantine() { return quarantine_; }
  // Whether a lane runs a batch whose jobs were answered already.
  bool HasStuckLane() const;

  // How long a refused request should wait before it comes back, if its refusal does not say: until
  // what waits now, without background work, is done.
  absl::Duration RetryHint() const;
  // The same of one that was refused with `refusal`, as that says it, if it does.
  absl::Duration RetryDelay(const absl::Status& refusal) const;

  // Sets the gauges of queues and devices; for the moment before a scrape.
  void SampleGauges() const;

 private:
  struct Start {
    Lane* lane = nullptr;
    std::vector<JobPtr> jobs;
  };
  // What a lane has in hand.
  struct Flight {
    Lane* lane = nullptr;
    bool is_running = false;
    std::vector<Job*> jobs;  // of its batch, while nobody has answered them
    int64_t progress = 0;    // of the lane, at the last look
    int looks = 0;           // that saw no progress
  };

  // The next batch and its lane, or no lane. Appends what is not to be launched to `dropped`.
  Start Next(bool background, std::vector<std::pair<absl::Status, JobPtr>>* dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A free lane of that kind of each healthy device, the best first.
  using Lanes = absl::InlinedVector<Lane*, 4>;
  Lanes FreeLanes(bool background) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  BatchPlace PlaceOf(Lane& lane) const {
    return {&lane.device(), /*bound_only=*/!Serves(lane.device(), devices_)};
  }
  Flight& FlightOn(Lane& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AreIdle(size_t device) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AreLanesIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether `is` holds for what a lane has in work, or had last, of any device.
  template <typename Is>
  bool AnyFlight(const Is& is) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The watchdog has given a lane up that is still busy.
  bool IsStuck() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // As a job meets it that runs on `device` only, if that is not null.
  DeviceLoad Load(absl::Time now, const Device* device = nullptr) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartBatch(Start start);
  void EndBatch(Lane* lane, std::unique_ptr<Batch> batch, absl::Status status,
                const StageTimes& stages, absl::Time started);
  // Of jobs of one class that have ended.
  void ObserveSchedule(absl::Span<const JobPtr> jobs, double device_s, absl::Time now);
  // Calls its `done`; `unanswered_` still has it.
  static void Tell(absl::Status status, JobPtr job);
  void Answer(absl::Status status, JobPtr job);
  // The answer to what is bound to it.
  static absl::Status LostWith(const Device& device, const std::string& why);
  void Lose(size_t device, DeviceLoss cause, const std::string& why) ABSL_LOCKS_EXCLUDED(mutex_);
  struct Orphans {
    std::vector<JobPtr> suspects;  // may have brought the device down
    std::vector<JobPtr> others;
  };
  // Whether a lost device has just ended its last task: then TellLossEnd must follow.
  bool EndLoss(size_t device) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellLossEnd(size_t device) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether one that is not on standby is healthy.
  bool HasFirstDevice() const;
  // What waits and is wanted leaves, unlaunched.
  void DispatchWhile(bool only_gathered) ABSL_LOCKS_EXCLUDED(mutex_);
  // They do not wait any more.
  void Leave(absl::Span<const JobPtr> jobs) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<JobPtr> TakeWaiting(const std::function<bool(const Job&)>& wanted, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What waits and was cut for the devices that served leaves: others do from now on.
  std::vector<JobPtr> TakeCut(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the jobs in flight on a device, in outline, and with them the right to answer.
  Orphans TakeFlights(size_t device, DeviceLoss cause) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes up when a queue's delay has passed; runs only if there is a delay.
  void WaitForDelays();

  size_t NumberOf(const Device& device) const;

  const DispatcherOptions options_;
  const std::vector<Device*> devices_;
  std::vector<int> metrics_numbers_;  // by device
  Metrics* const metrics_;
  Admission admission_;
  Quarantine quarantine_;

  mutable absl::Mutex mutex_;
  Scheduler scheduler_ ABSL_GUARDED_BY(mutex_);
  std::vector<DeviceClock> clocks_ ABSL_GUARDED_BY(mutex_);  // by device
  std::vector<Lane*> free_lanes_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::vector<Flight>> flights_ ABSL_GUARDED_BY(mutex_);  // by device, by lane
  std::vector<bool> lost_ ABSL_GUARDED_BY(mutex_);                    // by device
  std::vector<bool> loss_ended_ ABSL_GUARDED_BY(mutex_);              // likewise: that was told
  int telling_ ABSL_GUARDED_BY(mutex_) = 0;                           // calls of on_loss_end
  int pauses_ ABSL_GUARDED_BY(mutex_) = 0;  // no lane is started while there is one
  SteadyCondition lane_ended_;              // during a pause
  int64_t unanswered_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t gathered_ ABSL_GUARDED_BY(mutex_) = 0;  // jobs that wait for DispatchGathered
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  SteadyCondition queue_changed_;
  std::thread delay_thread_;                  // these two last: they end first
  std::unique_ptr<PeriodicThread> watchdog_;  // null: none
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_BATCHING_DISPATCHER_H_
