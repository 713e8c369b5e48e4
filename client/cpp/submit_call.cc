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

// gRPC may hold back messages that others follow until there are so many bytes of them.
constexpr int64_t kMostHeldBytes = 64 << 10;

}  // namespace

// Of a request that is withheld until there is room in flight.
class SubmitCall::RoomWaiter final : public ClientThrottle::Waiter {
 public:
  RoomWaiter(std::weak_ptr<BidiCall> call, const Place& place)
      : call_(std::move(call)), place_(place) {}
  bool OnRoom() override {
    const auto call = std::static_pointer_cast<SubmitCall>(call_.lock());
    return call != nullptr && call->OnRoom(place_);
  }

 private:
  const std::weak_ptr<BidiCall> call_;
  const Place place_;
};

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

void SubmitCall::AcceptEnqueued() {
  for (;;) {
    const Request* const first = queue_.FirstWithoutCredits();
    if (first == nullptr || !HasCredits(first->item)) break;
    if (!blocked_.empty() && *blocked_.begin() < first->place()) break;
    if (!IsResponseDue()) heard_ = SteadyNow();
    queue_.TakeCredits();
  }
  Watch();
  changed_.NotifyAll();  // a thread in Submit() may be the next
}

void SubmitCall::Add(Request request) {
  const Place place = request.place();
  if (place.first != absl::InfiniteFuture()) deadlines_.insert(place);
  queue_.Add(std::move(request));
  AcceptEnqueued();
}

bool SubmitCall::IsNext(const Place& place) const {
  const Request* const first = queue_.FirstWithoutCredits();
  return *blocked_.begin() == place && (first == nullptr || place < first->place());
}

absl::Status SubmitCall::Submit(SubmitItem item, bool wait_for_credits) {
  absl::Status status;
  {
    absl::MutexLock lock(&mutex_);
    Request request = Number(std::move(item));
    const Place place = request.place();
    blocked_.insert(place);
    const auto ready = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !CheckOpen().ok() || (IsNext(place) && HasCredits(request.item));
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
      Add(std::move(request));
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
  return static_cast<int>(open_.size() + queue_.size() + hopeless_.size()) - given_up_;
}

absl::Status SubmitCall::Finish() {
  HalfClose();
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&ended_));
  return result_;
}

ClientThrottle::Admission SubmitCall::Admit(const Request& request,
                                            const std::shared_ptr<ClientThrottle::Waiter>& waiter) {
  const absl::Time deadline = request.item.deadline;
  if (deadline == absl::InfiniteFuture() || !throttle().is_on()) return {};
  const absl::Time now = SteadyNow();
  if (!open_.empty() && deadline - now < times_.Usual(request.kind, now)) {
    return {absl::DeadlineExceededError("not sent: too little was left of the request's timeout")};
  }
  return throttle().Admit(request.throttled_as, deadline, request.timeout, waiter,
                          /*least_wait=*/0.0);
}

absl::optional<SubmitCall::Request> SubmitCall::TakeAdmitted() {
  while (const Request* const next = queue_.Next()) {
    const Place place = next->place();
    auto waiter = std::make_shared<RoomWaiter>(weak_from_this(), place);
    ClientThrottle::Admission admission = Admit(*next, waiter);
    if (admission.waits()) {
      queue_.Withhold(admission.wait_until, std::move(waiter));
    } else if (admission.status.ok()) {
      Request request = queue_.TakeNext();
      open_.emplace(request.id, Waiting{request.item.fields.response, std::move(request.item.done),
                                        request.item.deadline, request.kind, request.throttled_as,
                                        request.timeout, SteadyNow()});
      return request;
    } else {
      deadlines_.erase(place);
      hopeless_.emplace_back(Withdraw(place), std::move(admission.status));
      AcceptEnqueued();
    }
    Watch();
  }
  return absl::nullopt;
}

absl::optional<grpc::ByteBuffer> SubmitCall::TakeNext(bool* more) {
  absl::optional<Request> next;
  {
    absl::MutexLock lock(&mutex_);
    next = following_.has_value() ? std::exchange(following_, absl::nullopt) : TakeAdmitted();
    if (!next.has_value()) return absl::nullopt;
    if (next->charged < kMostHeldBytes) following_ = TakeAdmitted();
    *more = following_.has_value();
  }
  const grpc::ByteBuffer message = ToMessage(next->id, next->item);
  absl::MutexLock lock(&mutex_);
  queue_.AddCredits(0, next->charged - static_cast<int64_t>(message.Length()));
  AcceptEnqueued();
  return message;
}

bool SubmitCall::OnRoom(const Place& place) {
  {
    absl::MutexLock lock(&mutex_);
    if (!IsResponseDue()) heard_ = SteadyNow();
    if (!queue_.LetGo(place)) return false;
    Watch();
  }
  Pump();
  return true;
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
  bool has_room = false;  // in flight
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
        TellThrottle(waiting, answer->status);
        has_room = true;
        if (answer->status.ok()) {
          times_.Add(waiting.kind, heard_ - waiting.sent, waiting.timeout, heard_);
        }
        deadlines_.erase({waiting.deadline, answer->id});
        open_.erase(found);
      }
    }
    if (answer.ok()) {
      granted_ = true;
      queue_.AddCredits(answer->credit_requests, answer->credit_bytes);
      AcceptEnqueued();
    } else {
      AbortLocked(answer.status());
    }
  }
  Pump();
  if (has_room) throttle().TellWaiting(waiting.throttled_as);
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
  const size_t unanswered = open_.size() + queue_.size();
  return unanswered == 0 ? absl::OkStatus()
                         : absl::InternalError(absl::StrCat("the server ended the stream with ",
                                                            unanswered, " requests unanswered"));
}

void SubmitCall::OnEnd(const absl::Status& result) {
  std::unordered_map<uint64_t, Waiting> open;
  std::vector<Request> unsent;
  Hopeless hopeless;
  {
    absl::MutexLock lock(&mutex_);
    open.swap(open_);
    unsent = queue_.WithdrawAll();
    following_.reset();
    hopeless.swap(hopeless_);
    deadlines_.clear();
    given_up_ = 0;
    alarm_.Cancel();
  }
  const absl::Status lost = Lost(result);
  std::set<ClientThrottle::Kind> kinds;
  for (const auto& [id, waiting] : open) {
    TellThrottle(waiting, lost);
    kinds.insert(waiting.throttled_as);
  }
  for (const auto& kind : kinds) throttle().TellWaiting(kind);
  for (const auto& [id, waiting] : open) {
    if (waiting.done != nullptr) waiting.done(lost);
  }
  for (const Request& request : unsent) request.item.done(lost);
  for (const auto& [done, why] : hopeless) done(why);
}

SubmitItem::Done SubmitCall::Withdraw(const Place& place) {
  if (absl::optional<Request> unsent = queue_.Withdraw(place)) return std::move(unsent->item.done);
  ++given_up_;  // the server has it, and gives its credits back when it answers
  return std::exchange(open_.find(place.second)->second.done, nullptr);
}

bool SubmitCall::IsResponseDue() const {
  return !open_.empty() || queue_.Next() != nullptr || !granted_ || half_closed_;
}

void SubmitCall::Watch() {
  if (ended_ || finishing_) {
    return;
  }
  absl::Time when = queue_.FirstLetGo();
  if (!deadlines_.empty()) when = std::min(when, deadlines_.begin()->first);
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
    if (!IsResponseDue()) heard_ = now;
    queue_.LetGoUntil(now);
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
