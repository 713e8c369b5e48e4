// The least of what came of late.
#ifndef BASEBAND_SERVER_LIMITS_RECENT_LEAST_H_
#define BASEBAND_SERVER_LIMITS_RECENT_LEAST_H_

#include <algorithm>

#include "absl/time/time.h"

namespace baseband::server {

// Times are the caller's clock's, and do not go back. Not thread-safe.
class RecentLeast {
 public:
  // A value is remembered for `period` to twice that.
  explicit RecentLeast(absl::Duration period) : period_(period) {}

  void Add(absl::Duration value, absl::Time now) {
    Turn(now);
    least_ = std::min(least_, value);
  }
  // Infinite: there was none.
  absl::Duration Get(absl::Time now) {
    Turn(now);
    return std::min(least_, before_);
  }

 private:
  void Turn(absl::Time now) {
    if (now - begin_ < period_) return;
    const bool follows = now - begin_ < 2 * period_;
    before_ = follows ? least_ : absl::InfiniteDuration();
    least_ = absl::InfiniteDuration();
    begin_ = follows ? begin_ + period_ : now;
  }

  const absl::Duration period_;
  absl::Time begin_ = absl::InfinitePast();
  absl::Duration least_ = absl::InfiniteDuration();   // since begin_
  absl::Duration before_ = absl::InfiniteDuration();  // in the period before
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_RECENT_LEAST_H_
