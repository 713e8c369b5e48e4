#include "client/cpp/throttle.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/submit_stream.h"
#include "client/cpp/submit_wire.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

bool IsRefusedForLoad(const absl::Status& outcome) {
  return absl::IsResourceExhausted(outcome) && RetryAfter(outcome) > absl::ZeroDuration();
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

absl::Status ClientThrottle::Admit(const Kind& kind) {
  if (!on_) return absl::OkStatus();
  const absl::MutexLock lock(&mutex_);
  Calls& calls = calls_[kind];
  if (!calls.in_flight.HasRoom()) {
    return absl::DeadlineExceededError(
        absl::StrCat("not sent: ", calls.in_flight.in_flight(),
                     " such calls are in flight, and with more of them too many are late"));
  }
  const double draw = std::uniform_real_distribution<double>(0, 1)(random_);
  absl::Status status = calls.throttle.Admit(draw, SteadyNow());
  if (status.ok()) calls.in_flight.OnSend();
  return status;
}

absl::Time ClientThrottle::Wait(const Kind& kind, absl::Time deadline, absl::Duration timeout,
                                std::weak_ptr<Waiter> waiter) {
  if (!on_) return absl::InfinitePast();
  const absl::MutexLock lock(&mutex_);
  Calls& calls = calls_[kind];
  if (calls.in_flight.HasRoom()) return absl::InfinitePast();
  const absl::Time now = SteadyNow();
  calls.waiting.erase(calls.waiting.begin(), calls.waiting.upper_bound(now));
  const absl::Time last = deadline - calls.in_flight.usual() * timeout;
  if (last <= now || calls.waiting.size() >= kMostWaiting) return absl::InfinitePast();
  calls.waiting.emplace(deadline, std::move(waiter));
  return last;
}

void ClientThrottle::TellWaiting(const Kind& kind) {
  if (!on_) return;
  // Who is told may take a while until he asks.
  for (double told = 0.0;;) {
    std::weak_ptr<Waiter> next;
    {
      const absl::MutexLock lock(&mutex_);
      Calls& calls = calls_[kind];
      if (calls.waiting.empty() || calls.in_flight.room() < told + 1.0) return;
      const auto last = std::prev(calls.waiting.end());
      next = std::move(last->second);
      calls.waiting.erase(last);
    }
    const std::shared_ptr<Waiter> waiter = next.lock();
    if (waiter != nullptr && waiter->OnRoom()) ++told;
  }
}

void ClientThrottle::OnEnd(const Kind& kind, const absl::Status& outcome, double timeouts) {
  using End = InFlightLimit::End;
  if (!on_) return;
  const absl::MutexLock lock(&mutex_);
  Calls& calls = calls_[kind];
  const absl::Time now = SteadyNow();
  calls.throttle.OnEnd(outcome, now);
  const End end = outcome.ok()                        ? End::kInTime
                  : absl::IsDeadlineExceeded(outcome) ? End::kLate
                                                      : End::kOtherwise;
  calls.in_flight.OnEnd(end, timeouts, now);
}

}  // namespace baseband::client
