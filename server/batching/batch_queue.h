// Decides which jobs of one operation and class leave together, and when.
#ifndef BASEBAND_SERVER_BATCHING_BATCH_QUEUE_H_
#define BASEBAND_SERVER_BATCHING_BATCH_QUEUE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "server/batching/device_clock.h"
#include "server/batching/fair_share.h"
#include "server/jobs/job.h"

namespace baseband::server {

// How large a batch may become. A single job may exceed `max_blocks` and `max_requests`.
struct BatchLimits {
  LaneCapacity lane;
  int64_t max_blocks = 0;
  int64_t max_requests = 0;
  // How long the oldest waiting job waits for more while a lane is free; 0: not at all.
  absl::Duration max_queue_delay = absl::ZeroDuration();
};

// Where a batch is to run.
struct BatchPlace {
  const Device* device = nullptr;  // what is bound to another one stays (Job::device)
  bool bound_only = false;         // the device serves nobody else
  bool Takes(const Device* bound) const { return bound == nullptr ? !bound_only : bound == device; }
};

// What else a batch keeps to.
struct BatchTerms {
  BatchPlace place;
  double horizon = std::numeric_limits<double>::infinity();  // FairShare::Horizon()
  bool is_contended = false;                                 // FairShare::IsContended()
  BatchCost cost;                                            // of one without jobs
  int lanes = 1;                                             // that share the device with it
  // Ends it once it takes so much; the first job may be more.
  double budget_s = std::numeric_limits<double>::infinity();
  // Ends it once its jobs take `growth` times so much, or as much as the first one takes.
  double enough_s = std::numeric_limits<double>::infinity();
  double growth = 1.0;
};

// Pure: no thread, no clock, no lock, no device; the caller says what time it is, and holds the
// lock. Bounded by its caller, which admits what it adds.
class BatchQueue {
 public:
  explicit BatchQueue(const BatchLimits& limits) : limits_(limits) {}

  // What one call of Take removed from the queue.
  struct Taken {
    std::vector<JobPtr> batch;      // to be launched
    std::vector<JobPtr> late;       // their deadline has passed, or will long before they are done
    std::vector<JobPtr> cancelled;  // nobody waits for them
    bool empty() const { return batch.empty() && late.empty() && cancelled.empty(); }
  };

  // By what jobs are ordered: least first.
  struct Rank {
    bool ahead;  // its client exceeds its share
    absl::Time deadline;
    absl::Time arrival;
    uint64_t number;
    bool operator<(const Rank& other) const {
      return std::tie(ahead, deadline, arrival, number) <
             std::tie(other.ahead, other.deadline, other.arrival, other.number);
    }
  };

  // Reads job->schedule's account (null: one that is never ahead) and cost.
  void Add(JobPtr job, absl::Time now);

  // The next batch for a lane that is free at `now`: by rank, up to the limits; empty if nothing
  // waits, or waits too short. A job by which one before it in the batch would become late is left
  // for the next, and so is, under contention, whatever else a client ahead of it has. Late
  // and cancelled jobs that it meets leave the queue unlaunched.
  Taken Take(absl::Time now, const BatchTerms& terms = BatchTerms());
  // Whatever waits that is `wanted`.
  std::vector<JobPtr> TakeIf(const std::function<bool(const Job&)>& wanted);

  // When Take may next have something: InfinitePast once a batch is full or old enough,
  // InfiniteFuture while nothing waits that may run there.
  absl::Time NextWake(const BatchPlace& place = BatchPlace()) const;

  // Since when the job waits that was added first; InfiniteFuture while the queue is empty.
  absl::Time OldestArrival() const {
    return oldest_ == nullptr ? absl::InfiniteFuture() : oldest_->arrival;
  }

  // Of the job that leaves first for that place; none while nothing waits that may run there.
  absl::optional<Rank> First(double horizon, const BatchPlace& place = BatchPlace()) const;

  bool empty() const { return oldest_ == nullptr; }
  int64_t requests() const { return requests_; }  // that wait

 private:
  using Key = std::pair<absl::Time, uint64_t>;  // deadline, order of arrival
  struct Waiting {
    JobPtr job;
    absl::Time arrival;
    Waiting* before = nullptr;  // who was added last before it, and first after it, and waits too
    Waiting* after = nullptr;
  };
  using Jobs = std::map<Key, Waiting>;
  // Of one client, and of those that are bound to the same device.
  using Line = std::pair<FairAccount*, const Device*>;

  bool IsFull() const;
  bool HasFor(const BatchPlace& place) const;
  bool Fits(const Footprint& sum, int64_t requests, const Job& job) const;
  static Rank RankOf(const Jobs& jobs, double horizon);
  JobPtr Remove(Jobs* jobs, Jobs::iterator job);

  const BatchLimits limits_;
  uint64_t next_number_ = 0;
  std::map<Line, Jobs> lines_;  // none empty
  // The ends of the chain of all in lines_, by when they were added.
  Waiting* oldest_ = nullptr;
  Waiting* youngest_ = nullptr;
  int64_t requests_ = 0;
  int64_t blocks_ = 0;
  int64_t input_bytes_ = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_BATCHING_BATCH_QUEUE_H_
