// The TCP connections on which nobody has shown yet that he may call.
#ifndef BASEBAND_SERVER_AUTH_STRANGERS_H_
#define BASEBAND_SERVER_AUTH_STRANGERS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

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
  // Whether there are none, without the lock: asked with every call. A connection that was added is
  // seen by its own calls, for gRPC gets it later.
  bool empty() const { return count_.load(std::memory_order_acquire) == 0; }

 private:
  mutable absl::Mutex mutex_;
  std::set<std::pair<std::string, uint64_t>> connections_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<size_t> count_{0};  // of connections_
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_AUTH_STRANGERS_H_
