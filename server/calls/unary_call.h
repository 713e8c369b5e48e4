// One unary call, from its arrival on a completion queue to the end of its answer.
//
// The transport of all batched operations; what differs between them stands in their
// MethodDescriptor. The handler is three steps: convert or refuse; submit the job; answer from the
// job's one completion. It never waits: a request that takes long to convert goes to the slow path
// for it.
#ifndef BASEBAND_SERVER_CALLS_UNARY_CALL_H_
#define BASEBAND_SERVER_CALLS_UNARY_CALL_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>

#include "server/calls/call_environment.h"
#include "server/grpc/steady_alarm.h"

namespace baseband::server {

// Deletes itself once gRPC is through with it.
class UnaryCall {
 public:
  // Waits for the next call of `page` on `queue`; when it comes, waits for another.
  static void Listen(const CallEnvironment* environment, const MethodDescriptor* page,
                     grpc::ServerCompletionQueue* queue);

 private:
  using Event = MemberEvent<UnaryCall>;

  UnaryCall(const CallEnvironment* environment, const MethodDescriptor* page,
            grpc::ServerCompletionQueue* queue);

  void OnArrived(bool ok);
  void OnNotified(bool ok);  // finished or cancelled, whichever comes first
  void OnStalled(bool ok);   // the client should have read the answer by now
  void OnFinished(bool ok);

  // Whether it may come in at all, through the door: before its payload is read or memory taken.
  absl::Status Enter();
  // Makes a job of the request and submits it, or says why not; goes to the slow path for it if
  // that takes long.
  absl::Status Accept(const ContinueCheck& may_continue);
  absl::Status RunOnSlowPath();
  // Answers if the request was not accepted.
  void RejectIfError(const absl::Status& status);
  // The job's completion, on any thread.
  void Answer(absl::Status status, JobPtr job);
  void Finish(const absl::Status& status, const grpc::ByteBuffer& reply);
  void WatchForStalls(int64_t bytes);
  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Unref();

  const CallEnvironment& environment_;
  const MethodDescriptor& page_;
  const ::baseband::server::Rpc rpc_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> responder_;
  Event arrived_{this, &UnaryCall::OnArrived};
  Event notified_{this, &UnaryCall::OnNotified};
  Event stalled_{this, &UnaryCall::OnStalled};
  Event finished_{this, &UnaryCall::OnFinished};

  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  // Of a call that arrived: gRPC's two further events, and OnArrived itself, for the answer may
  // come on another thread before it returns.
  std::atomic<int> references_{3};
  Caller caller_;
  ClientHold hold_;
  bool entered_ = false;  // through the door
  bool accepted_ = false;
  absl::Time given_up_ = absl::InfiniteFuture();  // by the client; once cancelled_ is set
  absl::Time arrival_;
  absl::Time deadline_;
  absl::Time answered_;
  absl::Status status_;
  JobTimes times_;
  int64_t reply_bytes_ = 0;
  std::unique_ptr<SteadyAlarm> stall_alarm_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_UNARY_CALL_H_
