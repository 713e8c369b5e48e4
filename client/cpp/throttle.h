// Client-side throttling: what a server under load would most likely refuse, or answer too late, is
// not sent, for that costs the server time in which it could serve. Internal to the client
// libraries.
#ifndef BASEBAND_CLIENT_CPP_THROTTLE_H_
#define BASEBAND_CLIENT_CPP_THROTTLE_H_

#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/in_flight_limit.h"
#include "client/cpp/priority.h"

namespace baseband::client {

// Calls of one kind. A call is sent with probability
//   min(1, (kSentPerAccepted * accepted + kAlwaysSent) / (accepted + refused + withheld)),
// so a server gets kSentPerAccepted times what it accepts, and kAlwaysSent a second to find out
// whether it accepts more: "Site Reliability Engineering" (2016), ch. 21. These are counts of calls
// that have ended, each weighed with exp(-age / kMemory): calls in flight tell nothing yet, so slow
// ones withhold no others. Pure: the caller says what time it is, which never goes back, and draws.
class Throttle {
 public:
  static constexpr absl::Duration kMemory = absl::Seconds(1);
  static constexpr double kSentPerAccepted = 2;
  static constexpr double kAlwaysSent = 10;

  // Whether a call is to be sent; `draw` is uniform in [0, 1). If not, it ends as those did that
  // were refused: ResourceExhausted, with the RetryAfter() of the last one.
  absl::Status Admit(double draw, absl::Time now);
  // A call that was sent has ended. OK: it was accepted. ResourceExhausted with a RetryAfter(): the
  // server refused it for load. Any other error tells of neither.
  void OnEnd(const absl::Status& outcome, absl::Time now);

 private:
  void Decay(absl::Time now);

  double accepted_ = 0;
  double refused_ = 0;
  double withheld_ = 0;
  absl::Time time_ = absl::InfinitePast();  // of the counts
  absl::Duration retry_after_;
};

// A client's calls. Those are of one kind whose method, priority and timeout, within a factor of
// two, are the same: what comes too late for one may come in time for another. Thread-safe.
class ClientThrottle {
 public:
  static constexpr size_t kMostWaiting = 4096;  // of a kind

  // Who waits until fewer of his kind are in flight.
  class Waiter {
   public:
    virtual ~Waiter() = default;
    // There may be room: whether he still waited. On any thread, without locks.
    virtual bool OnRoom() = 0;
  };

  // Not `on`: everything is sent.
  explicit ClientThrottle(bool on) : on_(on) {}

  using Kind = std::tuple<std::string, Priority, int>;
  static Kind KindOf(std::string method, Priority priority, absl::Duration timeout);

  // Whether a call is sent: if it is, OnEnd must follow. If not, it ends so: as Throttle says, or
  // DeadlineExceeded, for with one more in flight too many would be late.
  absl::Status Admit(const Kind& kind);
  // It has ended with `outcome`, OK only if in time, after so many times its timeout. TellWaiting,
  // holding no lock, is to follow.
  void OnEnd(const Kind& kind, const absl::Status& outcome, double timeouts);

  // Where there is no room for one more in flight it may wait for that: `waiter` is told when there
  // may be, for him to ask again; at the time that is returned there is none any more. Past: it
  // does not wait, for there is room, or its time would be too short then.
  absl::Time Wait(const Kind& kind, absl::Time deadline, absl::Duration timeout,
                  std::weak_ptr<Waiter> waiter);
  // Of those that wait as many are told as there is room for, the ones with most time first: where
  // not all can be in time, they are most likely to be.
  void TellWaiting(const Kind& kind);

 private:
  struct Calls {
    Throttle throttle;
    InFlightLimit in_flight;
    std::multimap<absl::Time, std::weak_ptr<Waiter>> waiting;  // by deadline
  };

  const bool on_;
  absl::Mutex mutex_;
  std::minstd_rand random_ ABSL_GUARDED_BY(mutex_){std::random_device()()};
  std::map<Kind, Calls> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_THROTTLE_H_
