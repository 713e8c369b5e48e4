#include "server/calls/stream_call.h"

#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/calls/deadline_outcome.h"
#include "server/grpc/status.h"
#include "server/grpc/wire.h"

namespace baseband::server {

void StreamCall::Listen(const CallEnvironment* environment, const OperationMethod* method,
                        grpc::ServerCompletionQueue* queue) {
  auto* const call = new StreamCall(environment, method, queue);
  environment->service->ListenBidiStream(method->number, &call->context_, &call->stream_, queue,
                                         &call->arrived_);
}

StreamCall::StreamCall(const CallEnvironment* environment, const OperationMethod* method,
                       grpc::ServerCompletionQueue* queue)
    : GrpcCall(environment, queue),
      method_(*method),
      stream_(&context_),
      room_alarm_(environment->timer) {}

void StreamCall::OnArrived(bool ok) {
  if (!ok) {  // the server is shutting down: no call came, and no other event will
    delete this;
    return;
  }
  Listen(&environment_, &method_, queue_);
  arrival_ = SteadyNow();
  environment_.metrics->RequestStarted(method_.operation->stream_rpc(), 0);
  const absl::Status status = EnterStream(*environment_.streams);
  if (status.ok()) {
    session_ = method_.operation->NewStream(
        environment_.limits, environment_.metrics->ResultsOf(method_.operation->rpc()));
    absl::MutexLock lock(&mutex_);
    StartRead();
  } else {
    End(status);
  }
  EndArrival();
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
    End(status);
  }
}

absl::Status StreamCall::Begin(const grpc::ByteBuffer& message) {
  request_.emplace(environment_, method_.operation->stream_rpc(), SteadyNow());
  request_->requester() = requester_;
  BASEBAND_RETURN_IF_ERROR(request_->EnterGate());
  environment_.metrics->AddRequestBytes(method_.operation->stream_rpc(),
                                        static_cast<int64_t>(message.Length()));
  BASEBAND_ASSIGN_OR_RETURN(wire_request_,
                            ReadRequest(message, method_.operation->description().payload_field));
  BASEBAND_ASSIGN_OR_RETURN(Conversion conversion, session_->Convert(wire_request_));
  if (conversion.job != nullptr) {
    job_ = std::move(conversion.job);
    return Submit();
  }
  preparation_ = std::move(conversion.preparation);
  return RunOnSlowPath(wire_request_.bytes(), [this](const ContinueCheck& turn) {
    absl::StatusOr<JobPtr> job = preparation_->Finish(SlowPathCheck(requester_, turn));
    preparation_.reset();
    absl::Status status = job.status();
    if (status.ok()) {
      job_ = *std::move(job);
      status = Submit();
    }
    if (!status.ok()) End(status);
  });
}

absl::Status StreamCall::Submit() {
  Ref();  // Answer, or OnRoom
  const absl::Status status =
      request_->Submit(wire_request_, job_, [this](absl::Status ended, JobPtr job) {
        Answer(std::move(ended), std::move(job));
        Unref();
      });
  if (status.ok()) {
    return status;
  }
  if (absl::IsResourceExhausted(status) && !requester_.cancellation->is_cancelled()) {
    room_alarm_.Set(queue_, SteadyNow() + environment_.dispatcher->RetryHint(), &room_);
    return absl::OkStatus();
  }
  Unref();
  return status;
}

void StreamCall::OnRoom(bool) {
  const absl::Status status = requester_.cancellation->is_cancelled()
                                  ? absl::CancelledError("the client cancelled")
                                  : Submit();
  if (!status.ok()) {
    End(status);
  }
  Unref();
}

void StreamCall::Answer(absl::Status status, JobPtr job) {
  request_->Ended(job->times);
  absl::StatusOr<Reply> reply =
      status.ok() ? session_->ToReply(*job) : absl::StatusOr<Reply>(status);
  request_->Answer(reply.status());
  if (!reply.ok()) {
    End(reply.status());
    return;
  }
  ObserveStages(job->operation().rpc(), job->times, *environment_.metrics);
  const grpc::ByteBuffer response = ToByteBuffer(*std::move(reply));
  response_bytes_ += static_cast<int64_t>(response.Length());
  job.reset();
  wire_request_ = Request();
  absl::MutexLock lock(&mutex_);
  if (ended_) {
    return;
  }
  WatchForStall(environment_.max_stall);
  Ref();  // OnWritten
  stream_.Write(response, &written_);
}

void StreamCall::OnWritten(bool ok) {
  StopWatching();
  EndRequest(ok ? absl::OkStatus() : absl::CancelledError("the client is gone"));
  {
    absl::MutexLock lock(&mutex_);
    in_work_ = false;
  }
  Advance();
  Unref();
}

void StreamCall::EndRequest(const absl::Status& status) {
  request_->End(status, 0, [this] { return RequestId(); });
  request_.reset();
}

void StreamCall::End(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  if (ended_) {
    return;
  }
  ended_ = true;
  status_ = status;
  AddRetryHint(status);
  EndWatching();
  Ref();  // OnFinished
  stream_.Finish(ToGrpcStatus(status), &finished_);
}

void StreamCall::OnFinished(bool) { Unref(); }

void StreamCall::Destroy() {
  // gRPC tells of a cancelled call's read as of one whose client sends no more.
  status_ = EndOf(status_, arrival_, requester_.deadline, requester_.cancellation->given_up());
  if (!status_.ok()) {  // in the middle of a request, or before the first
    if (!request_.has_value()) {
      request_.emplace(environment_, method_.operation->stream_rpc(), arrival_);
      request_->requester() = requester_;
    }
    request_->Answer(status_);
    EndRequest(status_);
  }
  environment_.metrics->RequestFinished(method_.operation->stream_rpc(), status_,
                                        SteadyNow() - arrival_, response_bytes_);
  environment_.streams->Vacate();
  delete this;  // last: the server may end now
}

}  // namespace baseband::server
