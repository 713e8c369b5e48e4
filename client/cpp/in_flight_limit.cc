#include "client/cpp/in_flight_limit.h"

#include <algorithm>

namespace baseband::client {
namespace {

constexpr double kMostFall = 0.5;
constexpr double kRise = 0.05;
constexpr double kLeastRise = 0.25;
// Who takes more of its time than this even when it is quickest is not late for others.
constexpr double kQuick = 0.75;
// usual() rises for who exceeds it, and falls for who does not, by so much of itself that both
// balance where one of ten does.
constexpr double kUsualRise = 0.045;
constexpr double kUsualFall = 0.005;
constexpr double kUnknown = std::numeric_limits<double>::infinity();

}  // namespace

void InFlightLimit::OnSend() { most_ = std::max(most_, ++in_flight_); }

void InFlightLimit::OnEnd(End end, double timeouts, absl::Time now) {
  --in_flight_;
  Forget(now);
  if (end == End::kInTime) least_ = std::min(least_, timeouts);
  if (end != End::kOtherwise) LearnUsual(timeouts);
  if (let_off_ > 0) {
    --let_off_;
    return;
  }
  if (end == End::kOtherwise) return;
  ++(end == End::kInTime ? in_time_ : late_);
  if (end == End::kLate) last_late_ = now;
  if (in_time_ + late_ >= ends_) Adapt(now);
}

void InFlightLimit::LearnUsual(double timeouts) {
  if (usual_ == 0.0) usual_ = timeouts;
  usual_ *= timeouts > usual_ ? 1.0 + kUsualRise : 1.0 - kUsualFall;
}

void InFlightLimit::Adapt(absl::Time now) {
  const double late = static_cast<double>(late_) / (in_time_ + late_);
  const double least = std::min(least_, least_before_);
  if (late > kLate && (least <= kQuick || least == kUnknown)) {
    limit_ = std::max(1.0, std::min<double>(limit_, most_) * (1.0 - std::min(late, kMostFall)));
    let_off_ = in_flight_;
  } else if (2.0 * most_ >= limit_) {
    limit_ += std::max(kLeastRise, limit_ * (now - last_late_ < kMemory ? kRise : 1.0));
  }
  in_time_ = 0;
  late_ = 0;
  most_ = in_flight_;
  ends_ = std::max(kLeastEnds, in_flight_);
}

void InFlightLimit::Forget(absl::Time now) {
  if (now < end_) return;
  least_before_ = now < end_ + kMemory ? least_ : kUnknown;
  least_ = kUnknown;
  end_ = now + kMemory;
}

}  // namespace baseband::client
