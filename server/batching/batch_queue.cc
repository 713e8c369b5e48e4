#include "server/batching/batch_queue.h"

#include <algorithm>
#include <queue>

namespace baseband::server {
namespace {

// A batch under contention may take so much longer than it should.
constexpr double kCaution = 1.25;

}  // namespace

void BatchQueue::Add(JobPtr job, absl::Time now) {
  requests_ += job->requests;
  blocks_ += job->footprint.blocks;
  input_bytes_ += job->footprint.input_bytes;
  const Key key(job->deadline, next_number_++);
  const Line line(job->schedule.account, job->device);
  Waiting& added = lines_[line].emplace(key, Waiting{std::move(job), now, youngest_}).first->second;
  (youngest_ != nullptr ? youngest_->after : oldest_) = &added;
  youngest_ = &added;
}

BatchQueue::Rank BatchQueue::RankOf(const Jobs& jobs, double horizon) {
  const auto& [key, waiting] = *jobs.begin();
  const FairAccount* const account = waiting.job->schedule.account;
  return {account != nullptr && account->virtual_s > horizon, key.first, waiting.arrival,
          key.second};
}

JobPtr BatchQueue::Remove(Jobs* jobs, Jobs::iterator place) {
  JobPtr job = std::move(place->second.job);
  requests_ -= job->requests;
  blocks_ -= job->footprint.blocks;
  input_bytes_ -= job->footprint.input_bytes;
  Waiting* const before = place->second.before;
  Waiting* const after = place->second.after;
  (before != nullptr ? before->after : oldest_) = after;
  (after != nullptr ? after->before : youngest_) = before;
  jobs->erase(place);
  return job;
}

bool BatchQueue::Fits(const Footprint& sum, int64_t requests, const Job& job) const {
  const Footprint& more = job.footprint;
  return requests + job.requests <= limits_.max_requests &&
         sum.blocks + more.blocks <= limits_.max_blocks &&
         sum.input_bytes + more.input_bytes <= limits_.lane.input_bytes &&
         sum.output_bytes + more.output_bytes <= limits_.lane.output_bytes &&
         sum.control_bytes + more.control_bytes <= limits_.lane.control_bytes;
}

BatchQueue::Taken BatchQueue::Take(absl::Time now, const BatchTerms& terms) {
  Taken taken;
  if (NextWake(terms.place) > now) {
    return taken;
  }
  struct Head {
    Rank rank;
    std::map<Line, Jobs>::iterator line;
  };
  const auto after = [](const Head& a, const Head& b) { return b.rank < a.rank; };
  std::priority_queue<Head, std::vector<Head>, decltype(after)> heads(after);
  for (auto line = lines_.begin(); line != lines_.end(); ++line) {
    if (terms.place.Takes(line->first.second)) {
      heads.push({RankOf(line->second, terms.horizon), line});
    }
  }
  Footprint sum;
  int64_t requests = 0;
  BatchCost cost = terms.cost;
  double most_work_s = terms.budget_s - cost.latency_s;
  absl::Time earliest = absl::InfiniteFuture();
  while (!heads.empty()) {
    const Head head = heads.top();
    heads.pop();
    Jobs* const jobs = &head.line->second;
    const Rank rank = RankOf(*jobs, terms.horizon);
    if (head.rank < rank) {  // its client got ahead by another line meanwhile
      heads.push({rank, head.line});
      continue;
    }
    const Job& job = *jobs->begin()->second.job;
    FairAccount* const account = job.schedule.account;
    const bool cancelled = job.is_cancelled();
    // Half of what it should take counts: a prediction may be wrong, and one that is not leaves
    // time.
    BatchCost own = terms.cost;
    own.work_s = job.schedule.cost_s;
    const bool hopeless = job.schedule.trusted && job.deadline < absl::InfiniteFuture() &&
                          job.deadline < now + absl::Seconds(own.alone_s() / 2);
    const bool late = job.deadline <= now || hopeless;
    if (!cancelled && !late) {
      const double more_s = job.schedule.cost_s;
      if (!taken.batch.empty()) {
        const auto makes_it = [&](const BatchCost& whole) {
          return earliest == absl::InfiniteFuture() ||
                 now + absl::Seconds(kCaution * whole.beside_s(terms.lanes)) <= earliest;
        };
        BatchCost more = cost;
        more.work_s += more_s;
        if ((rank.ahead && terms.is_contended) || more.work_s > most_work_s ||
            (makes_it(cost) && !makes_it(more)) || !Fits(sum, requests, job)) {
          break;
        }
      } else {
        most_work_s = std::min(most_work_s, terms.growth * std::max(terms.enough_s, more_s));
      }
      requests += job.requests;
      sum.blocks += job.footprint.blocks;
      sum.input_bytes += job.footprint.input_bytes;
      sum.output_bytes += job.footprint.output_bytes;
      sum.control_bytes += job.footprint.control_bytes;
      cost.work_s += more_s;
      earliest = std::min(earliest, job.deadline);
      if (account != nullptr) account->Charge(more_s);
    }
    (cancelled ? taken.cancelled
     : late    ? taken.late
               : taken.batch)
        .push_back(Remove(jobs, jobs->begin()));
    if (jobs->empty()) {
      lines_.erase(head.line);
    } else {
      heads.push({RankOf(*jobs, terms.horizon), head.line});
    }
  }
  return taken;
}

std::vector<JobPtr> BatchQueue::TakeIf(const std::function<bool(const Job&)>& wanted) {
  std::vector<JobPtr> taken;
  for (auto line = lines_.begin(); line != lines_.end();) {
    Jobs& jobs = line->second;
    for (auto it = jobs.begin(); it != jobs.end();) {
      const auto job = it++;
      if (wanted(*job->second.job)) taken.push_back(Remove(&jobs, job));
    }
    line = jobs.empty() ? lines_.erase(line) : std::next(line);
  }
  return taken;
}

bool BatchQueue::IsFull() const {
  return requests_ >= limits_.max_requests || blocks_ >= limits_.max_blocks ||
         input_bytes_ >= limits_.lane.input_bytes;
}

bool BatchQueue::HasFor(const BatchPlace& place) const {
  return std::any_of(lines_.begin(), lines_.end(),
                     [&](const auto& line) { return place.Takes(line.first.second); });
}

absl::Time BatchQueue::NextWake(const BatchPlace& place) const {
  if (!HasFor(place)) {
    return absl::InfiniteFuture();
  }
  if (limits_.max_queue_delay == absl::ZeroDuration() || IsFull()) {
    return absl::InfinitePast();
  }
  return OldestArrival() + limits_.max_queue_delay;
}

absl::optional<BatchQueue::Rank> BatchQueue::First(double horizon, const BatchPlace& place) const {
  absl::optional<Rank> first;
  for (const auto& [line, jobs] : lines_) {
    if (!place.Takes(line.second)) continue;
    const Rank rank = RankOf(jobs, horizon);
    if (!first.has_value() || rank < *first) first = rank;
  }
  return first;
}

}  // namespace baseband::server
