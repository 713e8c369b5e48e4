// Events on completion queues at times of SteadyNow().
//
// gRPC's own alarms wait, like all its timers, by the system's clock in the end (1.51 on Abseil
// 20220623): set back by an hour, it makes them an hour late.
#ifndef BASEBAND_SERVER_GRPC_STEADY_ALARM_H_
#define BASEBAND_SERVER_GRPC_STEADY_ALARM_H_

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "absl/time/time.h"

namespace baseband::server {

class SteadyAlarm;

// The thread that lets alarms go off; outlives them. Thread-safe.
class SteadyTimer {
 public:
  SteadyTimer();
  ~SteadyTimer();
  SteadyTimer(const SteadyTimer&) = delete;
  SteadyTimer& operator=(const SteadyTimer&) = delete;

 private:
  friend class SteadyAlarm;
  using Waiting = std::multimap<absl::Time, SteadyAlarm*>;

  void Run();

  std::mutex mutex_;  // std's, whose condition waits by the steady clock
  std::condition_variable changed_;
  Waiting waiting_;
  bool stop_ = false;
  std::thread thread_;  // last: uses all of the above
};

// As grpc::Alarm: each Set is followed by exactly one event, which is not ok if Cancel or the
// destructor came first. Thread-safe, but Set and the destructor must not run beside another call.
class SteadyAlarm {
 public:
  explicit SteadyAlarm(SteadyTimer* timer) : timer_(*timer) {}
  ~SteadyAlarm() { Cancel(); }
  SteadyAlarm(const SteadyAlarm&) = delete;
  SteadyAlarm& operator=(const SteadyAlarm&) = delete;

  // `tag` comes out of `queue` at `when`; until its event nothing may be set again.
  void Set(grpc::CompletionQueue* queue, absl::Time when, void* tag);
  // No effect where nothing is set.
  void Cancel();

 private:
  friend class SteadyTimer;
  void Ring();  // timer_.mutex_ is held

  SteadyTimer& timer_;
  bool waits_ = false;  // these three under timer_.mutex_
  SteadyTimer::Waiting::iterator place_;
  grpc::CompletionQueue* queue_ = nullptr;
  void* tag_ = nullptr;
  grpc::Alarm event_;  // brings the tag into the queue; what goes off at once needs no timer
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_GRPC_STEADY_ALARM_H_
