// One Submit stream: requests of any operation, answered when each is done, out of order.
//
// Reading goes on while jobs run: of a message its id and credits are looked at, then the next one
// is read while this one becomes a job, or goes to the slow path if that takes long. Responses wait
// for one another only to be written. Bounded by the credits: a response that waits to be written
// still holds its request's.
#ifndef BASEBAND_SERVER_CALLS_SUBMIT_CALL_H_
#define BASEBAND_SERVER_CALLS_SUBMIT_CALL_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <deque>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/calls/call_environment.h"
#include "server/calls/submit_wire.h"
#include "server/limits/flow_control_window.h"

namespace baseband::server {

// Deletes itself once gRPC is through with it and all its requests have ended.
class SubmitCall {
 public:
  // Waits for the next call on `queue`; when it comes, waits for another.
  static void Listen(const CallEnvironment* environment, grpc::ServerCompletionQueue* queue);

 private:
  using Event = MemberEvent<SubmitCall>;
  struct Request;  // one in flight
  using RequestPtr = std::shared_ptr<Request>;

  SubmitCall(const CallEnvironment* environment, grpc::ServerCompletionQueue* queue);

  void OnArrived(bool ok);
  void OnNotified(bool ok);  // finished or cancelled, whichever comes first
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnStallCheck(bool ok);
  void OnFinished(bool ok);

  void StartRead();
  // Takes the message up and reads on; an error ends the stream.
  absl::Status Receive(const grpc::ByteBuffer& message) ABSL_LOCKS_EXCLUDED(mutex_);
  // From here on an error is the request's answer.
  absl::Status Begin(const RequestPtr& request, RequestView view);
  absl::Status Accept(const RequestPtr& request, RequestView view,
                      const ContinueCheck& may_continue);
  absl::Status RunOnSlowPath(const RequestPtr& request, RequestView view);
  // The job's completion, on any thread.
  void Answer(const RequestPtr& request, absl::Status status, JobPtr job);
  void Refuse(const RequestPtr& request, const absl::Status& status);
  void Respond(const RequestPtr& request, const absl::Status& status,
               const grpc::ByteBuffer& result);

  // The stream ends so, unless it has to end otherwise already; what is in flight is cancelled.
  void End(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes the next response or ends the call, if it is time for either.
  void Advance() ABSL_LOCKS_EXCLUDED(mutex_);
  // Of a request that is answered, or never will be, now.
  void CountRequestsDeadline(const Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WatchForStalls() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Nothing more will happen to the request.
  void Leave(const RequestPtr& request, bool sent);

  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  // The last one is alone with the call, and deletes it.
  void Unref() ABSL_NO_THREAD_SAFETY_ANALYSIS;

  const CallEnvironment& environment_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_;
  Event arrived_{this, &SubmitCall::OnArrived};
  Event notified_{this, &SubmitCall::OnNotified};
  Event read_{this, &SubmitCall::OnRead};
  Event written_{this, &SubmitCall::OnWritten};
  Event stall_check_{this, &SubmitCall::OnStallCheck};
  Event finished_{this, &SubmitCall::OnFinished};

  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  absl::Time arrival_;
  absl::Time deadline_;
  Caller caller_;
  ClientHold hold_;
  grpc::ByteBuffer incoming_;  // gRPC's while it reads

  absl::Mutex mutex_;
  FlowControlWindow window_ ABSL_GUARDED_BY(mutex_);
  std::deque<RequestPtr> answered_ ABSL_GUARDED_BY(mutex_);  // not yet with gRPC
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  RequestPtr written_request_ ABSL_GUARDED_BY(mutex_);  // null: credits alone
  absl::Time write_begin_ ABSL_GUARDED_BY(mutex_);
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;         // the client sends no more
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;            // the server takes no more
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);  // how it has to end
  absl::Time end_time_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();  // since when
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;                            // and gRPC knows
  bool watching_ ABSL_GUARDED_BY(mutex_) = false;                         // stall_alarm_ is set
  SteadyAlarm stall_alarm_ ABSL_GUARDED_BY(mutex_);

  // Events that are due, and requests in flight. Of a call that arrived: OnArrived, and OnNotified,
  // which may come on another thread before OnArrived has begun.
  std::atomic<int> references_{2};
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_SUBMIT_CALL_H_
