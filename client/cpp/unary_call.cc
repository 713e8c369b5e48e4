#include "client/cpp/unary_call.h"

#include <algorithm>
#include <utility>

#include "client/cpp/submit_stream.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {

UnaryCall::UnaryCall(CallSpec spec, ChannelPool* channels, grpc::CompletionQueue* queue, Done done)
    : spec_(std::move(spec)),
      timeout_(spec_.header.deadline - SteadyNow()),
      throttled_as_(ClientThrottle::KindOf(spec_.method, spec_.header.priority, timeout_)),
      channels_(channels),
      queue_(queue),
      done_(std::move(done)),
      request_(spec_.request),
      alarm_(channels->timer()) {}

void UnaryCall::Start() {
  absl::MutexLock lock(&mutex_);
  if (spec_.failure.ok()) {
    StartAttempt();
  } else {
    cancelled_ = true;
    Pause(absl::ZeroDuration());  // `done_` runs on the polling thread in this case too
  }
}

void UnaryCall::Pause(absl::Duration pause) {
  pausing_ = true;
  alarm_.Set(queue_, SteadyNow() + pause, new CallTag{shared_from_this()});
}

void UnaryCall::StartAttempt() {
  pausing_ = false;
  ClientThrottle::Admission admission =
      channels_->throttle().Admit(throttled_as_, spec_.header.deadline, timeout_, weak_from_this());
  if (admission.waits() && !cancelled_) {
    waiting_ = true;
    Pause(admission.wait_until - SteadyNow());
    return;
  }
  ++attempts_;
  withheld_ = admission.waits() ? absl::CancelledError("cancelled") : std::move(admission.status);
  if (!withheld_.ok()) {
    attempt_ = nullptr;
    alarm_.Set(queue_, SteadyNow(), new CallTag{shared_from_this()});
    return;
  }
  sent_ = SteadyNow();
  attempt_ = std::make_unique<Attempt>(spec_.header, channels_, request_.Length());
  response_.Clear();
  status_ = grpc::Status();
  reader_ = attempt_->channel().stub->PrepareUnaryCall(attempt_->context(), spec_.method, request_,
                                                       queue_);
  reader_->StartCall();
  reader_->Finish(&response_, &status_, new CallTag{shared_from_this()});
  if (cancelled_) {
    attempt_->Cancel();
  }
}

bool UnaryCall::OnRoom() {
  absl::MutexLock lock(&mutex_);
  if (!std::exchange(waiting_, false)) return false;
  alarm_.Cancel();
  return true;
}

void UnaryCall::Cancel() {
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  if (pausing_) {
    alarm_.Cancel();
  } else if (attempt_ != nullptr) {
    attempt_->Cancel();
  }
}

absl::Status UnaryCall::EndAttempt() {
  if (!withheld_.ok()) return cancelled_ ? absl::CancelledError("cancelled") : withheld_;
  attempt_->End();
  if (status_.ok() && !response_.Valid()) {
    // Of a call that is cancelled while both come gRPC may have the status and drop the answer.
    status_ = cancelled_ ? grpc::Status(grpc::StatusCode::CANCELLED, "cancelled")
              : SteadyNow() >= spec_.header.deadline
                  ? grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "the timeout passed")
                  : grpc::Status(grpc::StatusCode::INTERNAL, "the server sent OK and no answer");
  }
  absl::Status status = attempt_->Outcome(status_, cancelled_);
  // An answer may come after its deadline, for gRPC's timers go off a millisecond or two after it;
  // and a refusal of what would be late before it.
  const absl::Time now = SteadyNow();
  const bool was_late =
      now >= spec_.header.deadline && (status.ok() || absl::IsDeadlineExceeded(status));
  channels_->throttle().OnEnd(throttled_as_, status, was_late,
                              absl::FDivDuration(now - sent_, timeout_));
  return status;
}

absl::Duration UnaryCall::RetryDelay(const absl::Status& status) {
  const bool exhausted = absl::IsResourceExhausted(status);
  if (cancelled_ || attempts_ >= spec_.retry.max_attempts ||
      (!exhausted && !absl::IsUnavailable(status))) {
    return absl::InfiniteDuration();
  }
  absl::optional<absl::Duration> delay =
      withheld_.ok() ? attempt_->Pushback() : RetryAfter(withheld_);
  patience_ = absl::InfinitePast();
  if (!delay.has_value() && (exhausted || spec_.repetition.only_when_told)) {
    return absl::InfiniteDuration();
  }
  if (!delay.has_value()) {
    delay = spec_.retry.PauseAfter(attempts_);
    patience_ = SteadyNow() + 2 * *delay;
  }
  return SteadyNow() + *delay < spec_.header.deadline ? *delay : absl::InfiniteDuration();
}

bool UnaryCall::StartInstead(const absl::Status& status) {
  if (cancelled_ || status.ok() || spec_.repetition.instead == nullptr) return false;
  absl::optional<grpc::ByteBuffer> instead = spec_.repetition.instead(status);
  if (!instead.has_value()) return false;
  request_ = *std::move(instead);
  --attempts_;
  StartAttempt();
  return true;
}

bool UnaryCall::Advance(absl::StatusOr<grpc::ByteBuffer>* result) {
  absl::MutexLock lock(&mutex_);
  waiting_ = false;
  if (pausing_ && !cancelled_) {
    const absl::Duration left = std::min(patience_, spec_.header.deadline) - SteadyNow();
    if (left > absl::ZeroDuration() && !channels_->IsConnected()) {
      Pause(std::min(kConnectionLook, left));
    } else {
      StartAttempt();
    }
    return false;
  }
  if (pausing_) {
    *result =
        spec_.failure.ok() ? absl::CancelledError("cancelled before it was sent") : spec_.failure;
    return true;
  }
  const absl::Status status = EndAttempt();
  if (StartInstead(status)) return false;
  const absl::Duration delay = RetryDelay(status);
  if (delay != absl::InfiniteDuration()) {
    if (spec_.repetition.before != nullptr) spec_.repetition.before();
    Pause(delay);
    return false;
  }
  if (status.ok()) {
    *result = std::move(response_);
  } else {
    *result = status;
  }
  return true;
}

void UnaryCall::OnEvent(int /*event*/, bool /*ok*/) {
  absl::StatusOr<grpc::ByteBuffer> result = absl::UnknownError("");
  const bool has_ended = Advance(&result);
  channels_->throttle().TellWaiting(throttled_as_);
  if (!has_ended) return;
  const Done done = std::move(done_);
  done(std::move(result));
}

}  // namespace baseband::client
