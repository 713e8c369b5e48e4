#include "server/batching/dispatcher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace baseband::server {
namespace {

absl::Status TooLarge(absl::string_view what, int64_t value, int64_t limit) {
  return absl::InvalidArgumentError(absl::StrCat("the request needs ", value, " bytes of ", what,
                                                 "; this server takes at most ", limit,
                                                 ": split the request"));
}

}  // namespace

Dispatcher::Dispatcher(const DispatcherOptions& options, absl::Span<Device* const> devices,
                       Metrics* metrics)
    : options_(options),
      devices_(devices.begin(), devices.end()),
      metrics_(metrics),
      admission_(options.queue_requests, options.queue_bytes) {
  metrics_->SetQueueCapacity(options.queue_requests, options.queue_bytes);
  absl::MutexLock lock(&mutex_);
  for (std::vector<BatchQueue>& queues : queues_) {
    for (int i = 0; i < kNumOperations; ++i) {
      queues.emplace_back(options.limits);
    }
  }
  for (Device* device : devices_) {
    metrics_numbers_.push_back(metrics_->AddDevice(device->id(), device->kind(), device->name(),
                                                   static_cast<int>(device->lanes().size())));
    for (const std::unique_ptr<Lane>& lane : device->lanes()) {
      free_lanes_.push_back(lane.get());
    }
  }
  if (options.limits.max_queue_delay > absl::ZeroDuration()) {
    delay_thread_ = std::thread([this] { WaitForDelays(); });
  }
}

Dispatcher::~Dispatcher() {
  WaitUntilIdle();
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    queue_changed_.SignalAll();
  }
  if (delay_thread_.joinable()) {
    delay_thread_.join();
  }
}

absl::StatusOr<AdmissionTicket> Dispatcher::Admit(int64_t payload_bytes) {
  return admission_.Enter(payload_bytes);
}

absl::Status Dispatcher::Submit(JobPtr& job, AdmissionTicket ticket) {
  const Footprint& footprint = job->footprint;
  const LaneCapacity& lane = options_.limits.lane;
  if (footprint.input_bytes > lane.input_bytes) {
    return TooLarge("input", footprint.input_bytes, lane.input_bytes);
  }
  if (footprint.output_bytes > lane.output_bytes) {
    return TooLarge("output", footprint.output_bytes, lane.output_bytes);
  }
  if (footprint.control_bytes > lane.control_bytes) {
    return TooLarge("code tables and descriptors", footprint.control_bytes, lane.control_bytes);
  }
  if (!HasHealthyDevice()) {
    return absl::UnavailableError("no device is healthy");
  }
  ticket.HandOn();
  const absl::Time now = absl::Now();
  job->times.submitted = now;
  {
    absl::MutexLock lock(&mutex_);
    ++unanswered_;
    queues_[job->background][static_cast<size_t>(job->operation())].Add(std::move(job), now);
    queue_changed_.Signal();
  }
  Dispatch();
  return absl::OkStatus();
}

void Dispatcher::Dispatch() {
  for (;;) {
    std::vector<std::pair<absl::Status, JobPtr>> dropped;
    Start start;
    {
      absl::MutexLock lock(&mutex_);
      start = Next(/*background=*/false, &dropped);
      if (start.lane == nullptr && dropped.empty()) {
        start = Next(/*background=*/true, &dropped);
      }
    }
    for (auto& [status, job] : dropped) {
      Answer(std::move(status), std::move(job));
    }
    if (start.lane != nullptr) {
      StartBatch(std::move(start));
    } else if (dropped.empty()) {
      return;
    }
  }
}

Dispatcher::Start Dispatcher::Next(bool background,
                                   std::vector<std::pair<absl::Status, JobPtr>>* dropped) {
  const absl::Time now = absl::Now();
  // The queue whose first job is due first; among equals the one that waits longest.
  BatchQueue* next = nullptr;
  for (BatchQueue& queue : queues_[background]) {
    if (queue.NextWake() <= now &&
        (next == nullptr || std::make_pair(queue.EarliestDeadline(), queue.OldestArrival()) <
                                std::make_pair(next->EarliestDeadline(), next->OldestArrival()))) {
      next = &queue;
    }
  }
  if (next == nullptr) {
    return {};
  }
  Lane* const lane = FreeLane(background);
  if (lane == nullptr) {
    if (HasHealthyDevice()) {
      return {};
    }
    // All devices were lost while these jobs waited.
    for (BatchQueue::Taken taken = next->Take(now); !taken.batch.empty(); taken = next->Take(now)) {
      for (JobPtr& job : taken.batch) {
        admission_.Leave(job->payload_bytes);
        dropped->emplace_back(absl::UnavailableError("no device is healthy"), std::move(job));
      }
    }
    return {};
  }
  BatchQueue::Taken taken = next->Take(now);
  for (const auto* jobs : {&taken.batch, &taken.late, &taken.cancelled}) {
    for (const JobPtr& job : *jobs) {
      admission_.Leave(job->payload_bytes);
      job->times.started = now;
    }
  }
  for (JobPtr& job : taken.late) {
    metrics_->CountDropped(RpcOf(job->operation()), DropCause::kDeadline);
    dropped->emplace_back(
        absl::DeadlineExceededError("the deadline passed while the request waited for a lane"),
        std::move(job));
  }
  for (JobPtr& job : taken.cancelled) {
    metrics_->CountDropped(RpcOf(job->operation()), DropCause::kCancelled);
    dropped->emplace_back(absl::CancelledError("the client cancelled before the launch"),
                          std::move(job));
  }
  if (taken.batch.empty()) {
    return {};
  }
  if (!background)
    recent_wait_ = (recent_wait_ * 7 + (now - taken.batch.front()->times.submitted)) / 8;
  free_lanes_.erase(std::find(free_lanes_.begin(), free_lanes_.end(), lane));
  return {lane, std::move(taken.batch)};
}

// The free lane of its kind of the healthy device with the most of them, so that devices share the
// work; of its lanes the one that was busy last, whose thread may not have gone to sleep yet.
Lane* Dispatcher::FreeLane(bool background) {
  Lane* best = nullptr;
  int64_t most = 0;
  for (auto it = free_lanes_.rbegin(); it != free_lanes_.rend(); ++it) {
    Lane* const lane = *it;
    if (lane->background() != background || !lane->device().healthy()) {
      continue;
    }
    const int64_t free = std::count_if(free_lanes_.begin(), free_lanes_.end(), [&](Lane* other) {
      return &other->device() == &lane->device() && other->background() == background;
    });
    if (free > most) {
      most = free;
      best = lane;
    }
  }
  return best;
}

void Dispatcher::StartBatch(Start start) {
  const absl::Time started = absl::Now();
  // The lane borrows the batch; EndBatch takes it back.
  Batch* const batch = MakeBatch(std::move(start.jobs)).release();
  Lane* const lane = start.lane;
  lane->Start(batch, [this, lane, batch, started](absl::Status status, const StageTimes& stages) {
    EndBatch(lane, std::unique_ptr<Batch>(batch), std::move(status), stages, started);
  });
}

void Dispatcher::EndBatch(Lane* lane, std::unique_ptr<Batch> batch, absl::Status status,
                          const StageTimes& stages, absl::Time started) {
  if (status.ok()) {
    batch->Finish();
  } else if (!lane->device().healthy()) {
    status =
        absl::UnavailableError(absl::StrCat(lane->device().id(), " was lost: ", status.message()));
  }
  std::vector<JobPtr> jobs = batch->TakeJobs();
  batch.reset();
  metrics_->AddLaneBusy(MetricsNumber(lane->device()), lane->index(), absl::Now() - started);
  {
    absl::MutexLock lock(&mutex_);
    free_lanes_.push_back(lane);
  }
  Dispatch();
  int64_t blocks = 0;
  for (const JobPtr& job : jobs) {
    blocks += job->footprint.blocks;
  }
  const auto requests = static_cast<int64_t>(jobs.size());
  metrics_->ObserveBatch(RpcOf(jobs.front()->operation()), static_cast<int>(blocks),
                         static_cast<int>(requests));
  for (JobPtr& job : jobs) {
    job->times.stages = stages;
    job->times.batch_blocks = blocks;
    job->times.batch_requests = requests;
    Answer(status, std::move(job));
  }
}

void Dispatcher::Answer(absl::Status status, JobPtr job) {
  const Job::Done done = std::move(job->done);
  done(std::move(status), std::move(job));
  absl::MutexLock lock(&mutex_);
  --unanswered_;
}

void Dispatcher::WaitUntilIdle() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](Dispatcher* self)
           ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->mutex_) { return self->unanswered_ == 0; },
      this));
}

int Dispatcher::MetricsNumber(const Device& device) const {
  const auto found = std::find(devices_.begin(), devices_.end(), &device);
  return metrics_numbers_[static_cast<size_t>(found - devices_.begin())];
}

void Dispatcher::SampleGauges() const {
  metrics_->SetQueueBytes(admission_.usage().bytes);
  for (const Device* device : devices_) {
    metrics_->SetDeviceHealthy(MetricsNumber(*device), device->healthy());
  }
  absl::MutexLock lock(&mutex_);
  for (size_t i = 0; i < kNumOperations; ++i) {
    metrics_->SetQueueDepth(RpcOf(static_cast<OperationKind>(i)),
                            queues_[false][i].size() + queues_[true][i].size());
  }
}

bool Dispatcher::HasHealthyDevice() const {
  return std::any_of(devices_.begin(), devices_.end(),
                     [](const Device* device) { return device->healthy(); });
}

absl::Duration Dispatcher::RetryHint() const {
  absl::MutexLock lock(&mutex_);
  return std::clamp(recent_wait_, absl::Milliseconds(1), absl::Seconds(1));
}

void Dispatcher::WaitForDelays() {
  absl::MutexLock lock(&mutex_);
  while (!stopping_) {
    const absl::Time now = absl::Now();
    absl::Time wake = absl::InfiniteFuture();
    bool ready = false;
    for (const bool background : {false, true}) {
      // What is ready while all lanes are busy leaves when one of them ends its batch.
      const bool has_lane = FreeLane(background) != nullptr;
      for (const BatchQueue& queue : queues_[background]) {
        const absl::Time next = queue.NextWake();
        ready |= has_lane && next <= now;
        if (next > now) {
          wake = std::min(wake, next);
        }
      }
    }
    if (ready) {
      mutex_.Unlock();
      Dispatch();
      mutex_.Lock();
    } else {
      queue_changed_.WaitWithDeadline(&mutex_, wake);
    }
  }
}

}  // namespace baseband::server
