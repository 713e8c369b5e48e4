#include "server/batching/device_clock.h"

#include <algorithm>
#include <limits>

namespace baseband::server {

void DeviceClock::Start(int lane, bool background, const BatchCost& cost, absl::Time now) {
  Advance(now);
  const double span_s = cost.beside_s(CountRuns(background) + 1);
  runs_.push_back({lane, background, cost.work_s, now, span_s, 0.0});
}

DeviceClock::Taken DeviceClock::End(int lane, absl::Time now) {
  Advance(now);
  const auto found =
      std::find_if(runs_.begin(), runs_.end(), [&](const Run& run) { return run.lane == lane; });
  if (found == runs_.end()) return {};
  const Taken taken = {std::max(0.0, absl::ToDoubleSeconds(now - found->start)), found->used_s};
  runs_.erase(found);
  return taken;
}

int DeviceClock::CountRuns(bool background) const {
  return static_cast<int>(std::count_if(
      runs_.begin(), runs_.end(), [&](const Run& run) { return run.background == background; }));
}

double DeviceClock::Remaining(bool background, absl::Time now) const {
  if (!IsBusy(background)) return 0.0;
  const double since_s = std::max(0.0, absl::ToDoubleSeconds(now - at_)) * Rate(background);
  double remaining_s = 0.0;
  for (const Run& run : runs_) {
    if (run.background != background) continue;
    remaining_s += std::max(0.0, run.work_s - (run.used_s + since_s));
  }
  return remaining_s;
}

double DeviceClock::UntilFree(bool background, absl::Time now) const {
  if (CountRuns(background) < lanes(background)) return 0.0;
  double least_s = std::numeric_limits<double>::infinity();
  for (const Run& run : runs_) {
    if (run.background != background) continue;
    least_s = std::min(least_s, run.span_s - absl::ToDoubleSeconds(now - run.start));
  }
  return std::max(0.0, least_s);
}

double DeviceClock::Rate(bool background) const {
  const double all = !IsBusy(!background) ? 1.0
                     : background         ? kBackgroundShare
                                          : 1.0 - kBackgroundShare;
  return all / std::max(CountRuns(background), 1);
}

void DeviceClock::Advance(absl::Time now) {
  if (now > at_ && !runs_.empty()) {
    const double passed_s = absl::ToDoubleSeconds(now - at_);
    const double rates[] = {Rate(false), Rate(true)};
    for (Run& run : runs_) run.used_s += passed_s * rates[run.background];
  }
  // `now` may be before what counts already: of two batches that end, each reads it before it has
  // the dispatcher's lock. No time counts twice.
  at_ = std::max(at_, now);
}

}  // namespace baseband::server
