// What the standard health service (grpc.health.v1) says, and who is being told.
#ifndef BASEBAND_SERVER_CALLS_HEALTH_H_
#define BASEBAND_SERVER_CALLS_HEALTH_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "kernels/base/steady_condition.h"

namespace baseband::server {

// A call of the service, as far as it is told something. Both may be called on any thread, more
// than once, and call nothing of Health but IsServing.
class HealthListener {
 public:
  virtual ~HealthListener() = default;
  // Health is another than before.
  virtual void OnChange() = 0;
  // It is to end with that: after the last change was told, or at once, whatever its client takes.
  enum class Manner { kInOrder, kAtOnce };
  virtual void EndWith(const absl::Status& status, Manner manner) = 0;
};

// Everybody may ask after health, unless the server was told otherwise. So the calls of those who
// have not shown that they may call anything else have a bounded number of places: where there is
// none left, the first of those ends that are on the connection with the most. A watcher is no
// stranger for long: the first call on its connection lets it in.
//
// Thread-safe.
class Health {
 public:
  static constexpr size_t kMaxStrangers = 1024;

  // Whether whoever calls from `peer`, a ServerContext::peer(), is still a stranger.
  using IsStranger = std::function<bool(const std::string& peer)>;
  Health(std::string service, IsStranger is_stranger)
      : service_(std::move(service)), is_stranger_(std::move(is_stranger)) {}

  // What is said of "" and of the service, until Drain.
  void SetServing(bool serving) ABSL_LOCKS_EXCLUDED(mutex_);
  // NOT_SERVING for good.
  void Drain() ABSL_LOCKS_EXCLUDED(mutex_);
  // Nothing: there is no such service.
  absl::optional<bool> IsServing(const std::string& service) const;

  // A call has come: its number. Unavailable: the server is about to end, and it is told nothing.
  absl::StatusOr<uint64_t> Enter(HealthListener* call, const std::string& peer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // After that nothing more is told to the call of that number.
  void Leave(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_);

  // After Drain: ends all that are there, and all that come, as Unavailable. Returns once they have
  // left, at the latest at `deadline`, a SteadyNow().
  void EndAll(absl::Time deadline) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Calls = std::map<uint64_t, HealthListener*>;  // by number, that is by arrival

  // Of all calls that are there.
  template <typename Tell>
  void ForEach(const Tell& tell) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Say(bool serving) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The connection of strangers that has the most calls, of those the one whose first came first.
  absl::optional<std::string> Greediest() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string service_;
  const IsStranger is_stranger_;
  std::atomic<bool> serving_{false};  // listeners that are told ask for it
  absl::Mutex mutex_;
  SteadyCondition left_;
  bool is_draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  // By connection. Who was a stranger when he came, and is none any more, is found out where room
  // is made.
  std::map<std::string, Calls> strangers_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::string> stranger_of_ ABSL_GUARDED_BY(mutex_);  // the keys of strangers_
  Calls others_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_HEALTH_H_
