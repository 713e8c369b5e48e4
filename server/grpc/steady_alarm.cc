#include "server/grpc/steady_alarm.h"

#include <grpc/support/time.h>

#include <algorithm>

#include "kernels/base/steady_time.h"

namespace baseband::server {

SteadyTimer::SteadyTimer() : thread_([this] { Run(); }) {}

SteadyTimer::~SteadyTimer() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void SteadyTimer::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const absl::Duration left = waiting_.begin()->first - SteadyNow();
    if (left > absl::ZeroDuration()) {
      changed_.wait_for(lock, absl::ToChronoNanoseconds(std::min(left, absl::Hours(1))));
      continue;
    }
    waiting_.begin()->second->Ring();
  }
}

void SteadyAlarm::Set(grpc::CompletionQueue* queue, absl::Time when, void* tag) {
  const std::lock_guard<std::mutex> lock(timer_.mutex_);
  queue_ = queue;
  tag_ = tag;
  place_ = timer_.waiting_.emplace(when, this);
  waits_ = true;
  if (place_ == timer_.waiting_.begin()) timer_.changed_.notify_one();
}

void SteadyAlarm::Ring() {
  timer_.waiting_.erase(place_);
  waits_ = false;
  event_.Set(queue_, gpr_time_0(GPR_CLOCK_MONOTONIC), tag_);
}

void SteadyAlarm::Cancel() {
  const std::lock_guard<std::mutex> lock(timer_.mutex_);
  if (!waits_) return;
  timer_.waiting_.erase(place_);
  waits_ = false;
  event_.Set(queue_, gpr_inf_future(GPR_CLOCK_MONOTONIC), tag_);
  event_.Cancel();
}

}  // namespace baseband::server
