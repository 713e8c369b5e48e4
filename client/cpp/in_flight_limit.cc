#include "client/cpp/in_flight_limit.h"

#include <algorithm>
#include <cmath>

#include "common/quantile.h"

namespace baseband::client {
namespace {

constexpr double kMostFall = 0.5;
constexpr double kRise = 0.05;
constexpr double kLeastRise = 0.25;
// Of one or two in flight fewer tell enough.
constexpr double kFew = 2.0;
constexpr int kFewEnds = 8;
// It was in vain if this part of those that were late before are so still, so many times in a row.
constexpr double kInVain = 0.5;
constexpr int kInRow = 3;
constexpr absl::Duration kMostQuiet = absl::Minutes(10);
// usual() is this quantile.
constexpr double kUsual = 0.9;
constexpr double kUsualStep = 0.05;

}  // namespace

double InFlightLimit::Room(absl::Time now) {
  if (is_limited() && now - last_late_ >= kMemory) Lift();
  return std::max(0.0, std::floor(limit_ - in_flight_));
}

void InFlightLimit::OnSend() { most_ = std::max(most_, ++in_flight_); }

void InFlightLimit::OnEnd(End end, double timeouts, absl::Time now) {
  --in_flight_;
  if (end != End::kOtherwise) {
    if (usual_ == 0.0) usual_ = timeouts;
    usual_ *= QuantileStep(kUsual, kUsualStep, timeouts > usual_);
  }
  if (end == End::kLate) last_late_ = now;
  if (let_off_ > 0) {
    --let_off_;
    return;
  }
  if (end == End::kOtherwise) return;
  slow_ += end == End::kLate || timeouts > kSlow ? 1 : 0;
  ++(end == End::kInTime ? in_time_ : late_);
  if (in_time_ + late_ >= ends_) Adapt(now);
}

void InFlightLimit::Adapt(absl::Time now) {
  const double late = static_cast<double>(late_) / (in_time_ + late_);
  if (now < quiet_until_) {
    // Half as many are in time as with the limit: it was not in vain.
    in_row_ = 1.0 - late < (1.0 - late_in_vain_) / 2.0 ? in_row_ + 1 : 0;
    if (in_row_ == kInRow) {
      in_row_ = 0;
      quiet_until_ = now;
      never_in_vain_until_ = now + kMemory;
      limit_ = kFew;
      let_off_ = in_flight_;
    }
  } else if (late > kLate && 2 * slow_ > in_time_ + late_) {
    if (!is_limited()) late_before_ = late;
    const bool is_in_vain =
        limit_ <= kFew && late > kInVain * late_before_ && now >= never_in_vain_until_;
    in_row_ = is_in_vain ? in_row_ + 1 : 0;
    late_in_vain_ = in_row_ > 1 ? late_in_vain_ + late / kInRow : late / kInRow;
    if (in_row_ == kInRow) {
      Lift();
      quiet_until_ = now + quiet_;
      quiet_ = std::min(2 * quiet_, kMostQuiet);
    } else {
      limit_ = std::max(1.0, std::min<double>(limit_, most_) * (1.0 - std::min(late, kMostFall)));
      let_off_ = in_flight_;
    }
  } else if (is_limited()) {
    if (2.0 * most_ >= limit_) limit_ += std::max(kLeastRise, kRise * limit_);
    if (limit_ > kFew) quiet_ = kLeastQuiet;
    in_row_ = 0;
  }
  in_time_ = 0;
  late_ = 0;
  slow_ = 0;
  most_ = in_flight_;
  ends_ = std::max(limit_ <= kFew ? kFewEnds : kLeastEnds, in_flight_);
}

void InFlightLimit::Lift() {
  limit_ = kNone;
  let_off_ = 0;
  in_row_ = 0;
}

}  // namespace baseband::client
