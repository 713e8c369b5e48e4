// The TCP connections on which nobody has shown yet that he may call.
#ifndef BASEBAND_SERVER_AUTH_STRANGERS_H_
#define BASEBAND_SERVER_AUTH_STRANGERS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace baseband::server {

// "192.0.2.7:50000", "2001:db8::7:50000" of a ServerContext::peer(), and of a connected socket.
// Without an IPv6 address's link, which gRPC and the system write differently. Empty: a Unix
// socket.
std::string KeyOfPeer(absl::string_view grpc_peer);
std::string KeyOfSocket(int fd);

// Thread-safe.
class Strangers {
 public:
  // A connection has come: what it is called besides its key, which it may share with one that is
  // over, or that came to another address of this host. 0: none is kept, for the key is empty.
  uint64_t Add(const std::string& key) ABSL_LOCKS_EXCLUDED(mutex_);
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
  bool MayShowToken(const std::string& key, absl::Time now) const ABSL_LOCKS_EXCLUDED(mutex_);
  // It was looked at, and nobody's.
  void CountGuess(const std::string& key, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  // The keys of those who may show none since this was asked last, each of them once.
  std::vector<std::string> TakeGuessers() ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether there are none, without the lock: asked with every call. A connection that was added is
  // seen by its own calls, for gRPC gets it later.
  bool empty() const { return count_.load(std::memory_order_acquire) == 0; }

 private:
  struct Guesses {
    double left = kGuesses;  // at `counted`
    absl::Time counted = absl::InfinitePast();
    bool is_guesser = false;  // and was said to be one
    double Left(absl::Time now) const;
  };
  using Connections = std::map<std::pair<std::string, uint64_t>, Guesses>;

  mutable absl::Mutex mutex_;
  Connections connections_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> guessers_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<size_t> count_{0};  // of connections_
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_AUTH_STRANGERS_H_
