#include "server/batching/device_clock.h"

#include <algorithm>

namespace baseband::server {

void DeviceClock::Start(int lane, bool background, double predicted_s, absl::Time now) {
  Advance(now);
  runs_.push_back({lane, background, predicted_s, 0.0});
}

double DeviceClock::End(int lane, absl::Time now) {
  Advance(now);
  const auto found =
      std::find_if(runs_.begin(), runs_.end(), [&](const Run& run) { return run.lane == lane; });
  if (found == runs_.end()) return 0.0;
  const double used_s = found->used_s;
  runs_.erase(found);
  return used_s;
}

bool DeviceClock::IsBusy(bool background) const {
  return std::any_of(runs_.begin(), runs_.end(),
                     [&](const Run& run) { return run.background == background; });
}

double DeviceClock::Remaining(bool background, absl::Time now) const {
  DeviceClock later = *this;
  later.Advance(now);
  double remaining_s = 0.0;
  for (const Run& run : later.runs_) {
    if (run.background == background) remaining_s += std::max(0.0, run.predicted_s - run.used_s);
  }
  return remaining_s;
}

double DeviceClock::Rate(bool background) const {
  const auto alike = std::count_if(runs_.begin(), runs_.end(),
                                   [&](const Run& run) { return run.background == background; });
  const double all = !IsBusy(!background) ? 1.0
                     : background         ? kBackgroundShare
                                          : 1.0 - kBackgroundShare;
  return all / static_cast<double>(std::max<int64_t>(alike, 1));
}

void DeviceClock::Advance(absl::Time now) {
  if (now > at_ && !runs_.empty()) {
    const double passed_s = absl::ToDoubleSeconds(now - at_);
    const double rates[] = {Rate(false), Rate(true)};
    for (Run& run : runs_) run.used_s += passed_s * rates[run.background];
  }
  at_ = now;  // backwards too, when the host's clock is set
}

}  // namespace baseband::server
