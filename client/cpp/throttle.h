// Client-side throttling: what a server under load would most likely refuse is not sent, for each
// refusal costs the server time in which it could serve. "Site Reliability Engineering" (2016),
// ch. 21. Internal to the client libraries.
#ifndef BASEBAND_CLIENT_CPP_THROTTLE_H_
#define BASEBAND_CLIENT_CPP_THROTTLE_H_

#include <map>
#include <random>
#include <string>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/priority.h"

namespace baseband::client {

// Calls of one kind. A call is sent with probability
//   min(1, (kSentPerAccepted * accepted + kAlwaysSent) /
//              (accepted + refused + kLate * late + withheld)),
// so a server gets kSentPerAccepted times what it accepts, and kAlwaysSent a second to find out
// whether it accepts more. Late calls say less than refused ones: where the network alone takes
// most of the time that calls have, many are late whatever is withheld. These are counts of calls
// that have ended, each weighed with exp(-age / kMemory): calls in flight tell nothing yet, so slow
// ones withhold no others. Pure: the caller says what time it is, which never goes back, and draws.
class Throttle {
 public:
  static constexpr absl::Duration kMemory = absl::Seconds(1);
  static constexpr double kSentPerAccepted = 2;
  static constexpr double kAlwaysSent = 10;
  static constexpr double kLate = 0.25;

  // Whether a call is to be sent; `draw` is uniform in [0, 1). If not, it ends as most others did:
  // ResourceExhausted, with the RetryAfter() of the last refusal, or DeadlineExceeded.
  absl::Status Admit(double draw, absl::Time now);
  // A call that was sent has ended. OK: it was accepted. ResourceExhausted with a RetryAfter(): the
  // server refused it for load; DeadlineExceeded: it was late, which for the server was as vain.
  // Any other error tells of neither.
  void OnEnd(const absl::Status& outcome, absl::Time now);

 private:
  void Decay(absl::Time now);

  double accepted_ = 0;
  double refused_ = 0;
  double late_ = 0;
  double withheld_ = 0;
  absl::Time time_ = absl::InfinitePast();  // of the counts
  absl::Duration retry_after_;
};

// A client's calls. Those are of one kind whose method, priority and timeout, within a factor of
// two, are the same: what comes too late for one may come in time for another. Thread-safe.
class ClientThrottle {
 public:
  // Not `on`: everything is sent.
  explicit ClientThrottle(bool on) : on_(on) {}

  using Kind = std::tuple<std::string, Priority, int>;
  static Kind KindOf(std::string method, Priority priority, absl::Duration timeout);

  // As those of Throttle.
  absl::Status Admit(const Kind& kind);
  void OnEnd(const Kind& kind, const absl::Status& outcome);

 private:
  const bool on_;
  absl::Mutex mutex_;
  std::minstd_rand random_ ABSL_GUARDED_BY(mutex_){std::random_device()()};
  std::map<Kind, Throttle> throttles_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_THROTTLE_H_
