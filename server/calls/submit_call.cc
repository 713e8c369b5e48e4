#include "server/calls/submit_call.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/calls/deadline_outcome.h"
#include "server/calls/submit_in_flight.h"
#include "server/grpc/wire.h"

namespace baseband::server {
namespace {

constexpr Rpc kRpc = kSubmitRpc;

}  // namespace

void SubmitCall::Listen(const CallEnvironment* environment, int number,
                        grpc::ServerCompletionQueue* queue) {
  auto* const call = new SubmitCall(environment, number, queue);
  environment->service->Listen(number, &call->context_, &call->stream_, queue, &call->arrived_);
}

SubmitCall::SubmitCall(const CallEnvironment* environment, int number,
                       grpc::ServerCompletionQueue* queue)
    : GrpcCall(environment, queue),
      number_(number),
      stream_(&context_),
      window_(environment->submit_window) {}

void SubmitCall::OnArrived(bool ok) {
  if (!ok) {  // the server is shutting down: no call came, and no other event will
    delete this;
    return;
  }
  Listen(&environment_, number_, queue_);
  arrival_ = SteadyNow();
  environment_.metrics->RequestStarted(kRpc, 0);
  const absl::Status status = EnterStream(*environment_.streams);
  if (status.ok()) {
    Open();
  } else {
    AddRetryHint(status);
    End(status);
  }
  EndArrival();
}

void SubmitCall::Open() {
  SubmitWindow first;
  {
    absl::MutexLock lock(&mutex_);
    writing_ = true;
    first = window_.first();
  }
  SubmitOutcome grant;
  grant.requests = first.requests;
  grant.bytes = first.bytes;
  Ref();  // OnWritten
  const grpc::ByteBuffer message = MakeSubmitResponse(grant, nullptr, grpc::ByteBuffer());
  grant_bytes_ = static_cast<int64_t>(message.Length());
  WatchForStall(environment_.max_stall);
  stream_.Write(message, &written_);
  StartRead();
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
  const absl::Time arrival = SteadyNow();
  BASEBAND_ASSIGN_OR_RETURN(SubmitView view, SubmitView::Read(message, *environment_.operations));
  const auto request = std::make_shared<InFlight>(environment_, view, arrival);
  request->bytes = static_cast<int64_t>(message.Length());
  request->wire_request = std::move(view.request());
  Requester& requester = request->context.requester();
  requester = requester_;
  requester.deadline = std::min(requester_.deadline, arrival + view.timeout());
  {
    absl::MutexLock lock(&mutex_);
    BASEBAND_RETURN_IF_ERROR(window_.Open(request->id, request->bytes));
  }
  Ref();  // Leave
  StartRead();
  if (const absl::Status status = Begin(request, view.priority()); !status.ok()) {
    Respond(request, status, grpc::ByteBuffer());
  }
  return absl::OkStatus();
}

absl::Status SubmitCall::Begin(const InFlightPtr& request, int32_t priority) {
  RequestContext& context = request->context;
  context.Start(request->bytes);
  if (const absl::Status entered = context.EnterNamed(request->operation, priority, request->bytes);
      !entered.ok()) {
    if (absl::IsUnavailable(entered)) {  // the gate is closed
      absl::MutexLock lock(&mutex_);
      draining_ = true;
    }
    return entered;
  }
  const Requester& requester = context.requester();
  environment_.reads->Hurry(requester.caller.priority, requester.deadline - SteadyNow());
  BASEBAND_RETURN_IF_ERROR(LookUpSharedMemory(environment_, &request->wire_request));
  request->wire_request.client = requester_.caller.client;
  BASEBAND_ASSIGN_OR_RETURN(Conversion conversion, request->operation->Convert(
                                                       request->wire_request, environment_.limits));
  if (conversion.job != nullptr) return Submit(request, std::move(conversion.job));
  request->preparation = std::move(conversion.preparation);
  return RunOnSlowPath(request->bytes, [this, request](const ContinueCheck& turn) {
    absl::StatusOr<JobPtr> job =
        request->preparation->Finish(SlowPathCheck(request->context.requester(), turn));
    request->preparation.reset();
    const absl::Status status = job.ok() ? Submit(request, *std::move(job)) : job.status();
    if (!status.ok()) Respond(request, status, grpc::ByteBuffer());
  });
}

absl::Status SubmitCall::Submit(const InFlightPtr& request, JobPtr job) {
  BASEBAND_RETURN_IF_ERROR(request->context.GrowQuota(request->wire_request, *job));
  const Request wire_request = std::exchange(request->wire_request, Request());
  return request->context.Submit(wire_request, job,
                                 [this, request](const absl::Status& status, JobPtr done) {
                                   Answer(request, status, std::move(done));
                                 });
}

void SubmitCall::Answer(const InFlightPtr& request, const absl::Status& status, JobPtr job) {
  absl::StatusOr<Reply> reply =
      request->context.ReplyOf(status, *request->operation, std::move(job));
  Respond(request, reply.status(),
          reply.ok() ? ToByteBuffer(*std::move(reply)) : grpc::ByteBuffer());
}

void SubmitCall::OnCancelled() { End(absl::CancelledError("the client cancelled")); }

void SubmitCall::OnFinished(bool) { Unref(); }

void SubmitCall::Destroy() {
  const absl::Status end = EndOf(end_.value_or(absl::OkStatus()), arrival_, requester_.deadline,
                                 requester_.cancellation->given_up());
  environment_.metrics->RequestFinished(kRpc, end, SteadyNow() - arrival_, grant_bytes_);
  delete this;  // last: the server may end now
}

}  // namespace baseband::server
