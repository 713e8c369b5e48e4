#include "client/cpp/submit_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

// Both name the classes in the same order.
v1::Priority ToProto(Priority priority) {
  return static_cast<v1::Priority>(v1::PRIORITY_HIGH + static_cast<int>(priority));
}
static_assert(v1::PRIORITY_LOW - v1::PRIORITY_HIGH == static_cast<int>(Priority::kLow));

grpc::ByteBuffer ToMessage(uint64_t id, const SubmitItem& item) {
  v1::SubmitRequest header;
  header.set_id(id);
  if (item.deadline != absl::InfiniteFuture()) {
    header.set_timeout_us(static_cast<uint64_t>(
        std::max<int64_t>(1, absl::ToInt64Microseconds(item.deadline - SteadyNow()))));
  }
  if (item.priority.has_value()) {
    header.set_priority(ToProto(*item.priority));
  }
  return MakeSubmitRequest(header, item.fields.request, item.request);
}

CallHeader HeaderOf(const SubmitStreamOptions& options) {
  CallHeader header;
  header.wait_for_ready = options.wait_for_ready;
  header.priority = options.priority;
  return header;
}

int64_t BytesOf(const SubmitItem& item) {
  return static_cast<int64_t>(item.request.Length() + kMaxSubmitHeaderBytes);
}

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
  if (item.deadline != absl::InfiniteFuture()) {
    deadlines_.emplace(item.deadline, outgoing.id);
  }
  outgoing.item = std::move(item);
  Watch();
  return outgoing;
}

void SubmitCall::Accept(Outgoing outgoing) {
  outgoing.charged = BytesOf(outgoing.item);
  --credit_requests_;
  credit_bytes_ -= outgoing.charged;
  if (open_.empty()) {
    heard_ = SteadyNow();
  }
  open_.emplace(outgoing.id, Waiting{outgoing.item.fields.response, std::move(outgoing.item.done),
                                     outgoing.item.deadline});
  outgoing_.push_back(std::move(outgoing));
  Watch();
}

absl::Status SubmitCall::Submit(SubmitItem item, bool wait_for_credits) {
  {
    absl::MutexLock lock(&mutex_);
    const auto ready = [this, &item]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !CheckOpen().ok() || (enqueued_.empty() && HasCredits(item));
    };
    if (wait_for_credits) {
      if (!changed_.AwaitUntil(mutex_, item.deadline, ready)) {
        return absl::DeadlineExceededError("the timeout passed while waiting for credits");
      }
    } else if (!ready()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no credits: ", open_.size(), " requests are in flight on this stream"));
    }
    if (absl::Status open = CheckOpen(); !open.ok()) return open;
    Accept(Number(std::move(item)));
  }
  Pump();
  return absl::OkStatus();
}

absl::Status SubmitCall::Enqueue(SubmitItem item) {
  {
    absl::MutexLock lock(&mutex_);
    if (absl::Status open = CheckOpen(); !open.ok()) return open;
    Outgoing outgoing = Number(std::move(item));
    if (enqueued_.empty() && HasCredits(outgoing.item)) {
      Accept(std::move(outgoing));
    } else {
      enqueued_.push_back(std::move(outgoing));
    }
  }
  Pump();
  return absl::OkStatus();
}

int SubmitCall::in_flight() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(open_.size() + enqueued_.size()) - given_up_;
}

absl::Status SubmitCall::Finish() {
  HalfClose();
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&ended_));
  return result_;
}

absl::optional<grpc::ByteBuffer> SubmitCall::TakeNext(bool* more) {
  Outgoing next;
  {
    absl::MutexLock lock(&mutex_);
    if (outgoing_.empty()) {
      return absl::nullopt;
    }
    next = std::move(outgoing_.front());
    outgoing_.pop_front();
    *more = !outgoing_.empty();
  }
  const grpc::ByteBuffer message = ToMessage(next.id, next.item);
  absl::MutexLock lock(&mutex_);
  credit_bytes_ += next.charged - static_cast<int64_t>(message.Length());
  changed_.NotifyAll();
  return message;
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
      if (found == open_.end()) {
        answer = absl::InternalError(
            absl::StrCat("the server answered id ", answer->id, ", which is not in flight"));
      } else {
        waiting = std::move(found->second);
        given_up_ -= waiting.done == nullptr ? 1 : 0;
        deadlines_.erase({waiting.deadline, answer->id});
        open_.erase(found);
      }
    }
    if (answer.ok()) {
      granted_ = true;
      credit_requests_ += answer->credit_requests;
      credit_bytes_ += answer->credit_bytes;
      while (!enqueued_.empty() && HasCredits(enqueued_.front().item)) {
        Accept(std::move(enqueued_.front()));
        enqueued_.pop_front();
      }
      changed_.NotifyAll();
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
  std::deque<Outgoing> enqueued;
  {
    absl::MutexLock lock(&mutex_);
    open.swap(open_);
    enqueued.swap(enqueued_);
    outgoing_.clear();
    deadlines_.clear();
    given_up_ = 0;
    alarm_.Cancel();
  }
  const absl::Status lost = Lost(result);
  for (auto& [id, waiting] : open) {
    if (waiting.done != nullptr) waiting.done(lost);
  }
  for (Outgoing& outgoing : enqueued) {
    outgoing.item.done(lost);
  }
}

SubmitItem::Done SubmitCall::Withdraw(uint64_t id) {
  const auto has_id = [id](const Outgoing& outgoing) { return outgoing.id == id; };
  const auto enqueued = std::find_if(enqueued_.begin(), enqueued_.end(), has_id);
  if (enqueued != enqueued_.end()) {
    SubmitItem::Done done = std::move(enqueued->item.done);
    enqueued_.erase(enqueued);
    return done;
  }
  const auto waiting = open_.find(id);
  SubmitItem::Done done = std::exchange(waiting->second.done, nullptr);
  const auto outgoing = std::find_if(outgoing_.begin(), outgoing_.end(), has_id);
  if (outgoing == outgoing_.end()) {
    ++given_up_;  // the server has it, and gives its credits back when it answers
    return done;
  }
  ++credit_requests_;
  credit_bytes_ += outgoing->charged;
  outgoing_.erase(outgoing);
  open_.erase(waiting);
  return done;
}

bool SubmitCall::IsResponseDue() const { return !open_.empty() || !granted_ || half_closed_; }

void SubmitCall::Watch() {
  if (ended_ || finishing_) {
    return;
  }
  absl::Time when = deadlines_.empty() ? absl::InfiniteFuture() : deadlines_.begin()->first;
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
  std::vector<SubmitItem::Done> late;
  {
    absl::MutexLock lock(&mutex_);
    watching_ = false;
    if (finishing_) {
      return;
    }
    const absl::Time now = SteadyNow();
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      const uint64_t id = deadlines_.begin()->second;
      deadlines_.erase(deadlines_.begin());
      late.push_back(Withdraw(id));
    }
    if (IsResponseDue() && now - heard_ >= options_.response_timeout) {
      AbortLocked(absl::DeadlineExceededError(
          absl::StrCat("no response within ", absl::FormatDuration(options_.response_timeout))));
    } else {
      Watch();
    }
    changed_.NotifyAll();  // credits may have come back
  }
  for (const SubmitItem::Done& done : late) {
    done(absl::DeadlineExceededError("no answer within the request's timeout"));
  }
  Pump();  // the half-close may have waited for them
}

}  // namespace baseband::client
