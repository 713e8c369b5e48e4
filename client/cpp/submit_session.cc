#include "client/cpp/submit_session.h"

#include <algorithm>
#include <utility>

#include "kernels/base/steady_time.h"

namespace baseband::client {

SubmitSession::SubmitSession(Connection connection)
    : connection_(std::move(connection)), current_(connection_.open()) {}

SubmitSession::CallPtr SubmitSession::Current() {
  absl::MutexLock lock(&mutex_);
  if (current_ == nullptr) {
    current_ = connection_.open();
    if (cancelled_) current_->Cancel();
  }
  return current_;
}

void SubmitSession::Retire(const CallPtr& call) {
  {
    absl::MutexLock lock(&mutex_);
    if (current_ != call) return;
    current_ = nullptr;
    retired_.erase(std::remove_if(retired_.begin(), retired_.end(),
                                  [](const auto& other) { return other.expired(); }),
                   retired_.end());
    retired_.push_back(call);
  }
  call->HalfClose();  // a server that drains still answers what it has
}

SubmitItem SubmitSession::Watched(const SentPtr& sent, const CallPtr& call) {
  SubmitItem item;
  item.fields = sent->item.fields;
  item.request = sent->item.request;  // shares its bytes
  item.deadline = sent->item.deadline;
  item.priority = sent->item.priority;
  item.done = [self = shared_from_this(), sent,
               weak = std::weak_ptr<SubmitCall>(call)](absl::StatusOr<grpc::ByteBuffer> answer) {
    self->OnAnswer(sent, weak.lock(), std::move(answer));
  };
  return item;
}

bool SubmitSession::MayTryAgain(const Sent& sent) const {
  absl::MutexLock lock(&mutex_);
  return !cancelled_ && sent.attempts < connection_.retry.max_attempts &&
         SteadyNow() < sent.item.deadline;
}

absl::Status SubmitSession::Submit(SubmitItem item, bool wait_for_credits) {
  const auto sent = std::make_shared<Sent>();
  sent->item = std::move(item);
  {
    absl::MutexLock lock(&mutex_);
    if (finished_) return absl::UnavailableError("the stream has ended: Finish() says why");
    if (finish_wanted_) return absl::FailedPreconditionError("the stream was finished");
    ++unanswered_;
  }
  for (;;) {
    const CallPtr call = Current();
    absl::Status status = call->Submit(Watched(sent, call), wait_for_credits);
    if (status.ok()) return status;
    if (absl::IsFailedPrecondition(status)) continue;  // retired just now by somebody else
    bool again = absl::IsUnavailable(status) && MayTryAgain(*sent);
    if (again) {
      Retire(call);
      again = !wait_for_credits || PauseAfter(sent->attempts, sent->item.deadline);
    }
    if (!again) {
      absl::MutexLock lock(&mutex_);
      gave_up_ |= absl::IsUnavailable(status);
      --unanswered_;
      return status;
    }
    ++sent->attempts;
  }
}

bool SubmitSession::PauseAfter(int attempts, absl::Time deadline) {
  const absl::Duration pause = connection_.retry.PauseAfter(attempts);
  if (pause == absl::ZeroDuration()) return true;
  if (SteadyNow() + pause >= deadline) return false;
  const auto over = std::make_shared<bool>(false);
  connection_.after(pause, [self = shared_from_this(), over](bool) {
    absl::MutexLock lock(&self->mutex_);
    *over = true;
    self->changed_.NotifyAll();
  });
  absl::MutexLock lock(&mutex_);
  return changed_.AwaitUntil(mutex_, deadline, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return *over || cancelled_;
  }) && !cancelled_;
}

bool SubmitSession::SendInstead(const SentPtr& sent, const absl::Status& status) {
  if (status.ok() || sent->item.repetition.instead == nullptr) return false;
  {
    absl::MutexLock lock(&mutex_);
    if (cancelled_) return false;
  }
  absl::optional<grpc::ByteBuffer> instead = sent->item.repetition.instead(status);
  if (!instead.has_value()) return false;
  sent->item.request = *std::move(instead);
  SendAgain(sent);
  return true;
}

void SubmitSession::OnAnswer(const SentPtr& sent, const CallPtr& call,
                             absl::StatusOr<grpc::ByteBuffer> answer) {
  if (SendInstead(sent, answer.status())) return;
  const Repetition& repetition = sent->item.repetition;
  const bool is_told = RetryAfter(answer.status()) > absl::ZeroDuration();
  if (!absl::IsUnavailable(answer.status()) || !MayTryAgain(*sent) ||
      (repetition.only_when_told && !is_told)) {
    Answer(sent, std::move(answer));
    return;
  }
  const int tried = sent->attempts++;
  if (repetition.before != nullptr) repetition.before();
  absl::Duration pause = RetryAfter(answer.status());
  if (pause == absl::ZeroDuration()) {
    // It may have gone. One that drains refuses each request, too, before it ends the stream.
    if (call != nullptr) Retire(call);
    pause = connection_.retry.PauseAfter(tried);
  }
  if (pause == absl::ZeroDuration()) {
    SendAgain(sent);
    return;
  }
  if (SteadyNow() + pause >= sent->item.deadline) {
    Answer(sent, std::move(answer));
    return;
  }
  {
    absl::MutexLock lock(&mutex_);
    ++pausing_;
  }
  connection_.after(pause, [self = shared_from_this(), sent](bool ok) {
    bool cancelled = !ok;
    {
      absl::MutexLock lock(&self->mutex_);
      --self->pausing_;
      cancelled |= self->cancelled_;
    }
    if (cancelled) {
      self->Answer(sent, absl::CancelledError("cancelled while waiting to retry"));
    } else {
      self->SendAgain(sent);
    }
  });
}

void SubmitSession::SendAgain(const SentPtr& sent) {
  for (;;) {
    const CallPtr call = Current();
    absl::Status status = call->Enqueue(Watched(sent, call));
    if (status.ok()) return;
    if (absl::IsFailedPrecondition(status)) continue;  // as in Submit
    if (!MayTryAgain(*sent)) {
      Answer(sent, std::move(status));
      return;
    }
    ++sent->attempts;
    Retire(call);
  }
}

void SubmitSession::Answer(const SentPtr& sent, absl::StatusOr<grpc::ByteBuffer> answer) {
  const bool is_lost = absl::IsUnavailable(answer.status());
  const SubmitItem::Done done = std::move(sent->item.done);
  done(std::move(answer));
  absl::MutexLock lock(&mutex_);
  gave_up_ |= is_lost;
  --unanswered_;
}

int SubmitSession::in_flight() const {
  absl::MutexLock lock(&mutex_);
  int sum = pausing_ + (current_ != nullptr ? current_->in_flight() : 0);
  for (const auto& weak : retired_) {
    if (const CallPtr call = weak.lock()) sum += call->in_flight();
  }
  return sum;
}

absl::Status SubmitSession::Finish() {
  {
    absl::MutexLock lock(&mutex_);
    finish_wanted_ = true;
    mutex_.Await(absl::Condition(
        +[](int64_t* unanswered) { return *unanswered == 0; }, &unanswered_));
  }
  const absl::Status ended = Current()->Finish();
  absl::MutexLock lock(&mutex_);
  finished_ = true;
  // A server that went when all was answered is nobody's loss.
  return absl::IsUnavailable(ended) && !gave_up_ && connection_.retry.max_attempts > 1
             ? absl::OkStatus()
             : ended;
}

void SubmitSession::Cancel() {
  std::vector<CallPtr> calls;
  {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    changed_.NotifyAll();
    if (current_ != nullptr) calls.push_back(current_);
    for (const auto& weak : retired_) {
      if (CallPtr call = weak.lock()) calls.push_back(std::move(call));
    }
  }
  for (const CallPtr& call : calls) call->Cancel();
}

}  // namespace baseband::client
