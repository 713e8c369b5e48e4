#include "server/batching/dispatcher.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "kernels/base/spinning_lock.h"
#include "server/limits/retry_after.h"

namespace baseband::server {
namespace {

// To answer so many takes no longer than to describe and enqueue a batch ..
constexpr int64_t kFewAnswers = 4;
// .. and with so little in them much less: their device may be idle for so long.
constexpr int64_t kSmallAnswers = 64 << 10;

int64_t ReplyBytesOf(absl::Span<const JobPtr> jobs) {
  return std::accumulate(jobs.begin(), jobs.end(), int64_t{0},
                         [](int64_t sum, const JobPtr& job) { return sum + job->reply_bytes; });
}

int64_t CountRequests(absl::Span<const JobPtr> jobs) {
  return std::accumulate(jobs.begin(), jobs.end(), int64_t{0},
                         [](int64_t sum, const JobPtr& job) { return sum + job->requests; });
}

}  // namespace

Dispatcher::Dispatcher(const DispatcherOptions& options, absl::Span<Device* const> devices,
                       Metrics* metrics)
    : options_(options),
      devices_(devices.begin(), devices.end()),
      metrics_(metrics),
      admission_(options.queue_requests, options.queue_bytes),
      scheduler_(options.limits, options.low_share, options.share_weights),
      flights_(devices.size()),
      lost_(devices.size()),
      loss_ended_(devices.size()) {
  metrics_->SetQueueCapacity(options.queue_requests, options.queue_bytes);
  absl::MutexLock lock(&mutex_);
  for (Device* device : devices_) {
    metrics_numbers_.push_back(metrics_->AddDevice(device->id(), device->kind(), device->name(),
                                                   static_cast<int>(device->lanes().size())));
    int lanes[2] = {};  // [background]
    for (const std::unique_ptr<Lane>& lane : device->lanes()) {
      ++lanes[lane->background()];
      free_lanes_.push_back(lane.get());
      Flight flight;
      flight.lane = lane.get();
      flights_[clocks_.size()].push_back(std::move(flight));
    }
    clocks_.emplace_back(lanes[false], lanes[true]);
  }
  if (options.limits.max_queue_delay > absl::ZeroDuration()) {
    delay_thread_ = std::thread([this] { WaitForDelays(); });
  }
  if (options.watchdog > absl::ZeroDuration()) {
    watchdog_ =
        std::make_unique<PeriodicThread>(options.watchdog / kLooks, [this] { LookAtLanes(); });
  }
}

Dispatcher::~Dispatcher() {
  WaitUntilIdle();
  watchdog_.reset();
  {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](Dispatcher* self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->mutex_) {
          return self->AreLanesIdle() && self->telling_ == 0;
        },
        this));
    stopping_ = true;
    queue_changed_.NotifyAll();
  }
  if (delay_thread_.joinable()) {
    delay_thread_.join();
  }
}

void Dispatcher::DispatchWhile(bool only_gathered) {
  for (;;) {
    std::vector<std::pair<absl::Status, JobPtr>> dropped;
    Start start;
    {
      SpinningLock lock(&mutex_);
      if (only_gathered && gathered_ == 0) return;
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
  if (!scheduler_.HasFor(background)) return {};
  const absl::Time now = options_.clock();
  const Lanes lanes = FreeLanes(background);
  if (lanes.empty() && !HasHealthyDevice()) {  // all were lost while these jobs waited
    for (JobPtr& job : TakeWaiting([](const Job&) { return true; }, now)) {
      dropped->emplace_back(absl::UnavailableError("no device is healthy"), std::move(job));
    }
  }
  // Mostly the first one's: others come in where all that waits is bound to their devices.
  for (Lane* const lane : lanes) {
    DeviceClock& clock = clocks_[NumberOf(lane->device())];
    BatchQueue::Taken taken =
        scheduler_.Take(background, clock.lanes(background), now, PlaceOf(*lane));
    for (const auto* jobs : {&taken.batch, &taken.late, &taken.cancelled}) {
      Leave(*jobs);
      for (const JobPtr& job : *jobs) job->times.started = now;
    }
    for (JobPtr& job : taken.late) {
      dropped->emplace_back(
          absl::DeadlineExceededError("the deadline passed while the request waited for a lane"),
          std::move(job));
    }
    for (JobPtr& job : taken.cancelled) {
      dropped->emplace_back(absl::CancelledError("the client cancelled before the launch"),
                            std::move(job));
    }
    if (taken.batch.empty()) continue;
    clock.Start(lane->index(), background, scheduler_.CostOf(taken.batch), now);
    free_lanes_.erase(std::find(free_lanes_.begin(), free_lanes_.end(), lane));
    Flight& flight = FlightOn(*lane);
    flight.is_running = true;
    flight.looks = 0;
    for (const JobPtr& job : taken.batch) {
      job->times.lane = lane;
      flight.jobs.push_back(job.get());
    }
    return {lane, std::move(taken.batch)};
  }
  return {};
}

void Dispatcher::Leave(absl::Span<const JobPtr> jobs) {
  if (jobs.empty()) return;
  int64_t bytes = 0;
  for (const JobPtr& job : jobs) {
    bytes += job->queued_bytes();
    if (std::exchange(job->schedule.gathers, false)) --gathered_;
  }
  admission_.Leave(CountRequests(jobs), bytes);
}

void Dispatcher::StartBatch(Start start) {
  const absl::Time started = options_.clock();
  // The lane borrows the batch; EndBatch takes it back.
  Lane* const lane = start.lane;
  if (!lane->device().copies_payloads()) {
    for (const JobPtr& job : start.jobs) job->KeepInput();
  }
  Batch* const batch = options_.make_batch(std::move(start.jobs), lane->device()).release();
  lane->Start(batch, [this, lane, batch, started](absl::Status status, const StageTimes& stages) {
    EndBatch(lane, std::unique_ptr<Batch>(batch), std::move(status), stages, started);
  });
}

void Dispatcher::EndBatch(Lane* lane, std::unique_ptr<Batch> batch, absl::Status status,
                          const StageTimes& stages, absl::Time started) {
  if (status.ok()) status = batch->Finish();
  const size_t device = NumberOf(lane->device());
  if (!status.ok() && !lane->device().healthy()) {
    Lose(device, DeviceLoss::kError, std::string(status.message()));
  }
  std::vector<JobPtr> jobs = batch->TakeJobs();
  batch.reset();
  const size_t count = jobs.size();
  const int64_t requests = CountRequests(jobs);
  const absl::Time now = options_.clock();
  metrics_->AddLaneBusy(metrics_numbers_[device], lane->index(), now - started);
  DeviceClock::Taken taken;
  bool answered = false;
  bool loss_ended = false;
  bool answer_first = false;
  {
    SpinningLock lock(&mutex_);
    Flight& flight = FlightOn(*lane);
    answered = flight.jobs.empty();
    flight.is_running = false;
    flight.jobs.clear();
    taken = clocks_[device].End(lane->index(), now);
    scheduler_.Ended(jobs, taken, answered || !status.ok(), now);
    free_lanes_.push_back(lane);
    if (delay_thread_.joinable()) queue_changed_.NotifyAll();  // what waits has a lane now
    if (pauses_ > 0) lane_ended_.NotifyAll();
    loss_ended = EndLoss(device);
    if (answered && !loss_ended) return;  // by Lose; from here on the dispatcher may be gone
    answer_first =
        requests <= kFewAnswers && (clocks_[device].IsBusy(false) || clocks_[device].IsBusy(true) ||
                                    ReplyBytesOf(jobs) <= kSmallAnswers);
  }
  if (loss_ended) TellLossEnd(device);
  if (answered) return;  // likewise
  if (!answer_first) Dispatch();
  ObserveSchedule(jobs, taken.device_s, now);
  int64_t blocks = 0;
  for (const JobPtr& job : jobs) {
    blocks += job->footprint.blocks;
  }
  metrics_->ObserveBatch(jobs.front()->operation().rpc(), static_cast<int>(blocks),
                         static_cast<int>(requests));
  for (JobPtr& job : jobs) {
    job->times.ended = now;
    job->times.stages = stages;
    if (status.ok() && !job->is_cut()) quarantine_.Passed(*job);
    job->times.batch_blocks = blocks;
    job->times.batch_requests = requests;
    const bool is_cut = status.ok() && job->is_cut();
    Tell(is_cut ? absl::CancelledError("the client cancelled before the end") : status,
         std::move(job));
  }
  if (answer_first) Dispatch();
  SpinningLock lock(&mutex_);
  unanswered_ -= static_cast<int64_t>(count);  // likewise
}

void Dispatcher::ObserveSchedule(absl::Span<const JobPtr> jobs, double device_s, absl::Time now) {
  metrics_->AddDeviceTime(jobs.front()->caller.priority, device_s);
  for (auto job = jobs.begin(); job != jobs.end();) {  // mostly all of one client
    const std::string& client = (*job)->caller.client;
    double client_s = 0.0;
    for (; job != jobs.end() && (*job)->caller.client == client; ++job) {
      client_s += (*job)->schedule.device_s;
    }
    metrics_->AddClientTime(client, client_s);
  }
  for (const JobPtr& job : jobs) {
    if (job->schedule.trusted) {
      const double seconds = absl::ToDoubleSeconds(now - job->times.submitted);
      metrics_->ObservePrediction(job->caller.priority, seconds / job->schedule.finish_s);
    }
  }
}

void Dispatcher::Tell(absl::Status status, JobPtr job) {
  const Job::Done done = std::move(job->done);
  done(std::move(status), std::move(job));
}

void Dispatcher::Answer(absl::Status status, JobPtr job) {
  Tell(std::move(status), std::move(job));
  SpinningLock lock(&mutex_);
  --unanswered_;
}

void Dispatcher::WaitUntilIdle() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](Dispatcher* self)
           ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->mutex_) { return self->unanswered_ == 0; },
      this));
}

void Dispatcher::SampleGauges() const {
  metrics_->SetQueueBytes(admission_.usage().bytes);
  metrics_->SetQuarantined(quarantine_.CountRefused(options_.clock()));
  for (size_t i = 0; i < devices_.size(); ++i) {
    metrics_->SetDeviceHealthy(metrics_numbers_[i], devices_[i]->healthy());
    if (ObjectStore* const objects = devices_[i]->objects(); objects != nullptr) {
      const ObjectStore::Usage usage = objects->usage();
      metrics_->SetDeviceObjects(metrics_numbers_[i], usage.bytes, usage.objects, usage.dropped);
    }
  }
  absl::MutexLock lock(&mutex_);
  for (const auto& operation : options_.operations->all()) {
    metrics_->SetQueueRequests(operation->rpc(), scheduler_.Depth(operation->index()));
  }
  const absl::Time now = options_.clock();
  for (size_t i = 0; i < kPriorityNames.size(); ++i) {
    const auto priority = static_cast<Priority>(i);
    const absl::Time oldest = std::min(scheduler_.OldestArrival(priority), now);
    metrics_->SetQueueAge(priority, now - oldest);
  }
}

absl::Duration Dispatcher::RetryHint() const {
  SpinningLock lock(&mutex_);
  return std::clamp(scheduler_.Backlog(Load(options_.clock())), absl::Milliseconds(1),
                    absl::Seconds(1));
}

absl::Duration Dispatcher::RetryDelay(const absl::Status& refusal) const {
  const absl::Duration said = RetryAfter(refusal, absl::InfiniteDuration());
  return said == absl::InfiniteDuration() ? RetryHint() : said;  // which takes the lock
}

void Dispatcher::WaitForDelays() {
  absl::MutexLock lock(&mutex_);
  while (!stopping_) {
    const absl::Time now = options_.clock();
    absl::Time wake = absl::InfiniteFuture();
    bool ready = false;
    for (const bool background : {false, true}) {
      // What is ready while all lanes are busy leaves when one of them ends its batch.
      for (Lane* const lane : FreeLanes(background)) {
        const absl::Time next = scheduler_.NextWake(background, PlaceOf(*lane));
        ready |= next <= now;
        wake = std::min(wake, next);
      }
    }
    if (ready) {
      mutex_.Unlock();
      Dispatch();
      mutex_.Lock();
    } else {
      queue_changed_.WaitUntil(mutex_, SteadyNow() + (wake - now));
    }
  }
}

}  // namespace baseband::server
