// Something that is to be done later, on a polling thread. Internal to the client library.
#ifndef BASEBAND_CLIENT_CPP_DELAYED_RUN_H_
#define BASEBAND_CLIENT_CPP_DELAYED_RUN_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/async_call.h"
#include "client/cpp/attempt.h"
#include "client/cpp/channel_pool.h"
#include "common/grpc/steady_alarm.h"
#include "grpcpp/completion_queue.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {

// Thread-safe.
class DelayedRun final : public AsyncCall, public std::enable_shared_from_this<DelayedRun> {
 public:
  // Runs `then` once, on the thread that polls `queue`, and `closed` after it: with true when
  // `delay` has passed since Start() and, at most as long again, until `channels` are connected;
  // with false when it was cancelled before.
  DelayedRun(absl::Duration delay, ChannelPool* channels, grpc::CompletionQueue* queue,
             std::function<void(bool)> then, std::function<void()> closed)
      : delay_(delay),
        channels_(channels),
        queue_(queue),
        then_(std::move(then)),
        closed_(std::move(closed)),
        alarm_(channels->timer()) {}

  void Start() {
    absl::MutexLock lock(&mutex_);
    patience_ = SteadyNow() + 2 * delay_;
    Wait(cancelled_ ? absl::ZeroDuration() : delay_);
  }
  void Cancel() override {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    alarm_.Cancel();
  }
  void OnEvent(int, bool) override {
    bool cancelled = false;
    {
      absl::MutexLock lock(&mutex_);
      cancelled = cancelled_;
      const absl::Duration left = patience_ - SteadyNow();
      if (!cancelled && left > absl::ZeroDuration() && !channels_->IsConnected()) {
        Wait(std::min(kConnectionLook, left));
        return;
      }
    }
    then_(!cancelled);
    closed_();
  }

 private:
  void Wait(absl::Duration time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    alarm_.Set(queue_, SteadyNow() + time, new CallTag{shared_from_this()});
  }

  const absl::Duration delay_;
  ChannelPool* const channels_;
  grpc::CompletionQueue* const queue_;
  const std::function<void(bool)> then_;
  const std::function<void()> closed_;
  absl::Mutex mutex_;
  absl::Time patience_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  SteadyAlarm alarm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_DELAYED_RUN_H_
