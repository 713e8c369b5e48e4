#include "server/calls/stream_call.h"

#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/calls/deadline_outcome.h"
#include "server/grpc/status.h"

namespace baseband::server {

void StreamCall::Listen(const CallEnvironment* environment, const StreamPage* page,
                        grpc::ServerCompletionQueue* queue) {
  auto* const call = new StreamCall(environment, page, queue);
  call->context_.AsyncNotifyWhenDone(&call->notified_);
  page->listen(*environment->service, {&call->context_, &call->stream_, queue, &call->arrived_});
}

StreamCall::StreamCall(const CallEnvironment* environment, const StreamPage* page,
                       grpc::ServerCompletionQueue* queue)
    : environment_(*environment),
      page_(*page),
      queue_(queue),
      stream_(&context_),
      room_alarm_(environment->timer) {}

void StreamCall::OnArrived(bool ok) {
  if (!ok) {  // the server is shutting down: no call came, and no other event will
    delete this;
    return;
  }
  Listen(&environment_, &page_, queue_);
  request_arrival_ = arrival_ = SteadyNow();
  deadline_ = DeadlineOf(context_);
  environment_.metrics->RequestStarted(page_.rpc, 0);
  absl::Status status =
      EnterStream(environment_, *environment_.streams, context_, arrival_, &caller_, &hold_);
  if (status.ok()) {
    session_ = page_.new_session(environment_);
    absl::MutexLock lock(&mutex_);
    StartRead();
  } else {
    environment_.metrics->CountRejected(page_.rpc, status.code());
    End(status);
  }
  Unref();
}

void StreamCall::StartRead() {
  reading_ = true;
  Ref();
  stream_.Read(&incoming_, &read_);
}

void StreamCall::OnRead(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    reading_ = false;
    if (ok) {
      waiting_ = std::exchange(incoming_, grpc::ByteBuffer());
    } else {
      half_closed_ = true;
    }
  }
  Advance();
  Unref();
}

void StreamCall::Advance() {
  grpc::ByteBuffer message;
  bool done = false;
  {
    absl::MutexLock lock(&mutex_);
    if (in_work_ || ended_) {
      return;
    }
    if (waiting_.has_value()) {
      message = *std::exchange(waiting_, std::nullopt);
      in_work_ = true;
      if (!half_closed_) {
        StartRead();
      }
    } else {
      done = half_closed_;
      if (!done) {
        return;
      }
    }
  }
  if (done) {
    End(absl::OkStatus());
    return;
  }
  if (const absl::Status status = Begin(message); !status.ok()) {
    environment_.metrics->CountRejected(page_.rpc, status.code());
    End(status);
  }
}

absl::Status StreamCall::Begin(const grpc::ByteBuffer& message) {
  request_arrival_ = SteadyNow();
  times_ = JobTimes();
  BASEBAND_RETURN_IF_ERROR(environment_.gate->Enter(request_arrival_));
  inside_ = true;
  environment_.metrics->AddRequestBytes(page_.rpc, static_cast<int64_t>(message.Length()));
  BASEBAND_ASSIGN_OR_RETURN(view_, RequestView::Read(message, page_.payload_field));
  return Convert(ContinueCheck());
}

absl::Status StreamCall::Convert(const ContinueCheck& may_continue) {
  absl::StatusOr<JobPtr> job = session_->FromProto(*view_, may_continue);
  if (absl::IsAborted(job.status())) {
    return RunOnSlowPath();
  }
  BASEBAND_RETURN_IF_ERROR(job.status());
  job_ = *std::move(job);
  return Submit();
}

absl::Status StreamCall::RunOnSlowPath() {
  Ref();
  const absl::Status status = environment_.slow_path->Add(
      static_cast<int64_t>(view_->header().size()) + view_->payload_bytes(), [this] {
        const absl::Status converted = Convert(ContinueCheckOf(deadline_, cancelled_));
        if (!converted.ok()) {
          environment_.metrics->CountRejected(page_.rpc, converted.code());
          End(converted);
        }
        Unref();
      });
  if (!status.ok()) {
    Unref();
  }
  return status;
}

absl::Status StreamCall::Submit() {
  Ref();  // Answer, or OnRoom
  const Submission submission = {caller_, request_arrival_, deadline_, cancelled_,
                                 [this](absl::Status status, JobPtr job) {
                                   Answer(std::move(status), std::move(job));
                                   Unref();
                                 }};
  const absl::Status status = SubmitJob(environment_, *view_, submission, job_);
  if (status.ok()) {
    return status;
  }
  if (absl::IsResourceExhausted(status) && !cancelled_->load()) {
    room_alarm_.Set(queue_, SteadyNow() + environment_.dispatcher->RetryHint(), &room_);
    return absl::OkStatus();
  }
  Unref();
  return status;
}

void StreamCall::OnRoom(bool) {
  const absl::Status status =
      cancelled_->load() ? absl::CancelledError("the client cancelled") : Submit();
  if (!status.ok()) {
    End(status);
  }
  Unref();
}

void StreamCall::Answer(absl::Status status, JobPtr job) {
  times_ = job->times;
  if (!status.ok()) {
    CountRequestsDeadline(status.code());
    End(status);
    return;
  }
  absl::StatusOr<grpc::ByteBuffer> response = session_->ToProto(*job);
  CountRequestsDeadline(response.status().code());
  if (!response.ok()) {
    End(response.status());
    return;
  }
  ObserveStages(RpcOf(job->operation()), job->times, *environment_.metrics);
  response_bytes_ += static_cast<int64_t>(response->Length());
  job.reset();
  view_.reset();
  absl::MutexLock lock(&mutex_);
  if (ended_) {
    return;
  }
  Ref();  // OnStalled
  stall_alarm_ = std::make_unique<SteadyAlarm>(environment_.timer);
  answered_ = SteadyNow();
  stall_alarm_->Set(queue_, answered_ + environment_.max_stall, &stalled_);
  Ref();  // OnWritten
  stream_.Write(*response, &written_);
}

void StreamCall::OnWritten(bool) {
  stall_alarm_->Cancel();
  RecordRequest(absl::OkStatus(), answered_);
  environment_.gate->Leave();
  inside_ = false;
  {
    absl::MutexLock lock(&mutex_);
    in_work_ = false;
  }
  Advance();
  Unref();
}

void StreamCall::OnStalled(bool expired) {
  if (expired) {
    context_.TryCancel();
  }
  Unref();
}

void StreamCall::End(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  if (ended_) {
    return;
  }
  ended_ = true;
  code_ = status.code();
  if (!status.ok()) RecordRequest(status, SteadyNow());
  AddRetryHint(status, *environment_.dispatcher, &context_);
  Ref();  // OnFinished
  stream_.Finish(ToGrpcStatus(status), &finished_);
}

void StreamCall::RecordRequest(const absl::Status& status, absl::Time answered) {
  Record(environment_, context_,
         {page_.rpc, status.code(), request_arrival_, deadline_, SteadyNow()}, status, caller_,
         answered, times_);
}

void StreamCall::CountRequestsDeadline(absl::StatusCode code) {
  CountDeadline({page_.rpc, code, request_arrival_, deadline_, SteadyNow()},
                cancelled_->load() ? given_up_ : absl::InfiniteFuture(), *environment_.metrics);
}

void StreamCall::OnNotified(bool) {
  if (context_.IsCancelled()) {
    given_up_ = SteadyNow();
    cancelled_->store(true);
  }
  Unref();
}

void StreamCall::OnFinished(bool) { Unref(); }

void StreamCall::Unref() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  if (inside_) {
    environment_.gate->Leave();
  }
  StreamLimit* const streams = environment_.streams;
  environment_.metrics->RequestFinished(page_.rpc, code_, SteadyNow() - arrival_, response_bytes_);
  delete this;
  streams->Vacate();
  streams->Leave();  // last: the server may end now
}

}  // namespace baseband::server
