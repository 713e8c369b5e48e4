// How long a message takes to be read, or to be worked on, learned from those before it.
#ifndef BASEBAND_SERVER_LIMITS_READ_LAW_H_
#define BASEBAND_SERVER_LIMITS_READ_LAW_H_

#include <algorithm>

#include "absl/time/time.h"

namespace baseband::server {

// A message of `bytes` takes
//   latency + max(own * bytes, shared * load) seconds,
// `load` being the bytes that are read while it is, its own included: as long as alone while there
// is room for more, and once there is none, its part of what all take. Latency and own are the
// least squares of the relative error over the last hundred messages or so that had room; shared is
// the least time of a byte that any of those showed, and follows the others.
// Pure. Not thread-safe.
class ReadLaw {
 public:
  // What nothing has confirmed for so long, or fewer messages than kLeastSeen, refuses nobody.
  static constexpr absl::Duration kFresh = absl::Seconds(1);
  static constexpr int kLeastSeen = 8;

  // Seconds.
  double Of(double bytes, double load) const {
    return latency_ + std::max(own_ * bytes, shared_ * load);
  }
  // Bytes a second of which `messages` of `bytes` each come at a time.
  double RateOf(double bytes, double messages) const {
    return messages * bytes / Of(bytes, messages * bytes);
  }
  // Whether a message comes as fast with that load as alone.
  bool HasRoom(double bytes, double load) const { return shared_ * load <= own_ * bytes; }
  // With which any message takes no more than `seconds`.
  double MostLoad(double seconds) const { return (seconds - latency_) / shared_; }
  // Seconds of a byte of all that come together.
  double shared() const { return shared_; }
  bool has_seen() const { return seen_ >= kLeastSeen; }
  bool IsKnown(absl::Time now) const { return has_seen() && last_ >= now - kFresh; }

  // One took `seconds`; anything but positive numbers is ignored.
  void Learn(double bytes, double load, double seconds, absl::Time now);
  // One did not come in `seconds`, and would have taken longer. Says nothing of one alone, which
  // may be its sender's doing.
  void LearnLate(double bytes, double load, double seconds);

 private:
  static bool IsAlone(double bytes, double load);
  void FollowLoad(double load, double seconds);
  void Fit(double bytes, double seconds);

  double latency_ = 0.0;
  double own_ = 0.0;
  double shared_ = 0.0;
  // Sums over messages with room, with y = 1 / seconds and x = bytes / seconds: latency y + own x
  // is to be 1.
  double yy_ = 0.0, xy_ = 0.0, xx_ = 0.0, y_ = 0.0, x_ = 0.0;
  int seen_ = 0;
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_READ_LAW_H_
