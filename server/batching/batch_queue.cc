#include "server/batching/batch_queue.h"

namespace baseband::server {

void BatchQueue::Add(JobPtr job, absl::Time now) {
  blocks_ += job->footprint.blocks;
  input_bytes_ += job->footprint.input_bytes;
  arrivals_.insert(now);
  const Key key(job->deadline, next_number_++);
  jobs_.emplace(key, Waiting{std::move(job), now});
}

BatchQueue::Taken BatchQueue::Take(absl::Time now) {
  Taken taken;
  if (NextWake() > now) {
    return taken;
  }
  Footprint sum;
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    const Job& job = *it->second.job;
    const bool cancelled = job.cancelled != nullptr && job.cancelled->load();
    const bool late = job.deadline <= now;
    if (!cancelled && !late) {
      const Footprint& more = job.footprint;
      const bool first = taken.batch.empty();
      if (!first && (static_cast<int64_t>(taken.batch.size()) >= limits_.max_requests ||
                     sum.blocks + more.blocks > limits_.max_blocks ||
                     sum.input_bytes + more.input_bytes > limits_.lane.input_bytes ||
                     sum.output_bytes + more.output_bytes > limits_.lane.output_bytes ||
                     sum.control_bytes + more.control_bytes > limits_.lane.control_bytes)) {
        break;
      }
      sum.blocks += more.blocks;
      sum.input_bytes += more.input_bytes;
      sum.output_bytes += more.output_bytes;
      sum.control_bytes += more.control_bytes;
    }
    blocks_ -= job.footprint.blocks;
    input_bytes_ -= job.footprint.input_bytes;
    arrivals_.erase(arrivals_.find(it->second.arrival));
    auto& target = cancelled ? taken.cancelled : late ? taken.late : taken.batch;
    target.push_back(std::move(it->second.job));
    it = jobs_.erase(it);
  }
  return taken;
}

bool BatchQueue::IsFull() const {
  return size() >= limits_.max_requests || blocks_ >= limits_.max_blocks ||
         input_bytes_ >= limits_.lane.input_bytes;
}

absl::Time BatchQueue::NextWake() const {
  if (jobs_.empty()) {
    return absl::InfiniteFuture();
  }
  if (limits_.max_queue_delay == absl::ZeroDuration() || IsFull()) {
    return absl::InfinitePast();
  }
  return OldestArrival() + limits_.max_queue_delay;
}

absl::Time BatchQueue::EarliestDeadline() const {
  return jobs_.empty() ? absl::InfiniteFuture() : jobs_.begin()->first.first;
}

absl::Time BatchQueue::OldestArrival() const {
  return arrivals_.empty() ? absl::InfiniteFuture() : *arrivals_.begin();
}

}  // namespace baseband::server
