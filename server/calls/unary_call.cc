#include "server/calls/unary_call.h"

#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/calls/deadline_outcome.h"
#include "server/grpc/status.h"

namespace baseband::server {

void UnaryCall::Listen(const CallEnvironment* environment, const MethodDescriptor* page,
                       grpc::ServerCompletionQueue* queue) {
  auto* const call = new UnaryCall(environment, page, queue);
  call->context_.AsyncNotifyWhenDone(&call->notified_);
  page->listen(*environment->service,
               {&call->context_, &call->request_, &call->responder_, queue, &call->arrived_});
}

UnaryCall::UnaryCall(const CallEnvironment* environment, const MethodDescriptor* page,
                     grpc::ServerCompletionQueue* queue)
    : environment_(*environment),
      page_(*page),
      rpc_(RpcOf(page->operation)),
      queue_(queue),
      responder_(&context_) {}

void UnaryCall::OnArrived(bool ok) {
  if (!ok) {  // the server is shutting down: no call came, and no other event will
    delete this;
    return;
  }
  Listen(&environment_, &page_, queue_);
  arrival_ = SteadyNow();
  deadline_ = DeadlineOf(context_);
  environment_.metrics->RequestStarted(rpc_, static_cast<int64_t>(request_.Length()));
  absl::Status status = environment_.access->Check(context_, Role::kUser);
  if (status.ok()) {
    status = Enter();
  }
  if (status.ok()) {
    status = Accept(ContinueCheck());
  }
  RejectIfError(status);
  Unref();
}

absl::Status UnaryCall::Enter() {
  const auto bytes = static_cast<int64_t>(request_.Length());
  BASEBAND_RETURN_IF_ERROR(environment_.gate->Enter(arrival_));
  entered_ = true;
  BASEBAND_RETURN_IF_ERROR(environment_.dispatcher->CheckRoom(bytes));
  BASEBAND_ASSIGN_OR_RETURN(caller_, CallerOf(context_, *environment_.access));
  BASEBAND_ASSIGN_OR_RETURN(hold_, environment_.quotas->EnterRequest(caller_.client, bytes));
  return absl::OkStatus();
}

void UnaryCall::RejectIfError(const absl::Status& status) {
  if (!status.ok()) {
    environment_.metrics->CountRejected(rpc_, status.code());
    Finish(status, grpc::ByteBuffer());
  }
}

absl::Status UnaryCall::Accept(const ContinueCheck& may_continue) {
  BASEBAND_ASSIGN_OR_RETURN(const RequestView request,
                            RequestView::Read(request_, page_.payload_field));
  RequestLimits limits = environment_.limits;
  limits.may_continue = may_continue;
  absl::StatusOr<JobPtr> made = page_.from_proto(request, limits, *environment_.caches);
  if (absl::IsAborted(made.status())) {
    return RunOnSlowPath();
  }
  request_.Clear();  // `request` has it still
  BASEBAND_RETURN_IF_ERROR(made.status());
  JobPtr job = *std::move(made);
  const Submission submission = {
      caller_, arrival_, deadline_, cancelled_,
      [this](absl::Status status, JobPtr done) { Answer(std::move(status), std::move(done)); }};
  return SubmitJob(environment_, request, submission, job);
}

absl::Status UnaryCall::RunOnSlowPath() {
  Ref();
  const absl::Status status =
      environment_.slow_path->Add(static_cast<int64_t>(request_.Length()), [this] {
        RejectIfError(Accept(ContinueCheckOf(deadline_, cancelled_)));
        Unref();
      });
  if (!status.ok()) {
    Unref();
  }
  return status;
}

void UnaryCall::Answer(absl::Status status, JobPtr job) {
  times_ = job->times;
  accepted_ = true;
  if (!status.ok()) {
    job.reset();
    Finish(status, grpc::ByteBuffer());
    return;
  }
  absl::StatusOr<grpc::ByteBuffer> reply = page_.to_proto(*job);
  job->input.Reset();
  if (!reply.ok()) {
    Finish(reply.status(), grpc::ByteBuffer());
    return;
  }
  ObserveStages(rpc_, job->times, *environment_.metrics);
  page_.count_results(*job, *environment_.metrics);
  reply_bytes_ = job->reply_bytes;
  Finish(absl::OkStatus(), *reply);
}

void UnaryCall::Finish(const absl::Status& status, const grpc::ByteBuffer& reply) {
  answered_ = SteadyNow();
  status_ = status;
  if (accepted_) {
    CountDeadline({rpc_, status.code(), arrival_, deadline_, answered_},
                  cancelled_->load() ? given_up_ : absl::InfiniteFuture(), *environment_.metrics);
  }
  AddRetryHint(status, *environment_.dispatcher, &context_);
  if (status.ok()) {
    WatchForStalls(static_cast<int64_t>(reply.Length()));
    responder_.Finish(reply, grpc::Status::OK, &finished_);
  } else {
    responder_.FinishWithError(ToGrpcStatus(status), &finished_);
  }
}

void UnaryCall::WatchForStalls(int64_t bytes) {
  if (bytes <= kMaxUnread) return;
  const absl::Duration longest =
      environment_.max_stall + absl::Seconds(static_cast<double>(bytes) / (1 << 20));
  Ref();  // OnStalled
  stall_alarm_ = std::make_unique<SteadyAlarm>(environment_.timer);
  stall_alarm_->Set(queue_, answered_ + longest, &stalled_);
}

void UnaryCall::OnStalled(bool expired) {
  if (expired) {
    context_.TryCancel();
  }
  Unref();
}

void UnaryCall::OnNotified(bool) {
  if (context_.IsCancelled()) {
    given_up_ = SteadyNow();
    cancelled_->store(true);
  }
  Unref();
}

void UnaryCall::OnFinished(bool) {
  if (stall_alarm_ != nullptr) {
    stall_alarm_->Cancel();
  }
  const absl::Time now = SteadyNow();
  environment_.metrics->ObserveStage(rpc_, Stage::kReply, now - answered_);
  environment_.metrics->RequestFinished(rpc_, status_.code(), now - arrival_, reply_bytes_);
  Record(environment_, context_, {rpc_, status_.code(), arrival_, deadline_, now}, status_, caller_,
         answered_, times_);
  Unref();
}

void UnaryCall::Unref() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    if (entered_) {
      environment_.gate->Leave();
    }
    delete this;
  }
}

}  // namespace baseband::server
