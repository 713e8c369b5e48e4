#include "server/batching/scheduler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "server/jobs/operation.h"

namespace baseband::server {
namespace {

constexpr double kNoBudget = std::numeric_limits<double>::infinity();
// What low may be owed or have had in advance: a pause is not saved up for a burst.
constexpr double kMaxCredit = 0.1;

// A batch may have so much work, or as much as its latency lasts if that is more: by then a larger
// one makes the device hardly more efficient, and everybody in it wait for its end.
constexpr double kEnoughWork = 0.2e-3;
// Every so many batches one may have twice as much: whether its work or its latency takes the time
// shows only in batches of different sizes.
constexpr int kProbe = 8;

constexpr double kSlownessStep = 0.2;
constexpr double kMaxSlowness = 4.0;

}  // namespace

Scheduler::Scheduler(const BatchLimits& limits, double low_share, const ShareWeights& weights)
    : low_share_(low_share) {
  for (int i = 0; i < kNumPools; ++i) {
    Pool& pool = pools_.emplace_back(weights);
    for (size_t operation = 0; operation < kMaxOperations; ++operation) {
      pool.queues.emplace_back(limits);
    }
  }
}

Scheduler::PoolIndex Scheduler::PoolOf(Priority priority, bool background) {
  switch (priority) {
    case Priority::kHigh:
      return background ? kHighLong : kHigh;
    case Priority::kNormal:
      return background ? kNormalLong : kNormal;
    case Priority::kLow:
      break;
  }
  return kLow;
}

absl::Span<const Scheduler::PoolIndex> Scheduler::PoolsFor(bool background_lane) {
  static constexpr PoolIndex kPools[] = {kHigh, kNormal, kHighLong, kNormalLong, kLow};
  const absl::Span<const PoolIndex> pools(kPools);
  return background_lane ? pools.subspan(kHighLong) : pools.first(kHighLong);
}

void Scheduler::Predict(Job* job, const DeviceLoad& load, absl::Time now) const {
  job->work = Normalised(job->work);  // the only way in
  job->background |= costs_.AtSize(job->operation().index(), job->work, load.cores) >=
                     absl::ToDoubleSeconds(kLong);
  const PoolIndex index = PoolOf(*job);
  const bool background = IsBackground(*job);
  JobSchedule& schedule = job->schedule;
  const BatchCost cost = costs_.CostOf(background, job->operation().index(), job->work);
  schedule.cost_s = cost.work_s;
  schedule.alone_s = cost.alone_s();
  schedule.trusted = costs_.IsKnown(background, job->operation().index(), job->work, now);
  schedule.wait_s = WaitOf(index, job->operation().index(), job->caller.client, load);
  double alone_s = schedule.alone_s;
  if (background && load.is_busy) alone_s /= DeviceClock::kBackgroundShare;
  schedule.finish_s = schedule.wait_s * pools_[index].slowness + alone_s;
}

double Scheduler::WaitOf(PoolIndex index, int operation, const std::string& client,
                         const DeviceLoad& load) const {
  const bool background = index > kNormal;
  double before_s = 0.0;
  for (int i = background ? kHighLong : kHigh; i < index; ++i) {
    before_s += pools_[static_cast<size_t>(i)].share.backlog_s();
  }
  before_s += pools_[index].share.Before(client);
  // While the device has room, what runs takes nothing from what joins it, once there is a lane.
  const double until_free_s = load.until_free_s[background];
  const double wait_s =
      costs_.IsCrowded(background, operation)
          ? std::max((load.remaining_s[background] + before_s) / load.devices, until_free_s)
          : until_free_s + before_s / load.devices;
  return background && load.is_busy ? wait_s / DeviceClock::kBackgroundShare : wait_s;
}

double Scheduler::WaitOf(int operation, const std::string& client, Priority priority,
                         const DeviceLoad& load) const {
  const PoolIndex index = PoolOf(priority, /*background=*/false);
  return WaitOf(index, operation, client, load) * pools_[index].slowness;
}

bool Scheduler::KnowsCostOf(int operation, Priority priority, absl::Time now) const {
  return costs_.IsKnown(PoolOf(priority, /*background=*/false) > kNormal, operation, now);
}

void Scheduler::Add(JobPtr job, absl::Time now) {
  Pool& pool = pools_[PoolOf(*job)];
  job->schedule.account = pool.share.Add(job->caller.client, job->schedule.cost_s, now);
  const auto operation = static_cast<size_t>(job->operation().index());
  pool.queues[operation].Add(std::move(job), now);
}

BatchQueue::Taken Scheduler::Take(bool background_lane, int lanes, absl::Time now,
                                  const BatchPlace& place) {
  if (IsLowOwed()) {
    BatchQueue::Taken taken =
        TakeFrom(kLow, background_lane ? kNoBudget : low_credit_s_, lanes, now, place);
    if (!taken.empty()) return taken;
  }
  for (const PoolIndex index : PoolsFor(background_lane)) {
    BatchQueue::Taken taken = TakeFrom(index, kNoBudget, lanes, now, place);
    if (!taken.empty()) return taken;
  }
  return {};
}

BatchQueue::Taken Scheduler::TakeFrom(PoolIndex index, double budget_s, int lanes, absl::Time now,
                                      const BatchPlace& place) {
  Pool& pool = pools_[index];
  if (!pool.share.is_waiting()) return {};
  BatchTerms terms;
  terms.place = place;
  terms.budget_s = budget_s;
  terms.lanes = lanes;
  terms.horizon = pool.share.Horizon();
  terms.is_contended = pool.share.IsContended(now);
  absl::optional<BatchQueue::Rank> first;
  size_t next = 0;
  for (size_t i = 0; i < pool.queues.size(); ++i) {
    if (pool.queues[i].empty() || pool.queues[i].NextWake(place) > now) continue;
    const absl::optional<BatchQueue::Rank> rank = pool.queues[i].First(terms.horizon, place);
    if (rank.has_value() && (!first.has_value() || *rank < *first)) {
      first = rank;
      next = i;
    }
  }
  if (!first.has_value()) return {};
  const bool background = index > kNormal;
  const auto operation = static_cast<int>(next);
  terms.cost = costs_.CostOf(background, operation, Work());
  terms.enough_s = std::max(kEnoughWork, terms.cost.latency_s / 2);
  terms.growth = costs_.Growth(background, operation);
  if (++pool.batches % kProbe == 0) terms.growth *= 2.0;
  BatchQueue::Taken taken = pool.queues[next].Take(now, terms);
  for (const auto* jobs : {&taken.batch, &taken.late, &taken.cancelled}) {
    for (const JobPtr& job : *jobs) {
      pool.share.Start(job->schedule.account, job->schedule.cost_s, jobs == &taken.batch, now);
    }
  }
  if (index == kLow && !taken.batch.empty()) low_credit_s_ -= CostOf(taken.batch).alone_s();
  return taken;
}

bool Scheduler::HasFor(bool background_lane) const {
  const absl::Span<const PoolIndex> pools = PoolsFor(background_lane);
  return IsLowOwed() || std::any_of(pools.begin(), pools.end(), [this](PoolIndex index) {
           return pools_[index].share.is_waiting();
         });
}

BatchCost Scheduler::CostOf(absl::Span<const JobPtr> batch) const {
  const Job& first = *batch.front();
  BatchCost cost = costs_.CostOf(IsBackground(first), first.operation().index(), Work());
  for (const JobPtr& job : batch) cost.work_s += job->schedule.cost_s;
  return cost;
}

void Scheduler::Ended(absl::Span<const JobPtr> batch, const DeviceClock::Taken& taken, bool failed,
                      absl::Time now) {
  const Job& first = *batch.front();
  const PoolIndex index = PoolOf(first);
  Pool& pool = pools_[index];
  // As it was charged when the batch began: the latency may have been learned anew since, which
  // the bounds of the credit make good.
  const double cost_s = CostOf(batch).alone_s();
  const double device_s = taken.device_s;
  double jobs_s = 0.0;
  std::vector<Work> work;
  work.reserve(batch.size());
  for (const JobPtr& job : batch) {
    jobs_s += job->schedule.cost_s;
    // What was cut short says what the pieces take that ran.
    const double ran = job->is_cut() ? 1.0 - static_cast<double>(job->pieces_cut.load()) /
                                                 static_cast<double>(job->pieces)
                                     : 1.0;
    if (ran <= 0.0) continue;
    work.push_back(job->work);
    work.back().units *= ran;
  }
  for (const JobPtr& job : batch) {
    JobSchedule& schedule = job->schedule;
    const double part =
        jobs_s > 0.0 ? schedule.cost_s / jobs_s : 1.0 / static_cast<double>(batch.size());
    schedule.device_s = device_s * part;
    pool.share.Ended(schedule.account, schedule.cost_s, schedule.device_s, now);
    schedule.account = nullptr;
    const double waited_s = absl::ToDoubleSeconds(now - job->times.submitted) - schedule.alone_s;
    if (!failed && schedule.trusted && schedule.wait_s > schedule.alone_s / 2 && waited_s > 0.0) {
      const double error = std::log(waited_s / (schedule.wait_s * pool.slowness));
      pool.slowness *= std::exp(kSlownessStep / static_cast<double>(batch.size()) *
                                std::clamp(error, -1.0, 1.0));
      pool.slowness = std::clamp(pool.slowness, 1.0 / kMaxSlowness, kMaxSlowness);
    }
  }
  if (index == kLow) {
    low_credit_s_ += cost_s - device_s;
  } else {
    low_credit_s_ += device_s * low_share_ / (1.0 - low_share_);
  }
  low_credit_s_ =
      std::clamp(low_credit_s_, -kMaxCredit, pools_[kLow].share.is_waiting() ? kMaxCredit : 0.0);
  if (failed || work.empty()) return;
  costs_.Learn(index > kNormal, first.operation().index(), work, taken, now);
}

std::vector<JobPtr> Scheduler::TakeIf(const std::function<bool(const Job&)>& wanted,
                                      absl::Time now) {
  std::vector<JobPtr> taken;
  for (Pool& pool : pools_) {
    for (BatchQueue& queue : pool.queues) {
      for (JobPtr& job : queue.TakeIf(wanted)) {
        pool.share.Start(job->schedule.account, job->schedule.cost_s, /*launched=*/false, now);
        taken.push_back(std::move(job));
      }
    }
  }
  return taken;
}

absl::Time Scheduler::NextWake(bool background_lane, const BatchPlace& place) const {
  absl::Time wake = absl::InfiniteFuture();
  const auto look_at = [&](PoolIndex index) {
    for (const BatchQueue& queue : pools_[index].queues) {
      wake = std::min(wake, queue.NextWake(place));
    }
  };
  for (const PoolIndex index : PoolsFor(background_lane)) look_at(index);
  if (IsLowOwed()) look_at(kLow);
  return wake;
}

int64_t Scheduler::Depth(int operation) const {
  int64_t depth = 0;
  for (const Pool& pool : pools_) depth += pool.queues[static_cast<size_t>(operation)].requests();
  return depth;
}

absl::Time Scheduler::OldestArrival(Priority priority) const {
  static constexpr PoolIndex kPools[] = {kHigh, kNormal, kLow};  // by priority
  absl::Time oldest = absl::InfiniteFuture();
  for (const BatchQueue& queue : pools_[kPools[static_cast<size_t>(priority)]].queues) {
    oldest = std::min(oldest, queue.OldestArrival());
  }
  return oldest;
}

absl::Duration Scheduler::Backlog(const DeviceLoad& load) const {
  return absl::Seconds((load.remaining_s[false] + pools_[kHigh].share.backlog_s() +
                        pools_[kNormal].share.backlog_s()) /
                       load.devices);
}

}  // namespace baseband::server
