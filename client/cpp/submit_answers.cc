// SubmitCall's half that hears: of answers, of time that has passed, and of the end.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/submit_call.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

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

void SubmitCall::PassOnRoom(const std::set<ClientThrottle::Kind>& kinds) const {
  for (const ClientThrottle::Kind& kind : kinds) throttle().TellWaiting(kind);
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
        has_room = waiting.timeout < absl::InfiniteDuration();
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
  std::vector<Hopeless> hopeless;
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
  for (const Request& request : unsent) kinds.insert(request.throttled_as);
  for (const Hopeless& one : hopeless) kinds.insert(one.throttled_as);
  PassOnRoom(kinds);
  for (const auto& [id, waiting] : open) {
    if (waiting.done != nullptr) waiting.done(lost);
  }
  for (const Request& request : unsent) request.item.done(lost);
  for (const Hopeless& one : hopeless) one.done(one.why);
}

SubmitCall::Hopeless SubmitCall::GiveUp(const Place& place, absl::Status why) {
  if (absl::optional<Request> unsent = queue_.Withdraw(place)) {
    return {std::move(unsent->item.done), std::move(why), unsent->throttled_as};
  }
  ++given_up_;  // the server has it, or will, and gives its credits back when it answers
  Waiting& waiting = open_.find(place.second)->second;
  return {std::exchange(waiting.done, nullptr), std::move(why), waiting.throttled_as};
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
  std::vector<Hopeless> hopeless;
  {
    absl::MutexLock lock(&mutex_);
    watching_ = false;
    if (finishing_) {
      return;
    }
    hopeless.swap(hopeless_);
    const absl::Time now = SteadyNow();
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      hopeless.push_back(
          GiveUp(*deadlines_.begin(),
                 absl::DeadlineExceededError("no answer within the request's timeout")));
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
  std::set<ClientThrottle::Kind> kinds;
  for (const Hopeless& one : hopeless) kinds.insert(one.throttled_as);
  PassOnRoom(kinds);
  for (const Hopeless& one : hopeless) one.done(one.why);
  Pump();  // what was let go; and the half-close may have waited for the others
}

}  // namespace baseband::client
