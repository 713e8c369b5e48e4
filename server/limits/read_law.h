// How long a message takes to be read, or to be worked on, learned from those before it.
#ifndef BASEBAND_SERVER_LIMITS_READ_LAW_H_
#define BASEBAND_SERVER_LIMITS_READ_LAW_H_

#include <algorithm>

#include "absl/time/time.h"

namespace baseband::server {

// What a message takes that has all there is for itself, of one client's link, of all clients', or
// of work: latency + own * bytes seconds, by the least squares of the relative error over the last
// hundred messages or so. Pure. Not thread-safe.
class LinkLaw {
 public:
  // What nothing has confirmed for so long, or fewer messages than kLeastSeen, refuses nobody.
  static constexpr absl::Duration kFresh = absl::Seconds(1);
  static constexpr int kLeastSeen = 8;

  double Of(double bytes) const { return latency_ + own_ * bytes; }  // seconds
  double latency() const { return latency_; }
  double own() const { return own_; }
  bool has_seen() const { return seen_ >= kLeastSeen; }
  bool IsKnown(absl::Time now) const { return has_seen() && last_ >= now - kFresh; }

  // One took `seconds`; anything but positive numbers is ignored.
  void Learn(double bytes, double seconds, absl::Time now);
  // One that says no more than that the law holds still.
  void Confirm(absl::Time now);

 private:
  double latency_ = 0.0;
  double own_ = 0.0;
  // Sums with y = 1 / seconds and x = bytes / seconds: latency y + own x is to be 1.
  double yy_ = 0.0, xy_ = 0.0, xx_ = 0.0, y_ = 0.0, x_ = 0.0;
  int seen_ = 0;
  absl::Time last_ = absl::InfinitePast();
};

// A message of `bytes` that comes by `link` takes
//   latency + max(own * bytes, shared * load) seconds,
// `load` being the bytes that are read while it is, its own included: as long as alone while there
// is room for more, and once there is none, its part of what all take. `shared` is the least time
// of a byte that any message showed, and follows those that were slower than alone. Pure. Not
// thread-safe.
class ReadLaw {
 public:
  // Seconds.
  double Of(const LinkLaw& link, double bytes, double load) const {
    return link.latency() + std::max(link.own() * bytes, shared_ * load);
  }
  // Bytes a second of which `messages` of `bytes` each come at a time, from anybody.
  double RateOf(double bytes, double messages) const {
    return messages * bytes / Of(all_, bytes, messages * bytes);
  }
  // Whether a message comes as fast with that load as alone.
  bool HasRoom(const LinkLaw& link, double bytes, double load) const {
    return shared_ * load <= link.own() * bytes;
  }
  // With which a message takes no more than `seconds`.
  double MostLoad(const LinkLaw& link, double seconds) const {
    return (seconds - link.latency()) / shared_;
  }
  // Seconds of a byte of all that come together.
  double shared() const { return shared_; }
  // Whether nothing to speak of is read beside it.
  static bool IsAlone(double bytes, double load);
  // Of any client, for those of whom nothing is known.
  const LinkLaw& all() const { return all_; }

  // One by `link` took `seconds`; it teaches that as well. Anything but positive numbers, and a
  // load of less than its bytes, is ignored.
  void Learn(double bytes, double load, double seconds, absl::Time now, LinkLaw* link);
  // One did not come in `seconds`, and would have taken longer. Says nothing of one alone, which
  // may be its sender's doing.
  void LearnLate(const LinkLaw& link, double bytes, double load, double seconds);

 private:
  void FollowLoad(const LinkLaw& link, double load, double seconds);

  double shared_ = 0.0;
  LinkLaw all_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_READ_LAW_H_
