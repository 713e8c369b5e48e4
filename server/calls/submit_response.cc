// SubmitCall's half that talks to the client: responses, one after the other, and the end.
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/steady_time.h"
#include "server/calls/submit_call.h"
#include "server/calls/submit_in_flight.h"
#include "server/grpc/status.h"
#include "server/metrics/unserved.h"

namespace baseband::server {
namespace {

// Whether there was not the time to serve it, as it came too early or too late.
bool IsLate(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) ||
         (absl::IsResourceExhausted(status) && ReasonOf(status) == UnservedReason::kBacklog);
}

}  // namespace

void SubmitCall::Respond(const InFlightPtr& request, const absl::Status& status,
                         const grpc::ByteBuffer& result) {
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
  InFlightPtr request;
  std::deque<InFlightPtr> dropped;
  grpc::WriteOptions options;
  SubmitOutcome outcome;
  bool end = false;
  absl::Status status;
  {
    absl::MutexLock lock(&mutex_);
    if (end_.has_value()) {
      dropped.swap(answered_);  // nobody hears them any more
      for (const InFlightPtr& nobodys : dropped) nobodys->context.Answer(nobodys->status);
    } else if (!writing_ && !answered_.empty()) {
      request = std::move(answered_.front());
      answered_.pop_front();
      writing_ = true;
      written_request_ = request;
      request->context.Answer(request->status);
      WatchForStall(environment_.max_stall);
      outcome.bytes = window_.Close(request->id, !IsLate(request->status));
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
      Ref();  // OnFinished
    }
  }
  for (const InFlightPtr& nobodys : dropped) {
    Leave(nobodys, /*sent=*/false);
  }
  if (request != nullptr) {
    outcome.id = request->id;
    outcome.status = request->status;
    outcome.requests = 1;
    if (absl::IsResourceExhausted(outcome.status)) {
      outcome.retry_after = environment_.dispatcher->RetryDelay(outcome.status);
    }
    const grpc::ByteBuffer response = MakeSubmitResponse(
        outcome, request->operation, std::exchange(request->result, grpc::ByteBuffer()));
    request->response_bytes = static_cast<int64_t>(response.Length());
    stream_.Write(response, options, &written_);  // the request's reference is the event's, too
  }
  if (end) {
    EndWatching();
    LeaveStream();
    stream_.Finish(ToGrpcStatus(status), &finished_);
  }
}

void SubmitCall::OnWritten(bool ok) {
  StopWatching();
  InFlightPtr request;
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

void SubmitCall::Leave(const InFlightPtr& request, bool sent) {
  request->context.End(sent ? request->status : absl::CancelledError("the client is gone"),
                       sent ? request->response_bytes : 0,
                       [&] { return absl::StrCat(request->id); });
  Unref();
}

void SubmitCall::End(const absl::Status& status) {
  requester_.cancellation->Cancel(SteadyNow());
  {
    absl::MutexLock lock(&mutex_);
    if (!end_.has_value()) end_ = status;
  }
  Advance();
}

}  // namespace baseband::server
