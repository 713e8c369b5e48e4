// SubmitCall's half that talks to the client: responses, one after the other, and the end.
#include <utility>

#include "kernels/base/steady_time.h"
#include "server/calls/deadline_outcome.h"
#include "server/calls/submit_call.h"
#include "server/calls/submit_request.h"
#include "server/grpc/status.h"

namespace baseband::server {

void SubmitCall::Respond(const RequestPtr& request, const absl::Status& status,
                         const grpc::ByteBuffer& result) {
  request->answered = SteadyNow();
  request->status = status;
  request->result = result;
  Ref();  // once it is among the others, its own may be gone at any time
  {
    absl::MutexLock lock(&mutex_);
    answered_.push_back(request);
  }
  Advance();
  Unref();
}

void SubmitCall::Advance() {
  RequestPtr request;
  std::deque<RequestPtr> dropped;
  grpc::WriteOptions options;
  SubmitOutcome outcome;
  bool end = false;
  absl::Status status;
  {
    absl::MutexLock lock(&mutex_);
    if (end_.has_value()) {
      dropped.swap(answered_);  // nobody hears them any more
      for (const RequestPtr& nobodys : dropped) CountRequestsDeadline(*nobodys);
    } else if (!writing_ && !answered_.empty()) {
      request = std::move(answered_.front());
      answered_.pop_front();
      writing_ = true;
      written_request_ = request;
      write_begin_ = SteadyNow();
      CountRequestsDeadline(*request);
      WatchForStalls();
      outcome.bytes = window_.Close(request->id);
      if (!answered_.empty()) {
        options.set_buffer_hint();  // the next one follows at once
      }
    } else if (!writing_ && window_.empty() && (half_closed_ || draining_)) {
      end_ = half_closed_ ? absl::OkStatus()
                          : absl::UnavailableError("this server is shutting down: use another one");
    }
    if (end_.has_value() && !writing_ && !ended_) {
      end = ended_ = true;
      status = *end_;
      stall_alarm_.Cancel();
      Ref();  // OnFinished
    }
  }
  for (const RequestPtr& nobodys : dropped) {
    Leave(nobodys, /*sent=*/false);
  }
  if (request != nullptr) {
    outcome.id = request->id;
    outcome.status = request->status;
    outcome.requests = 1;
    if (absl::IsResourceExhausted(request->status)) {
      outcome.retry_after = RetryAfter(request->status, environment_.dispatcher->RetryHint());
    }
    stream_.Write(MakeSubmitResponse(outcome, request->operation,
                                     std::exchange(request->result, grpc::ByteBuffer())),
                  options, &written_);  // the request's reference is the event's, too
  }
  if (end) {
    stream_.Finish(ToGrpcStatus(status), &finished_);
  }
}

void SubmitCall::CountRequestsDeadline(const Request& request) {
  if (!request.accepted) return;
  CountDeadline(
      {request.rpc(), request.status.code(), request.arrival, request.deadline, SteadyNow()},
      end_time_, *environment_.metrics);
}

void SubmitCall::OnWritten(bool ok) {
  RequestPtr request;
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    request = std::exchange(written_request_, nullptr);
  }
  if (!ok) {
    End(absl::CancelledError("the client is gone"));
  } else {
    Advance();
  }
  if (request != nullptr) {
    Leave(request, ok);
  } else {
    Unref();
  }
}

void SubmitCall::Leave(const RequestPtr& request, bool sent) {
  if (request->operation != nullptr) {
    const absl::Time now = SteadyNow();
    if (sent) {
      environment_.metrics->ObserveStage(request->rpc(), Stage::kReply, now - request->answered);
    }
    const absl::StatusCode code = sent ? request->status.code() : absl::StatusCode::kCancelled;
    environment_.metrics->RequestFinished(request->rpc(), code, now - request->arrival,
                                          sent ? request->reply_bytes : 0);
    Record(environment_, context_, {request->rpc(), code, request->arrival, request->deadline, now},
           request->status, request->caller, request->answered, request->times, request->id);
  }
  if (request->inside) {
    environment_.gate->Leave();
  }
  request->hold = ClientHold();
  Unref();
}

void SubmitCall::WatchForStalls() {
  if (watching_) {
    return;
  }
  watching_ = true;
  Ref();  // OnStallCheck
  stall_alarm_.Set(queue_, write_begin_ + environment_.max_stall, &stall_check_);
}

void SubmitCall::OnStallCheck(bool expired) {
  bool stalled = false;
  {
    absl::MutexLock lock(&mutex_);
    watching_ = false;
    if (expired && writing_ && !ended_) {
      stalled = SteadyNow() - write_begin_ >= environment_.max_stall;
      if (!stalled) {
        WatchForStalls();
      }
    }
  }
  if (stalled) {
    context_.TryCancel();
  }
  Unref();
}

void SubmitCall::End(const absl::Status& status) {
  cancelled_->store(true);
  {
    absl::MutexLock lock(&mutex_);
    if (!end_.has_value()) {
      end_ = status;
      end_time_ = SteadyNow();
    }
  }
  Advance();
}

}  // namespace baseband::server
