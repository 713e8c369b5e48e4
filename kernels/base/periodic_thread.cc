#include "kernels/base/periodic_thread.h"

#include <utility>

namespace baseband {

PeriodicThread::PeriodicThread(absl::Duration interval, std::function<void()> look)
    : interval_(absl::ToChronoNanoseconds(interval)), look_(std::move(look)), thread_([this] {
        std::unique_lock<std::mutex> lock(mutex_);
        while (!stop_changed_.wait_for(lock, interval_, [this] { return stop_; })) {
          lock.unlock();
          look_();
          lock.lock();
        }
      }) {}

PeriodicThread::~PeriodicThread() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  stop_changed_.notify_one();
  thread_.join();
}

}  // namespace baseband
