// How many calls a client has in flight: as many as are answered in time. Internal to the client
// libraries.
#ifndef BASEBAND_CLIENT_CPP_IN_FLIGHT_LIMIT_H_
#define BASEBAND_CLIENT_CPP_IN_FLIGHT_LIMIT_H_

#include <cmath>
#include <limits>

#include "absl/time/time.h"

namespace baseband::client {

// Of calls of one kind. No limit until some are late; then, after each kLeastEnds calls, or as many
// as are in flight, it falls by the part of them that was late if that was more than kLate, and
// else rises slowly, if it is used; once none was late for kMemory, it doubles. So a client sends
// no more at a time than the way to the server, the server and the way back can do within the time
// that calls have: a sender's window, as TCP has one. Where even the quickest call takes most of
// its time, few in flight are as late as many, and it does not fall. Pure: the caller says what
// time it is, which never goes back.
class InFlightLimit {
 public:
  static constexpr int kLeastEnds = 20;
  static constexpr double kLate = 0.05;
  static constexpr absl::Duration kMemory = absl::Seconds(10);

  // How many more may be in flight.
  double room() const { return std::floor(limit_ - in_flight_); }
  bool HasRoom() const { return room() >= 1.0; }
  // The part of its timeout that one of ten calls exceeds.
  double usual() const { return usual_; }
  int in_flight() const { return in_flight_; }

  void OnSend();
  // One that was sent has ended, after so many times its timeout.
  enum class End { kInTime, kLate, kOtherwise };
  void OnEnd(End end, double timeouts, absl::Time now);

 private:
  void LearnUsual(double timeouts);
  void Adapt(absl::Time now);
  // Forgets what is older than kMemory to twice that.
  void Forget(absl::Time now);

  int in_flight_ = 0;
  int most_ = 0;  // in flight since the last change
  double limit_ = std::numeric_limits<double>::infinity();
  int in_time_ = 0;  // since then, as is
  int late_ = 0;
  int ends_ = kLeastEnds;  // until the next
  absl::Time last_late_ = absl::InfinitePast();
  double usual_ = 0.0;
  int let_off_ = 0;  // sent before it fell: they say nothing new
  // The least part of its timeout that a call took.
  double least_ = std::numeric_limits<double>::infinity();
  double least_before_ = std::numeric_limits<double>::infinity();
  absl::Time end_ = absl::InfinitePast();  // of what least_ holds
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_IN_FLIGHT_LIMIT_H_
