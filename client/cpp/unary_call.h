// One logical unary call: its attempts, its push-back pauses, its cancellation. Internal to the
// client library.
#ifndef BASEBAND_CLIENT_CPP_UNARY_CALL_H_
#define BASEBAND_CLIENT_CPP_UNARY_CALL_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/async_call.h"
#include "client/cpp/channel_pool.h"
#include "client/cpp/priority.h"
#include "grpcpp/alarm.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/support/byte_buffer.h"

namespace baseband::client {

struct CallSpec {
  std::string method;  // "/package.Service/Method"
  grpc::ByteBuffer request;
  absl::Time deadline = absl::InfiniteFuture();  // of all attempts together, by SteadyNow()
  bool wait_for_ready = false;
  Priority priority = Priority::kNormal;
  int max_attempts = 1;
  std::string request_id;  // empty: none
  // Not OK: nothing is sent, and the call ends with this.
  absl::Status failure;
};

// gRPC itself retries UNAVAILABLE; this class retries RESOURCE_EXHAUSTED, and only when the server
// says when to come back (trailer grpc-retry-pushback-ms), which no service config can express.
//
// At any time at most one event of the call is outstanding. Thread-safe.
class UnaryCall final : public AsyncCall, public std::enable_shared_from_this<UnaryCall> {
 public:
  using Done = std::function<void(absl::StatusOr<grpc::ByteBuffer>)>;

  // `channels` and `queue` must live until `done` has run, which happens exactly once, on the
  // thread that polls `queue`.
  UnaryCall(CallSpec spec, ChannelPool* channels, grpc::CompletionQueue* queue, Done done);

  void Start();
  void Cancel() override;
  void OnEvent(int event, bool ok) override;

 private:
  void StartAttempt();
  // The pause the server asks for, or InfiniteDuration if the call must not be tried again.
  absl::Duration RetryDelay() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish(absl::StatusOr<grpc::ByteBuffer> result);

  const CallSpec spec_;
  ChannelPool* const channels_;
  grpc::CompletionQueue* const queue_;
  Done done_;

  absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool pausing_ ABSL_GUARDED_BY(mutex_) = false;  // the outstanding event is `alarm_`
  int attempts_ ABSL_GUARDED_BY(mutex_) = 0;
  PooledChannel* channel_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::unique_ptr<grpc::ClientContext> context_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader_ ABSL_GUARDED_BY(mutex_);
  grpc::Alarm alarm_ ABSL_GUARDED_BY(mutex_);
  // Written by gRPC while an attempt is outstanding.
  grpc::ByteBuffer response_;
  grpc::Status status_;
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_UNARY_CALL_H_
