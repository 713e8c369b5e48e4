#include "server/calls/submit_call.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/calls/submit_request.h"

namespace baseband::server {
namespace {

constexpr Rpc kRpc = Rpc::kSubmit;

}  // namespace

void SubmitCall::Listen(const CallEnvironment* environment, grpc::ServerCompletionQueue* queue) {
  auto* const call = new SubmitCall(environment, queue);
  call->context_.AsyncNotifyWhenDone(&call->notified_);
  environment->service->RequestSubmit(&call->context_, &call->stream_, queue, queue,
                                      &call->arrived_);
}

SubmitCall::SubmitCall(const CallEnvironment* environment, grpc::ServerCompletionQueue* queue)
    : environment_(*environment),
      queue_(queue),
      stream_(&context_),
      window_(environment->submit_window),
      stall_alarm_(environment->timer) {}

void SubmitCall::OnArrived(bool ok) {
  if (!ok) {  // the server is shutting down: no call came, and no other event will
    delete this;
    return;
  }
  Listen(&environment_, queue_);
  arrival_ = SteadyNow();
  deadline_ = DeadlineOf(context_);
  environment_.metrics->RequestStarted(kRpc, 0);
  absl::Status status =
      EnterStream(environment_, *environment_.streams, context_, arrival_, &caller_, &hold_);
  if (!status.ok()) {
    environment_.metrics->CountRejected(kRpc, status.code());
    {
      absl::MutexLock lock(&mutex_);
      // Cancelled already, gRPC may be reading what would be written.
      if (!end_.has_value()) AddRetryHint(status, *environment_.dispatcher, &context_);
    }
    End(status);
  } else {
    SubmitOutcome grant;
    grant.requests = environment_.submit_window.requests;
    grant.bytes = environment_.submit_window.bytes;
    bool open = false;
    {
      absl::MutexLock lock(&mutex_);
      writing_ = open = !end_.has_value();  // else it was cancelled already
    }
    if (open) {
      Ref();  // OnWritten
      stream_.Write(MakeSubmitResponse(grant, nullptr, grpc::ByteBuffer()), &written_);
      StartRead();
    }
  }
  Unref();
}

void SubmitCall::StartRead() {
  Ref();
  stream_.Read(&incoming_, &read_);
}

void SubmitCall::OnRead(bool ok) {
  if (ok) {
    const absl::Status status = Receive(std::exchange(incoming_, grpc::ByteBuffer()));
    if (!status.ok()) {
      End(status);
    }
  } else {
    {
      absl::MutexLock lock(&mutex_);
      half_closed_ = true;
    }
    Advance();
  }
  Unref();
}

absl::Status SubmitCall::Receive(const grpc::ByteBuffer& message) {
  const auto request = std::make_shared<Request>();
  request->arrival = SteadyNow();
  request->bytes = static_cast<int64_t>(message.Length());
  BASEBAND_ASSIGN_OR_RETURN(SubmitView view, SubmitView::Read(message));
  request->id = view.id();
  request->operation = view.operation();
  request->priority = view.priority();
  request->deadline = std::min(deadline_, request->arrival + view.timeout());
  {
    absl::MutexLock lock(&mutex_);
    BASEBAND_RETURN_IF_ERROR(window_.Open(request->id, request->bytes));
  }
  Ref();  // Leave
  StartRead();
  if (const absl::Status status = Begin(request, std::move(view.request())); !status.ok()) {
    Refuse(request, status);
  }
  return absl::OkStatus();
}

absl::Status SubmitCall::Begin(const RequestPtr& request, RequestView view) {
  if (request->operation == nullptr) {
    return absl::InvalidArgumentError(
        "operation is not set, or is none of encode, decode, recover_carrier, downconvert");
  }
  environment_.metrics->RequestStarted(request->rpc(), request->bytes);
  if (absl::Status closed = environment_.gate->Enter(request->arrival); !closed.ok()) {
    absl::MutexLock lock(&mutex_);
    draining_ = true;
    return closed;
  }
  request->inside = true;
  BASEBAND_RETURN_IF_ERROR(
      CheckRange("priority", request->priority, v1::Priority_MIN, v1::Priority_MAX));
  request->caller = caller_;
  if (request->priority != v1::PRIORITY_UNSPECIFIED) {
    request->caller.priority = static_cast<Priority>(request->priority - v1::PRIORITY_HIGH);
  }
  BASEBAND_RETURN_IF_ERROR(environment_.dispatcher->CheckRoom(request->bytes));
  BASEBAND_ASSIGN_OR_RETURN(request->hold,
                            environment_.quotas->EnterRequest(caller_.client, request->bytes));
  return Accept(request, std::move(view), ContinueCheck());
}

absl::Status SubmitCall::Accept(const RequestPtr& request, RequestView view,
                                const ContinueCheck& may_continue) {
  RequestLimits limits = environment_.limits;
  limits.may_continue = may_continue;
  absl::StatusOr<JobPtr> job =
      request->operation->page->from_proto(view, limits, *environment_.caches);
  if (absl::IsAborted(job.status())) {
    return RunOnSlowPath(request, std::move(view));
  }
  BASEBAND_RETURN_IF_ERROR(job.status());
  const Submission submission = {request->caller, request->arrival, request->deadline, cancelled_,
                                 [this, request](absl::Status status, JobPtr done) {
                                   Answer(request, std::move(status), std::move(done));
                                 }};
  return SubmitJob(environment_, view, submission, *job);
}

absl::Status SubmitCall::RunOnSlowPath(const RequestPtr& request, RequestView view) {
  const auto kept = std::make_shared<RequestView>(std::move(view));
  return environment_.slow_path->Add(request->bytes, [this, request, kept] {
    const absl::Status status =
        Accept(request, std::move(*kept), ContinueCheckOf(request->deadline, cancelled_));
    if (!status.ok()) {
      Refuse(request, status);
    }
  });
}

void SubmitCall::Answer(const RequestPtr& request, absl::Status status, JobPtr job) {
  request->times = job->times;
  request->accepted = true;
  if (!status.ok()) {
    job.reset();
    Respond(request, status, grpc::ByteBuffer());
    return;
  }
  const MethodDescriptor& page = *request->operation->page;
  const absl::StatusOr<grpc::ByteBuffer> result = page.to_proto(*job);
  job->input.Reset();
  if (!result.ok()) {
    Respond(request, result.status(), grpc::ByteBuffer());
    return;
  }
  ObserveStages(request->rpc(), job->times, *environment_.metrics);
  page.count_results(*job, *environment_.metrics);
  if (SteadyNow() > request->deadline) {
    Respond(request, absl::DeadlineExceededError("the deadline passed before the work was done"),
            grpc::ByteBuffer());
    return;
  }
  request->reply_bytes = job->reply_bytes;
  Respond(request, absl::OkStatus(), *result);
}

void SubmitCall::Refuse(const RequestPtr& request, const absl::Status& status) {
  environment_.metrics->CountRejected(request->operation != nullptr ? request->rpc() : kRpc,
                                      status.code());
  Respond(request, status, grpc::ByteBuffer());
}

void SubmitCall::OnNotified(bool) {
  if (context_.IsCancelled()) {
    End(absl::CancelledError("the client cancelled"));
  }
  Unref();
}

void SubmitCall::OnFinished(bool) { Unref(); }

void SubmitCall::Unref() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  StreamLimit* const streams = environment_.streams;
  environment_.metrics->RequestFinished(kRpc, end_.value_or(absl::OkStatus()).code(),
                                        SteadyNow() - arrival_, 0);
  delete this;
  streams->Vacate();
  streams->Leave();  // last: the server may end now
}

}  // namespace baseband::server
