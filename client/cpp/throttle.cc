#include "client/cpp/throttle.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/submit_stream.h"
#include "client/cpp/submit_wire.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

bool IsRefusedForLoad(const absl::Status& outcome) {
  return absl::IsResourceExhausted(outcome) && RetryAfter(outcome) > absl::ZeroDuration();
}

// Whether `left` is too little to send one: it would take the place of another.
bool IsTooLate(const InFlightLimit& limit, absl::Duration left, absl::Duration timeout) {
  return limit.is_limited() && left < limit.usual() * timeout;
}

int64_t RoundUp(double count) { return static_cast<int64_t>(std::ceil(count)); }

}  // namespace

absl::Status Throttle::Admit(double draw, absl::Time now) {
  Decay(now);
  const double ended = accepted_ + refused_;
  if (draw * (ended + withheld_) < kSentPerAccepted * accepted_ + kAlwaysSent) {
    return absl::OkStatus();
  }
  ++withheld_;
  absl::Status status =
      absl::ResourceExhaustedError(absl::StrCat("not sent: the server refused ", RoundUp(refused_),
                                                " of the last ", RoundUp(ended), " such calls"));
  SetRetryAfter(retry_after_, &status);
  return status;
}

void Throttle::OnEnd(const absl::Status& outcome, absl::Time now) {
  Decay(now);
  if (outcome.ok()) {
    ++accepted_;
  } else if (IsRefusedForLoad(outcome)) {
    ++refused_;
    retry_after_ = RetryAfter(outcome);
  }
}

void Throttle::Decay(absl::Time now) {
  const double factor = std::exp(-absl::FDivDuration(now - time_, kMemory));
  time_ = now;
  accepted_ *= factor;
  refused_ *= factor;
  withheld_ *= factor;
}

ClientThrottle::Kind ClientThrottle::KindOf(std::string method, Priority priority,
                                            absl::Duration timeout) {
  const double us = std::max(1.0, absl::ToDoubleMicroseconds(timeout));
  return {std::move(method), priority, std::ilogb(us)};
}

ClientThrottle::Admission ClientThrottle::Admit(const Kind& kind, absl::Time deadline,
                                                absl::Duration timeout,
                                                std::weak_ptr<Waiter> waiter, double least_wait) {
  if (!on_) return {};
  const absl::MutexLock lock(&mutex_);
  Calls& calls = calls_[kind];
  const absl::Time now = SteadyNow();
  const bool has_room = calls.in_flight.Room(now) >= 1.0;
  if (!has_room || IsTooLate(calls.in_flight, deadline - now, timeout)) {
    const absl::Time last =
        deadline - std::min(calls.in_flight.usual(), 1.0 - least_wait) * timeout;
    if (waiter.expired() || last <= now) {
      return {absl::DeadlineExceededError(
          has_room ? "not sent: nine of ten such calls take longer than what is left of the timeout"
                   : absl::StrCat("not sent: ", calls.in_flight.in_flight(),
                                  " such calls are in flight, and with more of them too many are "
                                  "late"))};
    }
    calls.waiting.erase(calls.waiting.begin(), calls.waiting.upper_bound(now));
    calls.waiting.emplace(deadline, Waiting{timeout, std::move(waiter)});
    if (calls.waiting.size() > kMostWaiting) calls.waiting.erase(calls.waiting.begin());
    return {absl::OkStatus(), last};
  }
  const double draw = std::uniform_real_distribution<double>(0, 1)(random_);
  absl::Status status = calls.throttle.Admit(draw, now);
  if (status.ok()) calls.in_flight.OnSend();
  return {std::move(status)};
}

void ClientThrottle::OnEnd(const Kind& kind, const absl::Status& outcome, bool was_late,
                           double timeouts) {
  using End = InFlightLimit::End;
  if (!on_) return;
  const absl::MutexLock lock(&mutex_);
  Calls& calls = calls_[kind];
  const absl::Time now = SteadyNow();
  calls.throttle.OnEnd(was_late ? absl::DeadlineExceededError("") : outcome, now);
  calls.in_flight.OnEnd(was_late       ? End::kLate
                        : outcome.ok() ? End::kInTime
                                       : End::kOtherwise,
                        timeouts, now);
}

void ClientThrottle::TellWaiting(const Kind& kind) {
  std::vector<std::weak_ptr<Waiter>> next;
  {
    if (!on_) return;
    const absl::MutexLock lock(&mutex_);
    Calls& calls = calls_[kind];
    const absl::Time now = SteadyNow();
    // Who is told may take a while until he asks.
    double room = calls.in_flight.Room(now);
    for (; room >= 1.0 && !calls.waiting.empty(); room -= 1.0) {
      const auto last = std::prev(calls.waiting.end());
      if (IsTooLate(calls.in_flight, last->first - now, last->second.timeout)) break;
      next.push_back(std::move(last->second.waiter));
      calls.waiting.erase(last);
    }
  }
  bool passes_on = false;
  for (const std::weak_ptr<Waiter>& one : next) {
    const std::shared_ptr<Waiter> waiter = one.lock();
    if (waiter == nullptr || !waiter->OnRoom()) passes_on = true;
  }
  if (passes_on) TellWaiting(kind);
}

bool ClientThrottle::is_limiting() const {
  const absl::MutexLock lock(&mutex_);
  return std::any_of(calls_.begin(), calls_.end(),
                     [](const auto& calls) { return calls.second.in_flight.is_limited(); });
}

}  // namespace baseband::client
