// How many calls a client has in flight: as many as are answered in time. Internal to the client
// libraries.
#ifndef BASEBAND_CLIENT_CPP_IN_FLIGHT_LIMIT_H_
#define BASEBAND_CLIENT_CPP_IN_FLIGHT_LIMIT_H_

#include <algorithm>
#include <limits>

#include "absl/time/time.h"

namespace baseband::client {

// Of calls of one kind. There is no limit until some are late, nor once none was for kMemory.
// Otherwise, after each kLeastEnds calls, or as many as are in flight, it falls by the part of them
// that was late if that was more than kLate and most were, or took more than kSlow of their
// timeouts, and else rises slowly, if it is used: where most are quick, those that are late are not
// so for the number of others, and a few that a busy host wakes late are no reason to send less. So
// a client sends no more at a time than the way to the server, the server and the way back can do
// within the time that calls have: a sender's window, as TCP has one. Where hardly fewer are late
// of one or two in flight than of many, it was not for their number: there is no limit for
// kLeastQuiet, and twice as long each time that this is so; unless it turns out that then more are.
// Pure: the caller says what time it is, which never goes back.
class InFlightLimit {
 public:
  static constexpr int kLeastEnds = 20;
  static constexpr double kLate = 0.05;
  static constexpr double kSlow = 0.6;
  static constexpr absl::Duration kMemory = absl::Seconds(10);
  static constexpr absl::Duration kLeastQuiet = absl::Seconds(2);

  // How many more may be in flight; infinity: any number.
  double Room(absl::Time now);
  int in_flight() const { return in_flight_; }
  bool is_limited() const { return limit_ < kNone; }
  // The part of its timeout that one of ten calls exceeds, or kMostUsual: who has just begun has
  // enough.
  static constexpr double kMostUsual = 0.9;
  double usual() const { return std::min(usual_, kMostUsual); }

  void OnSend();
  // One that was sent has ended, after so many times its timeout.
  enum class End { kInTime, kLate, kOtherwise };
  void OnEnd(End end, double timeouts, absl::Time now);

 private:
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  void Adapt(absl::Time now);
  void Lift();

  double limit_ = kNone;
  int in_flight_ = 0;
  // Since the last change:
  int most_ = 0;  // in flight
  int in_time_ = 0;
  int late_ = 0;
  int slow_ = 0;
  int ends_ = kLeastEnds;  // until the next one
  int let_off_ = 0;        // sent before it fell: they say nothing new
  double usual_ = 0.0;
  // The part that was late without a limit, and when that was lifted for it was in vain.
  double late_before_ = 0.0;
  double late_in_vain_ = 0.0;
  absl::Time last_late_ = absl::InfinitePast();
  absl::Time quiet_until_ = absl::InfinitePast();
  absl::Time never_in_vain_until_ = absl::InfinitePast();
  int in_row_ = 0;                      // changes that showed that it is in vain, or was not
  absl::Duration quiet_ = kLeastQuiet;  // the next time that it is in vain
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_IN_FLIGHT_LIMIT_H_
