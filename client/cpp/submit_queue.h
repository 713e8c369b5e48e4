// What a Submit stream has yet to write. Internal to the client libraries.
#ifndef BASEBAND_CLIENT_CPP_SUBMIT_QUEUE_H_
#define BASEBAND_CLIENT_CPP_SUBMIT_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "client/cpp/response_times.h"
#include "client/cpp/submit_item.h"
#include "client/cpp/throttle.h"

namespace baseband::client {

// The requests of a stream that are not written yet, and its credits. A request waits for credits;
// once it has them it is written in its turn, unless it is withheld: then after a while. Both go
// earliest deadline first. Not thread-safe.
class SubmitQueue {
 public:
  // In which order requests go: by deadline, then by id.
  using Place = std::pair<absl::Time, uint64_t>;
  struct Request {
    uint64_t id = 0;
    int64_t charged = 0;  // of the credits, at least what its message takes; 0: not yet
    ResponseTimes::Kind kind;
    ClientThrottle::Kind throttled_as;
    absl::Duration timeout;
    SubmitItem item;

    Place place() const { return {item.deadline, id}; }
  };
  // `priority`: of an item that has none.
  static Request Number(uint64_t id, SubmitItem item, Priority priority);

  void AddCredits(int64_t requests, int64_t bytes);
  // Whether there are enough for it. One that `is_alone` with the server needs no bytes, unless
  // others here have credits.
  bool HasCredits(const SubmitItem& item, bool is_alone) const;

  void Add(Request request);
  // The first that has no credits; null: none.
  const Request* FirstWithoutCredits() const;
  // That one takes its credits.
  void TakeCredits();

  // What is to be written; null: nothing.
  const Request* Next() const;
  // Takes it out. Its credits are spent.
  Request TakeNext();
  // Next() keeps its credits and is passed over until `until`, or it is let go. `waiter` lives as
  // long.
  void Withhold(absl::Time until, std::shared_ptr<ClientThrottle::Waiter> waiter);
  // Whether it was withheld, and is not any more.
  bool LetGo(const Place& place);
  // All that were withheld until `now` or before.
  void LetGoUntil(absl::Time now);
  // When the first of them is let go; InfiniteFuture: none is withheld.
  absl::Time FirstLetGo() const {
    return until_.empty() ? absl::InfiniteFuture() : until_.begin()->first;
  }

  // Takes a request out, and its credits back; none: it is not here.
  absl::optional<Request> Withdraw(const Place& place);
  std::vector<Request> WithdrawAll();

  size_t size() const { return without_credits_.size() + ready_.size() + withheld_.size(); }
  bool has_waiting() const { return !without_credits_.empty() || !withheld_.empty(); }

 private:
  struct Withheld {
    Request request;
    absl::Time until;
    std::shared_ptr<ClientThrottle::Waiter> waiter;
  };

  int64_t credit_requests_ = 0;
  int64_t credit_bytes_ = 0;
  std::map<Place, Request> without_credits_;
  std::map<Place, Request> ready_;
  std::map<Place, Withheld> withheld_;
  std::set<std::pair<absl::Time, Place>> until_;  // of withheld_
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_SUBMIT_QUEUE_H_
