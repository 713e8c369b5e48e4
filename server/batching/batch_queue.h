// Decides which jobs of one operation leave together, and when.
#ifndef BASEBAND_SERVER_BATCHING_BATCH_QUEUE_H_
#define BASEBAND_SERVER_BATCHING_BATCH_QUEUE_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/operations/job.h"

namespace baseband::server {

// How large a batch may become. A single job may exceed `max_blocks`.
struct BatchLimits {
  LaneCapacity lane;
  int64_t max_blocks = 0;
  int64_t max_requests = 0;
  // How long the oldest waiting job waits for company while a lane is free; 0: not at all.
  absl::Duration max_queue_delay = absl::ZeroDuration();
};

// Pure: no thread, no clock, no lock, no device; the caller says what time it is, and holds the
// lock. Bounded by its caller, which admits what it adds.
class BatchQueue {
 public:
  explicit BatchQueue(const BatchLimits& limits) : limits_(limits) {}

  // What one call of Take removed from the queue.
  struct Taken {
    std::vector<JobPtr> batch;      // to be launched
    std::vector<JobPtr> late;       // their deadline has passed
    std::vector<JobPtr> cancelled;  // nobody waits for them
  };

  void Add(JobPtr job, absl::Time now);

  // The next batch for a lane that is free at `now`: earliest deadline first, then first come,
  // up to the limits; empty if nothing waits, or waits too short. Late and cancelled jobs that it
  // meets leave the queue unlaunched.
  Taken Take(absl::Time now);

  // When Take may next have something: InfinitePast once a batch is full or old enough,
  // InfiniteFuture while the queue is empty.
  absl::Time NextWake() const;

  // The first job to leave has this deadline; InfiniteFuture while the queue is empty.
  absl::Time EarliestDeadline() const;
  // The longest waiting job came then; InfiniteFuture while the queue is empty.
  absl::Time OldestArrival() const;

  bool empty() const { return jobs_.empty(); }
  int64_t size() const { return static_cast<int64_t>(jobs_.size()); }

 private:
  using Key = std::pair<absl::Time, uint64_t>;  // deadline, order of arrival
  struct Waiting {
    JobPtr job;
    absl::Time arrival;
  };

  bool IsFull() const;

  const BatchLimits limits_;
  uint64_t next_number_ = 0;
  std::map<Key, Waiting> jobs_;
  std::multiset<absl::Time> arrivals_;
  int64_t blocks_ = 0;
  int64_t input_bytes_ = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_BATCHING_BATCH_QUEUE_H_
