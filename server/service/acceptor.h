// Listens, accepts and hands connections over: what gRPC 1.51 does less well itself. Its listener
// gives up for good when descriptors run out (CVE-2023-4785), has no limit of connections, sets no
// permissions of Unix sockets, and does not say who connected to one.
#ifndef BASEBAND_SERVER_SERVICE_ACCEPTOR_H_
#define BASEBAND_SERVER_SERVICE_ACCEPTOR_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/config/address.h"
#include "server/limits/log_limit.h"
#include "server/metrics/metrics.h"

namespace baseband::server {

class Acceptor {
 public:
  // Owns `fd`, a connected socket that does not block; `listener_fd` is where it came from.
  using HandOver = std::function<void(int listener_fd, int fd)>;

  // At most `max_connections` are open at a time, and no more than leave kSpareDescriptors.
  static constexpr int64_t kSpareDescriptors = 128;
  Acceptor(int64_t max_connections, Metrics* metrics);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Before Start. Binds every address that `address` resolves to, or the Unix socket, with exactly
  // the permissions `socket_mode`; a socket file on which nobody listens any more is replaced.
  // Returns the port taken, 0 for a Unix socket. Unavailable says why the address cannot be had.
  absl::StatusOr<int> Listen(const Address& address, int socket_mode, HandOver hand_over);

  // Accepts from now on, on a thread of its own.
  void Start();
  // Accepts no more, and removes the socket files. Connections stay.
  void Stop();

  int64_t CountOpen() ABSL_LOCKS_EXCLUDED(mutex_);
  // How many may be.
  int64_t max_open() const { return max_connections_; }

 private:
  struct Listener {
    int fd = -1;
    std::string unix_path;
    ino_t inode = 0;  // of unix_path
    HandOver hand_over;
  };
  struct Connection {
    int fd = -1;
    ino_t inode = 0;  // tells it from a later socket with the same descriptor
  };

  absl::StatusOr<int> ListenUnix(const std::string& path, int mode, HandOver hand_over);
  absl::StatusOr<int> ListenTcp(const Address& address, HandOver hand_over);
  void Run();
  // Accepts all that wait at `listener`. False when it should be left alone for a while.
  bool AcceptAll(const Listener& listener);
  // Whether there is room for one more; then it is counted.
  bool Admit(int fd) ABSL_LOCKS_EXCLUDED(mutex_);
  // Forgets what has been closed.
  void Sweep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t max_connections_;
  Metrics* const metrics_;
  std::vector<Listener> listeners_;
  int stop_fd_ = -1;
  absl::Mutex mutex_;
  std::vector<Connection> open_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_sweep_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  LogLimit no_descriptor_;
  LogLimit no_room_;
  std::thread thread_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_ACCEPTOR_H_
