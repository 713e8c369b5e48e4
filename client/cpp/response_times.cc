#include "client/cpp/response_times.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/quantile.h"

namespace baseband::client {
namespace {

constexpr double kQuantile = 0.95;
constexpr double kStep = 0.1;

// 8 classes an octave.
int ClassOf(double value) { return static_cast<int>(std::floor(8 * std::log2(value))); }

}  // namespace

ResponseTimes::Kind ResponseTimes::KindOf(int operation, int64_t bytes, absl::Duration timeout) {
  return {operation, ClassOf(static_cast<double>(bytes)), ClassOf(absl::ToDoubleSeconds(timeout))};
}

void ResponseTimes::Add(const Kind& kind, absl::Duration time, absl::Duration timeout,
                        absl::Time now) {
  const absl::Duration most = kMost * timeout;
  const absl::Duration known = Usual(kind, now);
  const bool is_new = known == absl::ZeroDuration();
  if (is_new && time >= most) return;
  const auto place = recent_.find(kind);
  if (place == recent_.end() && recent_.size() >= kMaxKinds) return;
  recent_[kind] =
      is_new ? time : std::min(most, known * QuantileStep(kQuantile, kStep, time > known));
}

absl::Duration ResponseTimes::Usual(const Kind& kind, absl::Time now) {
  Forget(now);
  for (const Times* times : {&recent_, &before_}) {
    const auto known = times->find(kind);
    if (known != times->end()) return known->second;
  }
  return absl::ZeroDuration();
}

void ResponseTimes::Forget(absl::Time now) {
  if (now < end_) return;
  before_.clear();
  if (now < end_ + kMemory) before_.swap(recent_);
  recent_.clear();
  end_ = now + kMemory;
}

}  // namespace baseband::client
