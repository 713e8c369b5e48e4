// A thread that looks at something again and again.
#ifndef BASEBAND_KERNELS_BASE_PERIODIC_THREAD_H_
#define BASEBAND_KERNELS_BASE_PERIODIC_THREAD_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/time/time.h"

namespace baseband {

// Calls `look` with at least `interval` between two calls, by a clock that only goes forward at an
// even pace, whatever is done to the host's time. Looks are what its user counts, not time: while
// the process is stopped, nobody looks. Ends in the destructor, after the look in progress.
class PeriodicThread {
 public:
  PeriodicThread(absl::Duration interval, std::function<void()> look);
  ~PeriodicThread();
  PeriodicThread(const PeriodicThread&) = delete;
  PeriodicThread& operator=(const PeriodicThread&) = delete;

 private:
  const std::chrono::nanoseconds interval_;
  const std::function<void()> look_;
  std::mutex mutex_;  // std's, whose condition waits by the steady clock
  std::condition_variable stop_changed_;
  bool stop_ = false;
  std::thread thread_;  // last: uses all of the above
};

}  // namespace baseband

#endif  // BASEBAND_KERNELS_BASE_PERIODIC_THREAD_H_
