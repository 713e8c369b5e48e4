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
  // A call that was sent has ended. OK: it was accepted, and in time. ResourceExhausted with a
  // RetryAfter(): the server refused it for load. Any other error tells of neither.
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
  // Of a kind; for one more he fails who has least time.
  static constexpr size_t kMostWaiting = 4096;

  // Who waits until fewer of his kind are in flight.
  class Waiter {
   public:
    virtual ~Waiter() = default;
    // There may be room: whether he still waited, and asks again. On any thread, without locks.
    virtual bool OnRoom() = 0;
  };

  // Not `on`: everything is sent.
  explicit ClientThrottle(bool on) : on_(on) {}
  bool is_on() const { return on_; }

  using Kind = std::tuple<std::string, Priority, int>;
  static Kind KindOf(std::string method, Priority priority, absl::Duration timeout);

  // Whether a call is sent: then OnEnd must follow. If not, and `wait_until` is not past, it waits
  // for room in flight: its `waiter` is to ask again when he is told, or at that time. Else it ends
  // with `status`: as Throttle says, or DeadlineExceeded, for with one more in flight too many
  // would be late.
  struct Admission {
    absl::Status status;
    absl::Time wait_until = absl::InfinitePast();

    bool waits() const { return wait_until > absl::InfinitePast(); }
  };
  // Without a waiter it does not wait. Else until it has no more time left than calls usually take,
  // and for `least_wait` of its timeout at least: of unary calls half, for who makes another one
  // for each that fails would do nothing but that.
  Admission Admit(const Kind& kind, absl::Time deadline = absl::InfiniteFuture(),
                  absl::Duration timeout = absl::InfiniteDuration(),
                  std::weak_ptr<Waiter> waiter = {}, double least_wait = 0.5);
  // It has ended with `outcome` so many times its timeout after it was sent, or was late: its
  // deadline had passed by then, whatever came. Where there are waiters of this kind TellWaiting,
  // holding no lock, is to follow.
  void OnEnd(const Kind& kind, const absl::Status& outcome, bool was_late, double timeouts);
  // Tells as many as there is room for, of those who have the time that calls usually take, and who
  // have most of it first: where not all can be in time, they are most likely to be.
  void TellWaiting(const Kind& kind);
  // Whether there is a limit for some kind now.
  bool is_limiting() const;

 private:
  struct Waiting {
    absl::Duration timeout;
    std::weak_ptr<Waiter> waiter;
  };
  struct Calls {
    Throttle throttle;
    InFlightLimit in_flight;
    std::multimap<absl::Time, Waiting> waiting;  // by deadline
  };

  const bool on_;
  mutable absl::Mutex mutex_;
  std::minstd_rand random_ ABSL_GUARDED_BY(mutex_){std::random_device()()};
  std::map<Kind, Calls> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_THROTTLE_H_
