// Events on completion queues at times of SteadyNow(), and the timer behind them.
//
// gRPC's own alarms and deadlines wait, like all its timers, by the system's clock in the end (1.51
// on Abseil 20220623): set back by an hour, it makes them an hour late.
#ifndef BASEBAND_COMMON_GRPC_STEADY_ALARM_H_
#define BASEBAND_COMMON_GRPC_STEADY_ALARM_H_

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "absl/time/time.h"

namespace baseband {

// One thread that runs tasks when their time has come; outlives them. Thread-safe.
class SteadyTimer {
 public:
  class Task;

  SteadyTimer();
  ~SteadyTimer();
  SteadyTimer(const SteadyTimer&) = delete;
  SteadyTimer& operator=(const SteadyTimer&) = delete;

 private:
  using Waiting = std::multimap<absl::Time, Task*>;

  void Run();

  std::mutex mutex_;  // std's, whose condition waits by the steady clock
  std::condition_variable changed_;
  Waiting waiting_;
  bool stop_ = false;
  std::thread thread_;  // last: uses all of the above
};

// Something to be done at a time. Thread-safe. What is not scheduled does not touch the timer, and
// may outlive it.
class SteadyTimer::Task {
 protected:
  explicit Task(SteadyTimer* timer) : timer_(*timer) {}
  virtual ~Task() = default;  // nothing is scheduled any more: who derives sees to it
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // Run() is called once at `when` on the timer's thread. Only while nothing is scheduled.
  void Schedule(absl::Time when);
  // Afterwards Run() neither runs nor will. False: nothing was scheduled, or it has run.
  bool Unschedule();

 private:
  friend class SteadyTimer;
  // With the timer's lock held: short, and without any lock that is held while a task is scheduled
  // or unscheduled.
  virtual void Run() = 0;

  SteadyTimer& timer_;
  std::atomic<bool> waits_{false};  // both changed under timer_.mutex_
  Waiting::iterator place_;
};

// As grpc::Alarm: each Set is followed by exactly one event, which is not ok if Cancel or the
// destructor came first. Thread-safe, but Set and the destructor must not run beside another call.
class SteadyAlarm final : private SteadyTimer::Task {
 public:
  explicit SteadyAlarm(SteadyTimer* timer) : Task(timer) {}
  ~SteadyAlarm() { Cancel(); }

  // `tag` comes out of `queue` at `when`; until its event nothing may be set again.
  void Set(grpc::CompletionQueue* queue, absl::Time when, void* tag);
  // No effect where nothing is set.
  void Cancel();

 private:
  void Run() override;

  grpc::CompletionQueue* queue_ = nullptr;
  void* tag_ = nullptr;
  grpc::Alarm event_;  // brings the tag into the queue; what goes off at once needs no timer
};

}  // namespace baseband

#endif  // BASEBAND_COMMON_GRPC_STEADY_ALARM_H_
