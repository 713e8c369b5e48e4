// So much at once, and so much more in every second. Who takes more than there is owes it, but
// never more than so much: what is over is forgiven soon after its end.
#ifndef BASEBAND_SERVER_AUTH_ALLOWANCE_H_
#define BASEBAND_SERVER_AUTH_ALLOWANCE_H_

#include <algorithm>

#include "absl/time/time.h"

namespace baseband::server {

// Not thread-safe.
class Allowance {
 public:
  Allowance(double most, double per_second) : most_(most), per_second_(per_second), left_(most) {}

  // Negative: more was taken than there was.
  double Left(absl::Time now) const {
    return std::min(most_, left_ + absl::ToDoubleSeconds(now - counted_) * per_second_);
  }
  double Used(absl::Time now) const { return most_ - Left(now); }
  // Whether there is so much or not.
  void Take(absl::Time now, double amount = 1.0) {
    left_ = std::max(Left(now) - amount, -most_);
    counted_ = now;
  }

 private:
  double most_;
  double per_second_;
  double left_;  // at `counted_`
  absl::Time counted_ = absl::InfinitePast();
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_AUTH_ALLOWANCE_H_
