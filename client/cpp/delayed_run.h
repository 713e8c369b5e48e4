// Something that is to be done later, on a polling thread. Internal to the client library.
#ifndef BASEBAND_CLIENT_CPP_DELAYED_RUN_H_
#define BASEBAND_CLIENT_CPP_DELAYED_RUN_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/async_call.h"
#include "client/cpp/grpc_time.h"
#include "grpcpp/alarm.h"
#include "grpcpp/completion_queue.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {

// Thread-safe.
class DelayedRun final : public AsyncCall, public std::enable_shared_from_this<DelayedRun> {
 public:
  // Runs `then` once, on the thread that polls `queue`: with true when `delay` has passed since
  // Start(), with false when it was cancelled before; and `closed` after it.
  DelayedRun(absl::Duration delay, std::function<void(bool)> then, grpc::CompletionQueue* queue,
             std::function<void()> closed)
      : delay_(delay), queue_(queue), then_(std::move(then)), closed_(std::move(closed)) {}

  void Start() {
    absl::MutexLock lock(&mutex_);
    alarm_.Set(queue_, ToGrpcTime(SteadyNow() + (cancelled_ ? absl::ZeroDuration() : delay_)),
               new CallTag{shared_from_this()});
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
    }
    then_(!cancelled);
    closed_();
  }

 private:
  const absl::Duration delay_;
  grpc::CompletionQueue* const queue_;
  const std::function<void(bool)> then_;
  const std::function<void()> closed_;
  absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Alarm alarm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_DELAYED_RUN_H_
