// The connections on which nobody has shown yet that he may call.
#ifndef BASEBAND_SERVER_AUTH_STRANGERS_H_
#define BASEBAND_SERVER_AUTH_STRANGERS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/auth/allowance.h"

namespace baseband::server {

// "192.0.2.7:50000", "2001:db8::7:50000", "fd:7" of a ServerContext::peer(), and of a connected
// socket. Without an IPv6 address's link, which gRPC and the system write differently. Of a Unix
// socket it is the descriptor: see UnixPeers.
std::string KeyOfPeer(absl::string_view grpc_peer);
std::string KeyOfSocket(int fd);
bool IsKeyOfUnix(absl::string_view key);

// Thread-safe.
class Strangers {
 public:
  // Who watches a connection: told once of each that was added with it. On any thread, under a
  // lock: it calls nothing of Strangers.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    // The connection `id` is no stranger's any more.
    virtual void OnLetIn(uint64_t id) = 0;
    // No token of it is looked at for now.
    virtual void OnManyGuesses(uint64_t id) = 0;
    // It has brought so many calls that it is to be ended, and what is unread of it dropped.
    virtual void OnManyCalls(uint64_t id) = 0;
  };

  // `is_limited`: not everybody may call; but who is at a socket of which `is_known` says so may.
  using IsKnownSocket = std::function<bool(int fd)>;
  explicit Strangers(bool is_limited = false, IsKnownSocket is_known = nullptr)
      : is_limited_(is_limited), is_known_(std::move(is_known)) {}
  bool is_limited() const { return is_limited_; }
  bool IsKnown(int fd) const { return is_known_ != nullptr && is_known_(fd); }

  // Of a connection's calls so many may let nobody in, as a rule.
  static constexpr int kCalls = 512;
  // A connection has come: what it is called besides its key, which it may share with one that is
  // over, or that came to another address of this host. 0: none is kept, for the key is empty.
  // `watcher`, if any, is told of it until Remove or LetIn.
  // `calls` of its calls may let nobody in at once: see CountCall.
  uint64_t Add(const std::string& key, Watcher* watcher = nullptr, int calls = kCalls)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // It is gone.
  void Remove(const std::string& key, uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whoever calls from there may: none of that key is a stranger any more.
  void LetIn(const std::string& key) ABSL_LOCKS_EXCLUDED(mutex_);
  bool Has(const std::string& key, uint64_t id) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether a connection of that key is there.
  bool HasAny(const std::string& key) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether a token that came from there is looked at: so many wrong ones are, and so many more in
  // every second, for a guess is to cost more than a call. True of whoever is no stranger.
  static constexpr int kGuesses = 4;
  static constexpr double kGuessesPerSecond = 1.0;
  bool MayShowToken(const std::string& key, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  // It was looked at, and nobody's.
  void CountGuess(const std::string& key, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  // A call came from there that let nobody in: there may be as many at once as Add was told, and so
  // many more in every second, for 15 bytes can make one.
  static constexpr double kCallsPerSecond = 64.0;
  void CountCall(const std::string& key, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  // How many of those are used up; 0 of whoever is no stranger.
  double RecentCalls(const std::string& key, uint64_t id, absl::Time now) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether all strangers together have lately brought more calls that let nobody in than
  // kAllCalls, and as many more in every second: each costs 20 to 100 us, whoever makes it.
  static constexpr int kAllCalls = 1024;
  bool AreManyCalls(absl::Time now) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether there are none, without the lock: asked with every call. A connection that was added is
  // seen by its own calls, for gRPC gets it later.
  bool empty() const { return count_.load(std::memory_order_acquire) == 0; }

 private:
  struct Connection {
    Connection(Watcher* who, int forgiven) : watcher(who), calls(forgiven, kCallsPerSecond) {}

    Watcher* watcher;
    Allowance guesses{kGuesses, kGuessesPerSecond};
    Allowance calls;
    bool has_guessed = false;  // too often, and its watcher was told
    bool has_called = false;   // the same
  };
  using Connections = std::map<std::pair<std::string, uint64_t>, Connection>;
  // Calls `what` with each connection of `key`, and its id.
  template <typename What>
  void ForEach(const std::string& key, const What& what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const bool is_limited_;
  const IsKnownSocket is_known_;
  mutable absl::Mutex mutex_;
  Connections connections_ ABSL_GUARDED_BY(mutex_);
  Allowance all_calls_ ABSL_GUARDED_BY(mutex_){kAllCalls, kAllCalls};
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<size_t> count_{0};  // of connections_
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_AUTH_STRANGERS_H_
