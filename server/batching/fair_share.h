// Who of the clients of one class has had how much of the devices.
#ifndef BASEBAND_SERVER_BATCHING_FAIR_SHARE_H_
#define BASEBAND_SERVER_BATCHING_FAIR_SHARE_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace baseband::server {

// Of the clients named; all others have 1. Who has weight 2 may have twice as much of the devices
// as who has 1, while both want it.
using ShareWeights = std::unordered_map<std::string, double>;

// One client's. Its virtual time is the device time it was given, in seconds, over its weight, on a
// scale that all clients of the class share.
struct FairAccount {
  std::string client;
  double weight = 1.0;
  double virtual_s = 0.0;  // with what its running jobs should take
  double running_s = 0.0;  // that, over the weight
  void Charge(double device_s) { virtual_s += device_s / weight; }
  double settled_s() const { return virtual_s - running_s; }
  double backlog_s = 0.0;  // cost of what waits
  int64_t waiting = 0;     // jobs
  int64_t running = 0;
};

// Start-time fair queueing (Goyal, Vin and Cheng 1996): a job is charged when it starts with its
// predicted cost, which is corrected when it ends; the class's virtual time is the least of those
// who wait, and who comes back after a pause starts there, so that nobody saves up for later. Where
// exactly predictions do not count: a wrong one would leave those who came while it stood far
// behind, or ahead, once it is corrected.
//
// The rule that combines it with deadlines: a client whose virtual time is past Horizon(), that is
// more than kLead ahead of the class, exceeds its share. Jobs of clients that do not go first,
// earliest deadline first: as long as nobody exceeds a share that is all. Those who do go when
// nobody else waits, and while IsContended() one at a time.
//
// Bounded: clients with nothing to do and no lead are forgotten; those beyond kMaxClients share one
// account. Pure. Not thread-safe.
class FairShare {
 public:
  static constexpr double kLead = 1e-3;
  static constexpr int64_t kMaxClients = 4096;
  // How long a client counts as a competitor after its last job.
  static constexpr absl::Duration kMemory = absl::Milliseconds(100);

  explicit FairShare(ShareWeights weights = {}) : weights_(std::move(weights)) {}

  // A job of `client` and cost `cost_s` waits from `now` on. The account lives until Ended.
  FairAccount* Add(const std::string& client, double cost_s, absl::Time now);
  // It has left the queue: launched, and BatchQueue has charged it, or late or cancelled, when
  // Ended does not follow.
  void Start(FairAccount* account, double cost_s, bool launched, absl::Time now);
  // It has ended, after `actual_s` of a device.
  void Ended(FairAccount* account, double cost_s, double actual_s, absl::Time now);

  // The class's virtual time, as of who waits now, plus kLead.
  double Horizon();
  // Whether two clients at least have been here lately.
  bool IsContended(absl::Time now) const;
  // Device seconds of waiting jobs that go before a new one of `client`, at most: everybody's, but
  // of the others no more than each may have while `client` waits.
  double Before(const std::string& client) const;
  double backlog_s() const { return backlog_s_; }
  bool is_waiting() const { return clients_waiting_ > 0; }

 private:
  double WeightOf(const std::string& client) const;
  void Seen(const FairAccount& account, absl::Time now);
  void ForgetIfIdle(FairAccount* account);

  const ShareWeights weights_;
  std::unordered_map<std::string, FairAccount> accounts_;
  double settled_s_ = 0.0;  // the least settled_s of those who wait; never goes back
  double backlog_s_ = 0.0;
  int64_t clients_waiting_ = 0;
  double weights_waiting_ = 0.0;
  std::string last_client_;  // seen
  absl::Time last_seen_ = absl::InfinitePast();
  absl::Time other_seen_ = absl::InfinitePast();  // the last of any other
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_BATCHING_FAIR_SHARE_H_
