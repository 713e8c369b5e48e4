// One logical unary call: its attempts, the pauses between them, its cancellation. Internal to the
// client libraries.
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
#include "client/cpp/attempt.h"
#include "client/cpp/channel_pool.h"
#include "common/grpc/steady_alarm.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/support/byte_buffer.h"

namespace baseband::client {

struct CallSpec {
  std::string method;  // "/package.Service/Method"
  grpc::ByteBuffer request;
  CallHeader header;  // its deadline is that of all attempts together
  RetryOptions retry;
  // Not OK: nothing is sent, and the call ends with this.
  absl::Status failure;
  Repetition repetition;
};

// Tried again are UNAVAILABLE, and RESOURCE_EXHAUSTED when the server says when to come back
// (trailer grpc-retry-pushback-ms), or would say so if the attempt had been sent, see
// ClientThrottle; nothing else. In particular not INTERNAL: what brought one device down must not
// go from server to server. Not gRPC's retries: their pauses are anything from
// zero on, so that all of them may be over before a server is back.
//
// At any time at most one event of the call is outstanding. Thread-safe.
class UnaryCall final : public AsyncCall,
                        public ClientThrottle::Waiter,
                        public std::enable_shared_from_this<UnaryCall> {
 public:
  using Done = std::function<void(absl::StatusOr<grpc::ByteBuffer>)>;

  // `channels` and `queue` must live until `done` has run, which happens exactly once, on the
  // thread that polls `queue`.
  UnaryCall(CallSpec spec, ChannelPool* channels, grpc::CompletionQueue* queue, Done done);

  void Start();
  void Cancel() override;
  void OnEvent(int event, bool ok) override;
  bool OnRoom() override;

 private:
  void StartAttempt() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Its event has come: what it has ended with, if it has.
  bool Advance(absl::StatusOr<grpc::ByteBuffer>* result) ABSL_LOCKS_EXCLUDED(mutex_);
  // What it ended with.
  absl::Status EndAttempt() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The next event is that of `alarm_`.
  void Pause(absl::Duration pause) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The last attempt ended with `status`: whether another request has been started in its place.
  bool StartInstead(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // How long to wait before another attempt than the last, which ended with `status`;
  // InfiniteDuration: there must be none.
  absl::Duration RetryDelay(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const CallSpec spec_;
  const absl::Duration timeout_;
  const ClientThrottle::Kind throttled_as_;
  ChannelPool* const channels_;
  grpc::CompletionQueue* const queue_;
  Done done_;

  absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool pausing_ ABSL_GUARDED_BY(mutex_) = false;  // the outstanding event is `alarm_`'s
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;  // and it pauses until there is room
  absl::Time patience_ ABSL_GUARDED_BY(mutex_);   // until then it waits for a connection
  int attempts_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time sent_ ABSL_GUARDED_BY(mutex_);  // the last one
  grpc::ByteBuffer request_ ABSL_GUARDED_BY(mutex_);
  // Of the last attempt. Not OK: it was not sent, and the outstanding event is `alarm_`'s.
  absl::Status withheld_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Attempt> attempt_ ABSL_GUARDED_BY(mutex_);  // null if it was not sent
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader_ ABSL_GUARDED_BY(mutex_);
  SteadyAlarm alarm_ ABSL_GUARDED_BY(mutex_);
  // Written by gRPC while an attempt is outstanding.
  grpc::ByteBuffer response_;
  grpc::Status status_;
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_UNARY_CALL_H_
