#include "server/calls/stream_call.h"

#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/calls/deadline_outcome.h"
#include "server/grpc/status.h"
#include "server/grpc/wire.h"

namespace baseband::server {

struct StreamCall::Message {
  Message(const CallEnvironment& environment, Rpc rpc, absl::Time arrival)
      : context(environment, rpc, arrival) {}

  RequestContext context;
  grpc::ByteBuffer received;  // until it is converted
  Request request;            // from then on, until its job has ended
  std::unique_ptr<Preparation> preparation;
  JobPtr job;  // until it is handed over
  // The call's, under its lock until is_done:
  bool is_done = false;
  absl::Status status;
  JobPtr ended_job;
};

void StreamCall::Listen(const CallEnvironment* environment, const OperationMethod* method,
                        grpc::ServerCompletionQueue* queue) {
  auto* const call = new StreamCall(environment, method, queue);
  environment->service->Listen(method->number, &call->context_, &call->stream_, queue,
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
  Ref();
  stream_.Read(&incoming_, &read_);
}

void StreamCall::OnRead(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    if (ok) {
      waiting_ = std::exchange(incoming_, grpc::ByteBuffer());
    } else {
      half_closed_ = true;
    }
  }
  Advance();
  Deliver();
  Unref();
}

void StreamCall::Advance() {
  Message* message = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    if (ended_ || is_converting_ || !waiting_.has_value() || messages_.size() == kMaxInWork) {
      return;
    }
    messages_.push_back(
        std::make_unique<Message>(environment_, method_.operation->stream_rpc(), SteadyNow()));
    message = messages_.back().get();
    message->received = *std::exchange(waiting_, std::nullopt);
    is_converting_ = true;
    if (!half_closed_) StartRead();
  }
  if (absl::Status status = Begin(*message); !status.ok()) {
    Done(*message, std::move(status), nullptr);
  }
}

absl::Status StreamCall::Begin(Message& message) {
  message.context.requester() = requester_;
  BASEBAND_RETURN_IF_ERROR(message.context.EnterGate());
  environment_.metrics->AddRequestBytes(method_.operation->stream_rpc(),
                                        static_cast<int64_t>(message.received.Length()));
  return Convert(message);
}

absl::Status StreamCall::Convert(Message& message) {
  const auto bytes = static_cast<int64_t>(message.received.Length());
  if (const absl::Status room = message.context.EnterQuota(bytes); !room.ok()) {
    return AwaitRoom(room);
  }
  BASEBAND_ASSIGN_OR_RETURN(
      message.request,
      ReadRequest(message.received, method_.operation->description().payload_field));
  message.received.Clear();  // the request has its payload still
  BASEBAND_RETURN_IF_ERROR(LookUpSharedMemory(environment_, &message.request));
  message.request.client = requester_.caller.client;
  BASEBAND_ASSIGN_OR_RETURN(Conversion conversion, session_->Convert(message.request));
  if (conversion.job != nullptr) {
    message.job = std::move(conversion.job);
    return Submit(message);
  }
  message.preparation = std::move(conversion.preparation);
  return RunOnSlowPath(message.request.bytes(), [this, &message](const ContinueCheck& turn) {
    absl::StatusOr<JobPtr> job = message.preparation->Finish(SlowPathCheck(requester_, turn));
    message.preparation.reset();
    absl::Status status = job.status();
    if (status.ok()) {
      message.job = *std::move(job);
      status = Submit(message);
    }
    if (!status.ok()) Done(message, std::move(status), nullptr);
  });
}

absl::Status StreamCall::Submit(Message& message) {
  Ref();  // Done
  const absl::Status status = message.context.Submit(
      message.request, message.job, [this, &message](absl::Status ended, JobPtr job) {
        Done(message, std::move(ended), std::move(job));
        Unref();
      });
  if (!status.ok()) {
    const absl::Status waits = AwaitRoom(status);
    Unref();
    return waits;
  }
  {  // the message may be gone by now
    absl::MutexLock lock(&mutex_);
    is_converting_ = false;
  }
  Advance();
  return status;
}

absl::Status StreamCall::AwaitRoom(const absl::Status& refusal) {
  if (!absl::IsResourceExhausted(refusal) || requester_.cancellation->is_cancelled()) {
    return refusal;
  }
  Ref();  // OnRoom
  room_alarm_.Set(queue_, SteadyNow() + environment_.dispatcher->RetryHint(), &room_);
  return absl::OkStatus();
}

void StreamCall::OnRoom(bool) {
  Message* message = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    message = messages_.back().get();
  }
  absl::Status status = absl::CancelledError("the client cancelled");
  if (!requester_.cancellation->is_cancelled()) {
    status = message->job == nullptr ? Convert(*message) : Submit(*message);
  }
  if (!status.ok()) Done(*message, std::move(status), nullptr);
  Unref();
}

void StreamCall::Done(Message& message, absl::Status status, JobPtr job) {
  if (job != nullptr) message.context.Ended(job->times);
  message.request = Request();
  message.context.LeaveQuota();
  {
    absl::MutexLock lock(&mutex_);
    message.status = std::move(status);
    message.ended_job = std::move(job);
    message.is_done = true;
  }
  Deliver();
}

void StreamCall::Deliver() {
  Message* message = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    if (ended_ || is_answering_) return;
    if (messages_.empty()) {
      if (waiting_.has_value() || !half_closed_) return;
    } else {
      message = messages_.front().get();
      if (!message->is_done) return;
    }
    is_answering_ = true;
  }
  if (message == nullptr) {
    End(absl::OkStatus());
    return;
  }
  absl::StatusOr<Reply> reply = message->status.ok() ? session_->ToReply(*message->ended_job)
                                                     : absl::StatusOr<Reply>(message->status);
  message->context.Answer(reply.status());
  if (!reply.ok()) {
    End(reply.status());
    return;
  }
  ObserveStages(message->ended_job->operation().rpc(), message->ended_job->times,
                *environment_.metrics);
  message->context.Place(message->ended_job->reply_place, *reply);
  const grpc::ByteBuffer response = ToByteBuffer(*std::move(reply));
  response_bytes_ += static_cast<int64_t>(response.Length());
  message->ended_job.reset();
  absl::MutexLock lock(&mutex_);
  WatchForStall(environment_.max_stall);
  Ref();  // OnWritten
  stream_.Write(response, &written_);
}

void StreamCall::OnWritten(bool ok) {
  StopWatching();
  std::unique_ptr<Message> message;
  {
    absl::MutexLock lock(&mutex_);
    message = std::move(messages_.front());
    messages_.pop_front();
    is_answering_ = false;
  }
  EndMessage(*message, ok ? absl::OkStatus() : absl::CancelledError("the client is gone"));
  Advance();
  Deliver();
  Unref();
}

void StreamCall::EndMessage(Message& message, const absl::Status& status) {
  message.context.End(status, 0, [this] { return RequestId(); });
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
  LeaveStream();
  Ref();  // OnFinished
  stream_.Finish(ToGrpcStatus(status), &finished_);
}

void StreamCall::OnFinished(bool) { Unref(); }

void StreamCall::Destroy() {
  // gRPC tells of a cancelled call's read as of one whose client sends no more.
  status_ = EndOf(status_, arrival_, requester_.deadline, requester_.cancellation->given_up());
  if (!status_.ok() && messages_.empty()) {  // before the first, or between two
    messages_.push_back(
        std::make_unique<Message>(environment_, method_.operation->stream_rpc(), arrival_));
    messages_.back()->context.requester() = requester_;
  }
  absl::Status status = status_;
  for (const std::unique_ptr<Message>& message : messages_) {
    message->context.Answer(status);
    EndMessage(*message, status);
    if (!absl::IsDeadlineExceeded(status)) {
      status = absl::CancelledError("an earlier message of the stream ended it");
    }
  }
  environment_.metrics->RequestFinished(method_.operation->stream_rpc(), status_,
                                        SteadyNow() - arrival_, response_bytes_);
  delete this;  // last: the server may end now
}

}  // namespace baseband::server
