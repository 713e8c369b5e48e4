// One accepted request, from admission to its reply.
#ifndef BASEBAND_SERVER_JOBS_JOB_H_
#define BASEBAND_SERVER_JOBS_JOB_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kernels/base/work_steps.h"
#include "server/device/device.h"
#include "server/device/host_pool.h"
#include "server/device/object_store.h"
#include "server/device/payload.h"
#include "server/jobs/caller.h"
#include "server/jobs/request.h"
#include "server/metrics/metrics.h"

namespace baseband::server {

class Operation;  // operation.h

// What a job takes of a batch's room on a lane, at most. Offsets on a lane are 32 bits wide.
struct Footprint {
  int64_t input_bytes = 0;
  int64_t output_bytes = 0;
  int64_t control_bytes = 0;
  int64_t blocks = 0;
};

// How much there is to do: operations count their own units, of which jobs of one shape take the
// same time each, more or less. What that time is, the server learns (CostModel).
inline constexpr int kNumShapes = 32;
struct Work {
  // >= 0; what is none, absurd or no number at all is taken as Normalised (cost_model.h) says.
  double units = 0.0;
  int shape = 0;  // 0 .. kNumShapes - 1
  // Of a unit on one core, as a guess: what counts until a batch of its shape was seen.
  double guessed_unit_s = 1e-9;
};

struct FairAccount;  // fair_share.h

// What the scheduler notes of a job; nobody else's business.
struct JobSchedule {
  FairAccount* account = nullptr;
  double cost_s = 0.0;    // of a device, beside what any batch costs; predicted
  double alone_s = 0.0;   // to its end on an idle server; predicted
  double wait_s = 0.0;    // before that, without the correction; predicted
  double finish_s = 0.0;  // from now on, with it; predicted
  bool trusted = false;   // these come of recent experience
  double device_s = 0.0;  // its part of what its batch took of a device, once that has ended
  bool gathers = false;   // it waits, and who submitted it will call DispatchGathered
};

// When what happened, and with whom.
struct JobTimes {
  absl::Time arrived;    // the whole message was there
  absl::Time submitted;  // accepted, payload gathered
  absl::Time started;    // left the queue
  absl::Time ended;      // its batch has left the lane, or the device was lost
  StageTimes stages;     // of its batch
  Lane* lane = nullptr;  // that it ran on; null: on none
  int64_t batch_blocks = 0;
  int64_t batch_requests = 0;
};

// Base of the jobs of all operations; each adds its parameters and results. Owned by one thread at
// a time but for `cancelled`, and `pieces_cut` while a batch runs.
class Job {
 public:
  using Done = std::function<void(absl::Status, std::unique_ptr<Job>)>;

  // `operation` outlives it.
  explicit Job(const Operation& operation) : operation_(operation) {}
  virtual ~Job() = default;

  const Operation& operation() const { return operation_; }

  // One that asks for the same and has not been submitted; of a job that has not been either. Null:
  // it has to be made of its request again, for it holds what is large, or cannot be copied.
  virtual std::unique_ptr<Job> Copy() const { return nullptr; }
  // One that asks for the same so many times: its payload is those of as many copies, one after the
  // other, and Operation::ToReplies makes of it the replies of each. Null: there is none.
  virtual std::unique_ptr<Job> CopyJoined(int64_t copies) const {
    (void)copies;
    return nullptr;
  }

  // What it takes of the host's memory, however little its request had, as long as it is kept to be
  // copied: no less, and not much more.
  virtual int64_t kept_bytes() const {
    return 1024 + footprint.control_bytes + 64 * footprint.blocks;
  }

  // That it does the work of: more than one if it was made by CopyJoined.
  int64_t requests = 1;
  Footprint footprint;
  int64_t payload_bytes = 0;  // of the request
  // What goes before the payload in `input`: a stream's past. So many zeros, then memory of the
  // job's own.
  int64_t prefix_zeros = 0;
  absl::Span<const uint8_t> prefix;
  int64_t reply_bytes = 0;  // of the reply's payload; the size of `reply`
  // The reply has several fields: between them lies what nobody wrote.
  bool reply_has_gaps = false;

  // What it counts for in the queues: the larger of its two sides. A piece of a search brings
  // nothing, and has its memory of the search's.
  int64_t queued_bytes() const {
    return payload_bytes == 0 ? 0 : std::max(payload_bytes, reply_bytes);
  }

  // What it asks for, whatever its payload (fingerprint.h); 0: not known. By it the like of a
  // request that was there when a device faulted is told (quarantine.h).
  uint64_t fingerprint = 0;
  Work work;
  Caller caller;
  // The only one that it may run on, for what it uses is there; null: any.
  Device* device = nullptr;
  // What it uses on the device that it runs on.
  std::vector<ObjectPin> objects;
  // Binds the job to that of `devices` where what it uses is, if that is one. Called when `caller`
  // is known, before the job is admitted; again each time that is tried anew.
  virtual absl::Status Bind(absl::Span<Device* const> devices) {
    (void)devices;
    return absl::OkStatus();
  }
  // Finds or makes what it uses there. Called when it is admitted, last before it is submitted.
  virtual absl::Status Hold(absl::Span<Device* const> devices) {
    (void)devices;
    return absl::OkStatus();
  }
  // It was not submitted after all, or is answered: others may use what it held.
  virtual void LetGo() {}
  // Bytes that go before `input` on the device, and come from there.
  int64_t resident_bytes = 0;
  // A part of work that takes long, or long itself. It goes to lanes for background work, see
  // scheduler.h.
  bool background = false;
  // Earliest first among waiting jobs of a class.
  absl::Time deadline = absl::InfiniteFuture();
  // Set by the transport when nobody waits for the answer any more.
  std::shared_ptr<std::atomic<bool>> cancelled;
  bool is_cancelled() const { return cancelled != nullptr && cancelled->load(); }

  // The zeros, `prefix`, then the payload as it was on the wire, in memory that devices know.
  Payload input;
  HostLease staging;  // what of `input` lies in, where it was gathered
  // The host reads `input` too, once a GPU has: it may not be scattered.
  bool host_reads_input = false;
  // The reply's payload, as it will be on the wire. It may lie in the client's memory, where that
  // changes it at any time, unless reply_has_gaps: of what is read there nothing but its own bits
  // may depend.
  HostLease reply;
  ReplyPlace reply_place;        // where the client wants it
  bool reply_is_shared = false;  // `reply` is there

  // `lease`, whose bytes are in place, is the input.
  void SetInput(HostLease lease) {
    input = Payload({{lease.data(), lease.size(), lease.region()}});
    staging = std::move(lease);
  }
  void DropInput() {
    input = Payload();
    staging.Reset();
  }

  // Takes a copy of input that others may change, or that is scattered: for a device on standby,
  // which reads it as often as it likes. Who has no other gathers it before.
  void KeepInput();

  int64_t input_bytes() const {
    return prefix_zeros + static_cast<int64_t>(prefix.size()) + payload_bytes;
  }
  // Writes what goes before the payload to `target`, input_bytes() long, and returns where the
  // payload goes.
  uint8_t* WritePrefix(uint8_t* target) const {
    std::fill_n(target, prefix_zeros, uint8_t{0});
    return std::copy(prefix.begin(), prefix.end(), target + prefix_zeros);
  }

  // Its pieces in a batch on the CPU, which its batch counts, and those of them that were left out
  // or broken off because it was cancelled: it has no results then.
  int64_t pieces = 0;
  std::atomic<int64_t> pieces_cut{0};
  bool is_cut() const { return pieces_cut.load() > 0; }

  // Called exactly once for an accepted job, never under a lock. OK: with the job itself, its
  // results and `reply`. Otherwise nothing is known of those, and it may be an outline of the job:
  // a lost device may still write to the memory of the job, which stays as long as that does.
  // What a job points to is its own or shared with it: its call may be gone before it.
  Done done;
  JobTimes times;
  JobSchedule schedule;

  // A job of the same operation, requests, fingerprint, caller, deadline, footprint and times,
  // without `done`, memory and results.
  std::unique_ptr<Job> CloneMetadata() const {
    auto outline = std::make_unique<Job>(operation_);
    outline->requests = requests;
    outline->footprint = footprint;
    outline->fingerprint = fingerprint;
    outline->caller = caller;
    outline->deadline = deadline;
    outline->cancelled = cancelled;
    outline->reply_is_shared = reply_is_shared;
    outline->times = times;
    return outline;
  }

 private:
  const Operation& operation_;
};

using JobPtr = std::unique_ptr<Job>;

// Jobs of one operation that share a lane, and the work on them.
class Batch : public Task {
 public:
  explicit Batch(std::vector<JobPtr> jobs) : jobs_(std::move(jobs)) {}

  // After the task ended well: brings results to where the jobs' replies want them. Not OK: there
  // are none after all.
  virtual absl::Status Finish() = 0;

  bool is_wire_bound() const final {
    constexpr int64_t kLarge = 128 << 10;
    int64_t bytes = 0;
    for (const JobPtr& job : jobs()) {
      if (!job->input.is_shared()) bytes += job->input.bytes();
    }
    return bytes >= kLarge;
  }

  virtual absl::Span<const JobPtr> jobs() const { return jobs_; }
  virtual std::vector<JobPtr> TakeJobs() { return std::move(jobs_); }

 protected:
  // Runs `f`, all or a part of a piece of `job`, unless nobody waits for its answer any more.
  template <typename F>
  static void RunIfWanted(Job& job, F f) {
    if (!job.is_cancelled()) {
      const WantedScope wanted(job.cancelled.get());
      f();
    }
    if (job.is_cancelled()) job.pieces_cut.fetch_add(1);  // f may have ended early
  }

  std::vector<JobPtr> jobs_;
};

// Lays out `jobs`, at least one and all of one operation, whose footprints together fit a lane.
std::unique_ptr<Batch> MakeBatch(std::vector<JobPtr> jobs);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_JOBS_JOB_H_
