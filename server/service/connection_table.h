// The open connections of a server: how many there are, and which of them nobody reads any more.
#ifndef BASEBAND_SERVER_SERVICE_CONNECTION_TABLE_H_
#define BASEBAND_SERVER_SERVICE_CONNECTION_TABLE_H_

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace baseband::server {

// Knows sockets that are somebody else's, and may be closed at any moment. Thread-safe.
//
// gRPC 1.51 never ends a connection whose client has stopped reading with its socket's buffers
// full: the ping by which it looks for life waits behind what cannot be written. Its calls, and the
// memory of their replies, would stay for as long as the client's process stands still.
class ConnectionTable {
 public:
  // At most `max` at a time. A client that takes nothing of what waits for it for `patience` is
  // dead.
  //
  // What it takes shows by what is left, for a socket counts nothing else, and a Unix socket counts
  // buffers: beside a writer that fills up what is taken it says one of a few numbers, a third of
  // the time the same. So whoever has something to take is looked at kLooks times in a `patience`,
  // and dead only if all were equal; whoever has not, kRareLooks times.
  static constexpr int kLooks = 256;
  static constexpr int kRareLooks = 8;
  ConnectionTable(int64_t max, absl::Duration patience) : max_(max), patience_(patience) {}

  // Whether there is room for one more; then it is counted.
  bool Admit(int fd, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t Count() ABSL_LOCKS_EXCLUDED(mutex_);
  // The connection is about to end, and its place is free.
  void Forget(int fd) ABSL_LOCKS_EXCLUDED(mutex_);
  // Nothing more is written. Ends the connections whose clients have taken everything, and those
  // that have taken nothing of it for `patience`; returns how many are left.
  int64_t EndTaken(absl::Time now, absl::Duration patience) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends all that there are, at once.
  void ResetAll() ABSL_LOCKS_EXCLUDED(mutex_);
  // Looks, resets the connections of the dead, and returns how many.
  int64_t ResetDead(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  // When to look again after that.
  absl::Time NextLook() const ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t max() const { return max_; }
  absl::Duration patience() const { return patience_; }

 private:
  struct Connection {
    int fd = -1;
    ino_t inode = 0;  // tells it from a later socket with the same descriptor
    int unread = 0;   // bytes, at the last look
    absl::Time since = absl::InfiniteFuture();  // when that was seen first
    bool is_ended = false;                      // by EndTaken
  };

  // Forgets what has been closed.
  void Sweep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t max_;
  const absl::Duration patience_;
  mutable absl::Mutex mutex_;
  std::vector<Connection> open_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_look_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time next_rare_look_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // at all
  absl::Time next_sweep_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_CONNECTION_TABLE_H_
