#include "client/cpp/submit_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

CallHeader HeaderOf(const SubmitStreamOptions& options) {
  CallHeader header;
  header.wait_for_ready = options.wait_for_ready;
  header.priority = options.priority;
  return header;
}

// Requests of one operation are of one kind to the throttle, beside unary calls.
std::string MethodOf(int request_field) { return absl::StrCat("Submit ", request_field); }

// What becomes of a request that has no answer when its stream ends. Only where the server went, or
// said nothing any more, it may be tried elsewhere: Unavailable. When to come back is what the
// stream's end said of it.
absl::Status Lost(const absl::Status& result) {
  if (absl::IsCancelled(result)) {
    return result;
  }
  absl::Status lost(
      absl::IsDeadlineExceeded(result) ? absl::StatusCode::kUnavailable : result.code(),
      absl::StrCat("the stream ended before the answer came: ", result.ToString()));
  const absl::Duration retry_after = RetryAfter(result);
  if (retry_after > absl::ZeroDuration()) SetRetryAfter(retry_after, &lost);
  return lost;
}

}  // namespace

SubmitCall::SubmitCall(const SubmitStreamOptions& options, ChannelPool* channels,
                       grpc::CompletionQueue* queue, std::function<void()> closed)
    : BidiCall("/baseband.v1.Baseband/Submit", HeaderOf(options), channels, queue,
               std::move(closed)),
      options_(options),
      heard_(SteadyNow()),
      alarm_(channels->timer()) {}

void SubmitCall::OnStart() {
  heard_ = SteadyNow();
  Watch();
}

absl::Status SubmitCall::CheckOpen() const {
  if (!IsOpen()) {
    return absl::UnavailableError("the stream has ended: Finish() says why");
  }
  return half_close_wanted_ ? absl::FailedPreconditionError("the stream was finished")
                            : absl::OkStatus();
}

bool SubmitCall::HasCredits(const SubmitItem& item) const {
  return credit_requests_ > 0 && (BytesOf(item) <= credit_bytes_ || open_.empty());
}

SubmitCall::Outgoing SubmitCall::Number(SubmitItem item) {
  Outgoing outgoing;
  outgoing.id = ++last_id_;
  const absl::Duration timeout = item.deadline - SteadyNow();
  outgoing.timeout = timeout;
  outgoing.throttled_as =
      ClientThrottle::KindOf(MethodOf(item.fields.request), PriorityOf(item.priority), timeout);
  if (timeout > absl::ZeroDuration() && timeout < absl::InfiniteDuration()) {
    outgoing.kind = ResponseTimes::KindOf(item.fields.request, BytesOf(item), timeout);
  }
  outgoing.item = std::move(item);
  return outgoing;
}

void SubmitCall::Accept(Outgoing outgoing) {
  outgoing.charged = BytesOf(outgoing.item);
  --credit_requests_;
  credit_bytes_ -= outgoing.charged;
  if (open_.empty()) {
    heard_ = SteadyNow();
  }
  open_.emplace(outgoing.id,
                Waiting{outgoing.item.fields.request, outgoing.item.fields.response,
                        std::move(outgoing.item.done), outgoing.item.deadline, outgoing.kind,
                        outgoing.throttled_as, outgoing.timeout, absl::InfiniteFuture()});
  outgoing_.emplace(Place(outgoing.item.deadline, outgoing.id), std::move(outgoing));
  Watch();
}

void SubmitCall::AcceptEnqueued() {
  while (!enqueued_.empty() && (blocked_.empty() || enqueued_.begin()->first < *blocked_.begin()) &&
         HasCredits(enqueued_.begin()->second.item)) {
    Accept(std::move(enqueued_.extract(enqueued_.begin()).mapped()));
  }
  changed_.NotifyAll();  // a thread in Submit() may be the next
}

void SubmitCall::Add(Outgoing outgoing) {
  const Place place(outgoing.item.deadline, outgoing.id);
  if (place.first != absl::InfiniteFuture()) deadlines_.insert(place);
  enqueued_.emplace(place, std::move(outgoing));
  AcceptEnqueued();
  Watch();
}

bool SubmitCall::IsNext(const Place& place) const {
  return *blocked_.begin() == place && (enqueued_.empty() || place < enqueued_.begin()->first);
}

absl::Status SubmitCall::Submit(SubmitItem item, bool wait_for_credits) {
  absl::Status status;
  {
    absl::MutexLock lock(&mutex_);
    Outgoing outgoing = Number(std::move(item));
    const Place place(outgoing.item.deadline, outgoing.id);
    blocked_.insert(place);
    const auto ready = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !CheckOpen().ok() || (IsNext(place) && HasCredits(outgoing.item));
    };
    const bool is_ready =
        wait_for_credits ? changed_.AwaitUntil(mutex_, place.first, ready) : ready();
    blocked_.erase(place);
    if (is_ready) {
      status = CheckOpen();
    } else if (wait_for_credits) {
      status = absl::DeadlineExceededError("the timeout passed while waiting for credits");
    } else {
      status = absl::ResourceExhaustedError(
          absl::StrCat("no credits: ", open_.size(), " requests are in flight on this stream"));
    }
    if (status.ok()) {
      Add(std::move(outgoing));
    } else {
      AcceptEnqueued();
    }
  }
  Pump();
  return status;
}

absl::Status SubmitCall::Enqueue(SubmitItem item) {
  {
    absl::MutexLock lock(&mutex_);
    if (absl::Status open = CheckOpen(); !open.ok()) return open;
    Add(Number(std::move(item)));
  }
  Pump();
  return absl::OkStatus();
}

int SubmitCall::in_flight() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(open_.size() + enqueued_.size() + hopeless_.size()) - given_up_;
}

absl::Status SubmitCall::Finish() {
  HalfClose();
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&ended_));
  return result_;
}

absl::Status SubmitCall::CheckHope(const Outgoing& outgoing) {
  if (outgoing.item.deadline == absl::InfiniteFuture()) return absl::OkStatus();
  const bool server_has_others = open_.size() > outgoing_.size();
  const absl::Time now = SteadyNow();
  if (server_has_others && outgoing.item.deadline - now < times_.Usual(outgoing.kind, now)) {
    return absl::DeadlineExceededError("not sent: too little was left of the request's timeout");
  }
  return throttle().Admit(outgoing.throttled_as, outgoing.item.deadline, outgoing.timeout).status;
}

absl::optional<grpc::ByteBuffer> SubmitCall::TakeNext(bool* more) {
  Outgoing next;
  {
    absl::MutexLock lock(&mutex_);
    while (!outgoing_.empty()) {
      absl::Status hope = CheckHope(outgoing_.begin()->second);
      if (hope.ok()) break;
      const Place place = outgoing_.begin()->first;
      deadlines_.erase(place);
      hopeless_.emplace_back(Withdraw(place), std::move(hope));
      AcceptEnqueued();
      Watch();
    }
    if (outgoing_.empty()) {
      return absl::nullopt;
    }
    next = std::move(outgoing_.extract(outgoing_.begin()).mapped());
    open_[next.id].sent = SteadyNow();
    *more = !outgoing_.empty();
  }
  const grpc::ByteBuffer message = ToMessage(next.id, next.item);
  absl::MutexLock lock(&mutex_);
  credit_bytes_ += next.charged - static_cast<int64_t>(message.Length());
  AcceptEnqueued();
  return message;
}

void SubmitCall::TellThrottle(const Waiting& waiting, const absl::Status& outcome) {
  if (waiting.timeout == absl::InfiniteDuration()) return;
  const absl::Time now = SteadyNow();
  const bool was_late = waiting.done == nullptr || now >= waiting.deadline;
  throttle().OnEnd(waiting.throttled_as, outcome, was_late,
                   absl::FDivDuration(now - waiting.sent, waiting.timeout));
}

void SubmitCall::OnHalfClosed() {
  heard_ = SteadyNow();
  Watch();
}

void SubmitCall::OnMessage(grpc::ByteBuffer message) {
  absl::StatusOr<SubmitAnswer> answer = ReadSubmitResponse(std::move(message));
  Waiting waiting;
  {
    absl::MutexLock lock(&mutex_);
    heard_ = SteadyNow();
    if (answer.ok() && answer->id != 0) {
      const auto found = open_.find(answer->id);
      if (found == open_.end() || found->second.sent == absl::InfiniteFuture()) {
        answer = absl::InternalError(
            absl::StrCat("the server answered id ", answer->id, ", which is not in flight"));
      } else {
        waiting = std::move(found->second);
        given_up_ -= waiting.done == nullptr ? 1 : 0;
        TellThrottle(waiting, answer->status);
        if (answer->status.ok()) {
          times_.Add(waiting.kind, heard_ - waiting.sent, waiting.timeout, heard_);
        }
        deadlines_.erase({waiting.deadline, answer->id});
        open_.erase(found);
      }
    }
    if (answer.ok()) {
      granted_ = true;
      credit_requests_ += answer->credit_requests;
      credit_bytes_ += answer->credit_bytes;
      AcceptEnqueued();
    } else {
      AbortLocked(answer.status());
    }
  }
  Pump();
  if (waiting.done == nullptr) {
    return;
  }
  if (!answer->status.ok()) {
    waiting.done(answer->status);
  } else if (answer->field != waiting.response_field) {
    waiting.done(absl::InternalError("the server answered with another operation's response"));
  } else {
    waiting.done(std::move(answer->result));
  }
}

absl::Status SubmitCall::CheckComplete() const {
  return open_.empty() && enqueued_.empty()
             ? absl::OkStatus()
             : absl::InternalError(absl::StrCat("the server ended the stream with ",
                                                open_.size() + enqueued_.size(),
                                                " requests unanswered"));
}

void SubmitCall::OnEnd(const absl::Status& result) {
  std::unordered_map<uint64_t, Waiting> open;
  Queue enqueued;
  Hopeless hopeless;
  {
    absl::MutexLock lock(&mutex_);
    open.swap(open_);
    enqueued.swap(enqueued_);
    hopeless.swap(hopeless_);
    outgoing_.clear();
    deadlines_.clear();
    given_up_ = 0;
    alarm_.Cancel();
  }
  const absl::Status lost = Lost(result);
  for (auto& [id, waiting] : open) {
    if (waiting.sent < absl::InfiniteFuture()) TellThrottle(waiting, lost);
    if (waiting.done != nullptr) waiting.done(lost);
  }
  for (auto& [place, outgoing] : enqueued) {
    outgoing.item.done(lost);
  }
  for (const auto& [done, why] : hopeless) done(why);
}

SubmitItem::Done SubmitCall::Withdraw(const Place& place) {
  if (auto enqueued = enqueued_.extract(place); !enqueued.empty()) {
    return std::move(enqueued.mapped().item.done);
  }
  const auto waiting = open_.find(place.second);
  SubmitItem::Done done = std::exchange(waiting->second.done, nullptr);
  const auto outgoing = outgoing_.extract(place);
  if (outgoing.empty()) {
    ++given_up_;  // the server has it, and gives its credits back when it answers
    return done;
  }
  ++credit_requests_;
  credit_bytes_ += outgoing.mapped().charged;
  open_.erase(waiting);
  return done;
}

bool SubmitCall::IsResponseDue() const { return !open_.empty() || !granted_ || half_closed_; }

void SubmitCall::Watch() {
  if (ended_ || finishing_) {
    return;
  }
  absl::Time when = deadlines_.empty() ? absl::InfiniteFuture() : deadlines_.begin()->first;
  if (!hopeless_.empty()) when = absl::InfinitePast();
  if (IsResponseDue()) {
    when = std::min(when, heard_ + options_.response_timeout);
  }
  if (when == absl::InfiniteFuture()) {
    return;
  }
  if (!watching_) {
    watching_ = true;
    alarm_time_ = when;
    alarm_.Set(queue(), when, Tag(kAlarm));
  } else if (when < alarm_time_) {
    alarm_time_ = absl::InfinitePast();  // once is enough
    alarm_.Cancel();                     // its event sets it anew
  }
}

void SubmitCall::OnAlarm() {
  Hopeless hopeless;
  std::vector<SubmitItem::Done> late;
  {
    absl::MutexLock lock(&mutex_);
    watching_ = false;
    if (finishing_) {
      return;
    }
    hopeless.swap(hopeless_);
    const absl::Time now = SteadyNow();
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      late.push_back(Withdraw(*deadlines_.begin()));
      deadlines_.erase(deadlines_.begin());
    }
    AcceptEnqueued();  // credits may have come back
    if (IsResponseDue() && now - heard_ >= options_.response_timeout) {
      AbortLocked(absl::DeadlineExceededError(
          absl::StrCat("no response within ", absl::FormatDuration(options_.response_timeout))));
    } else {
      Watch();
    }
  }
  for (const auto& [done, why] : hopeless) done(why);
  for (const SubmitItem::Done& done : late) {
    done(absl::DeadlineExceededError("no answer within the request's timeout"));
  }
  Pump();  // the half-close may have waited for them
}

}  // namespace baseband::client
