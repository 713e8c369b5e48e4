// Whose turn it is: classes, clients, deadlines, and how long it will take.
//
// 1. Two kinds of work never wait for each other's lanes. Background work is all of class low, the
//    pieces of long searches (Job::background), and each request that should take kLong or more by
//    itself; it goes to the lanes for it, which give way to the others (device.h). So no long work,
//    whatever its class, holds the lanes of the rest.
// 2. On both kinds of lane high goes before normal, and normal before low: strictly, but for
// 3. the low share: while low has work waiting and has had less than its part of the device time
//    that has passed meanwhile, it goes first, on any lane, in batches no larger than what it is
//    owed (one job at least).
// 4. Inside a class the clients share, and the earliest deadline goes first: fair_share.h. Long
//    searches of a class share apart from its other work.
// 5. A batch ends when more in it would hardly make the device more efficient: everybody in it
//    waits for its end.
#ifndef BASEBAND_SERVER_BATCHING_SCHEDULER_H_
#define BASEBAND_SERVER_BATCHING_SCHEDULER_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/batching/batch_queue.h"
#include "server/batching/cost_model.h"
#include "server/batching/device_clock.h"
#include "server/batching/fair_share.h"

namespace baseband::server {

inline constexpr absl::Duration kLong = absl::Milliseconds(500);

// The devices as a whole, now.
struct DeviceLoad {
  // Of the largest, where guesses are of what its cores take (Work); GPUs count as no end of them.
  double cores = std::numeric_limits<double>::infinity();
  int devices = 1;                       // healthy ones, 1 at least
  bool is_busy = false;                  // with other than background work
  std::array<double, 2> remaining_s{};   // [background] device seconds of what runs
  std::array<double, 2> until_free_s{};  // [background] seconds until a lane should be free
};

// Pure: no thread, no clock, no lock, no device. Not thread-safe.
class Scheduler {
 public:
  // `low_share` in [0, 1): the part of the device time that low gets at least while it has work.
  Scheduler(const BatchLimits& limits, double low_share, const ShareWeights& weights = {});

  // Normalises job->work, makes what is long background work, and fills job->schedule: what `job`
  // costs, and when it would end if it were added now.
  void Predict(Job* job, const DeviceLoad& load, absl::Time now) const;
  // Seconds until a request of that operation, client and class, of which no more is known, would
  // leave its queue if it were added now: it is no background work, but for its class. Whether that
  // is more than a guess.
  double WaitOf(int operation, const std::string& client, Priority priority,
                const DeviceLoad& load) const;
  bool KnowsCostOf(int operation, Priority priority, absl::Time now) const;
  // `job`, with a prediction, waits from `now` on.
  void Add(JobPtr job, absl::Time now);

  // What a free lane of that kind, one of `lanes` of its device, does next; see BatchQueue::Take.
  // All of one operation and class.
  BatchQueue::Taken Take(bool background_lane, int lanes, absl::Time now,
                         const BatchPlace& place = BatchPlace());
  // Whether Take could have something for such a lane, wherever it is.
  bool HasFor(bool background_lane) const;
  // What a batch should take.
  BatchCost CostOf(absl::Span<const JobPtr> batch) const;
  // A batch that Take gave has ended; unless it failed, what it took is learned from.
  void Ended(absl::Span<const JobPtr> batch, const DeviceClock::Taken& taken, bool failed,
             absl::Time now);
  // Other devices work from now on: what was learned says nothing of them.
  void ForgetCosts() { costs_ = CostModel(); }
  // All that waits and is `wanted` leaves, unlaunched.
  std::vector<JobPtr> TakeIf(const std::function<bool(const Job&)>& wanted, absl::Time now);

  // When Take may next have something for such a lane.
  absl::Time NextWake(bool background_lane, const BatchPlace& place = BatchPlace()) const;
  // Jobs that wait.
  int64_t Depth(int operation) const;
  // Since when the job of that class waits that came first; InfiniteFuture if none does. Pieces of
  // long searches of high and normal, which are meant to wait for all other work, do not count.
  absl::Time OldestArrival(Priority priority) const;
  // How long what waits for the lanes of the rest will take; for hints.
  absl::Duration Backlog(const DeviceLoad& load) const;

 private:
  // What shares lanes, a class and its clients' accounts, the most urgent first on each kind.
  enum PoolIndex { kHigh, kNormal, kHighLong, kNormalLong, kLow, kNumPools };
  struct Pool {
    explicit Pool(const ShareWeights& weights) : share(weights) {}
    std::vector<BatchQueue> queues;  // by operation's index
    FairShare share;
    // Of waits, over what was predicted: more comes that goes before or along.
    double slowness = 1.0;
    uint32_t batches = 0;  // taken
  };

  static PoolIndex PoolOf(Priority priority, bool background);
  static PoolIndex PoolOf(const Job& job) { return PoolOf(job.caller.priority, job.background); }
  static bool IsBackground(const Job& job) { return PoolOf(job) > kNormal; }
  // The same as the public one; what the pool's waits take over what is predicted does not count.
  double WaitOf(PoolIndex index, int operation, const std::string& client,
                const DeviceLoad& load) const;
  static absl::Span<const PoolIndex> PoolsFor(bool background_lane);
  bool IsLowOwed() const { return low_credit_s_ > 0.0 && pools_[kLow].share.is_waiting(); }
  BatchQueue::Taken TakeFrom(PoolIndex index, double budget_s, int lanes, absl::Time now,
                             const BatchPlace& place);

  const double low_share_;
  CostModel costs_;
  std::deque<Pool> pools_;     // by PoolIndex
  double low_credit_s_ = 0.0;  // device time that low is owed; negative: has had in advance
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_BATCHING_SCHEDULER_H_
