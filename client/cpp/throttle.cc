#include "client/cpp/throttle.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
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
  const double ended = accepted_ + refused_ + late_;
  const double calls = accepted_ + refused_ + kLate * late_ + withheld_;
  if (draw * calls < kSentPerAccepted * accepted_ + kAlwaysSent) return absl::OkStatus();
  ++withheld_;
  if (late_ > refused_) {
    return absl::DeadlineExceededError(absl::StrCat("not sent: ", RoundUp(late_), " of the last ",
                                                    RoundUp(ended), " such calls were late"));
  }
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
  } else if (absl::IsDeadlineExceeded(outcome)) {
    ++late_;
  }
}

void Throttle::Decay(absl::Time now) {
  const double factor = std::exp(-absl::FDivDuration(now - time_, kMemory));
  time_ = now;
  accepted_ *= factor;
  refused_ *= factor;
  late_ *= factor;
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
  const double draw = std::uniform_real_distribution<double>(0, 1)(random_);
  return throttles_[kind].Admit(draw, SteadyNow());
}

void ClientThrottle::OnEnd(const Kind& kind, const absl::Status& outcome) {
  if (!on_) return;
  const absl::MutexLock lock(&mutex_);
  throttles_[kind].OnEnd(outcome, SteadyNow());
}

}  // namespace baseband::client
