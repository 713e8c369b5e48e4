// Listens, accepts and hands connections over: what gRPC 1.51 does less well itself. Its listener
// gives up for good when descriptors run out (CVE-2023-4785), has no limit of connections, sets no
// permissions of Unix sockets, does not say who connected to one, and never ends a connection whose
// full buffers nobody reads.
#ifndef BASEBAND_SERVER_SERVICE_ACCEPTOR_H_
#define BASEBAND_SERVER_SERVICE_ACCEPTOR_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/config/address.h"
#include "server/config/log_limit.h"
#include "server/metrics/metrics.h"
#include "server/service/connection_table.h"

namespace baseband::server {

class Acceptor {
 public:
  // Owns `fd`, a connected socket that does not block; `listener_fd` is where it came from.
  using HandOver = std::function<void(int listener_fd, int fd)>;

  // At most `max_connections` are open at a time, and no more than leave kSpareDescriptors. Those
  // of clients that take nothing of what waits for them for `patience` are reset.
  static constexpr int64_t kSpareDescriptors = 128;
  Acceptor(int64_t max_connections, absl::Duration patience, Metrics* metrics);
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

  int64_t CountOpen() { return connections_.Count(); }
  // How many may be.
  int64_t max_open() const { return connections_.max(); }

 private:
  struct Listener {
    int fd = -1;
    std::string unix_path;
    ino_t inode = 0;  // of unix_path
    HandOver hand_over;
  };

  absl::StatusOr<int> ListenUnix(const std::string& path, int mode, HandOver hand_over);
  absl::StatusOr<int> ListenTcp(const Address& address, HandOver hand_over);
  void Run();
  // Accepts all that wait at `listener`. False when it should be left alone for a while.
  bool AcceptAll(const Listener& listener);
  void ResetDead(absl::Time now);

  Metrics* const metrics_;
  ConnectionTable connections_;
  std::vector<Listener> listeners_;
  int stop_fd_ = -1;
  LogLimit no_descriptor_;
  LogLimit no_room_;
  LogLimit dead_;
  std::thread thread_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_ACCEPTOR_H_
