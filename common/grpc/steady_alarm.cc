#include "common/grpc/steady_alarm.h"

#include <grpc/support/time.h>

#include <algorithm>

#include "kernels/base/steady_time.h"

namespace baseband {

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
    Task* const task = waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
    task->Run();
    task->waits_ = false;  // only now, for Unschedule has to wait for what runs
  }
}

void SteadyTimer::Task::Schedule(absl::Time when) {
  const std::lock_guard<std::mutex> lock(timer_.mutex_);
  place_ = timer_.waiting_.emplace(when, this);
  waits_ = true;
  if (place_ == timer_.waiting_.begin()) timer_.changed_.notify_one();
}

bool SteadyTimer::Task::Unschedule() {
  if (!waits_) return false;
  const std::lock_guard<std::mutex> lock(timer_.mutex_);
  if (!waits_) return false;
  timer_.waiting_.erase(place_);
  waits_ = false;
  return true;
}

void SteadyAlarm::Set(grpc::CompletionQueue* queue, absl::Time when, void* tag) {
  queue_ = queue;
  tag_ = tag;
  when <= SteadyNow() ? Run() : Schedule(when);  // at once: without the timer's thread
}

void SteadyAlarm::Run() { event_.Set(queue_, gpr_time_0(GPR_CLOCK_MONOTONIC), tag_); }

void SteadyAlarm::Cancel() {
  if (!Unschedule()) return;
  event_.Set(queue_, gpr_inf_future(GPR_CLOCK_MONOTONIC), tag_);
  event_.Cancel();
}

}  // namespace baseband
