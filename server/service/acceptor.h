// Listens, accepts and hands connections over: what gRPC 1.51 does less well itself. Its listener
// gives up for good when descriptors run out (CVE-2023-4785), has no limit of connections, sets no
// permissions of Unix sockets, does not say who connected to one, and never ends a connection whose
// full buffers nobody reads.
#ifndef BASEBAND_SERVER_SERVICE_ACCEPTOR_H_
#define BASEBAND_SERVER_SERVICE_ACCEPTOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
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
#include "server/service/hand_over_threads.h"
#include "server/process/listening_socket.h"
#include "server/service/stranger_watch.h"

namespace baseband::server {

class Acceptor {
 public:
  // Owns `fd`, a connected socket that does not block; `listener_fd` is where it came from, and
  // `thread` the one it is called on, of HandOverThreads.
  using HandOver = std::function<void(size_t thread, int listener_fd, int fd)>;

  // At most `max_connections` are open at a time, and no more than leave kSpareDescriptors; where
  // there is no room for one more, the connection that has been a stranger for longest ends. Those
  // of clients that take nothing of what waits for them for `patience` are reset.
  static constexpr int64_t kSpareDescriptors = 128;
  // Those of `strangers` are watched: see StrangerWatch. Whoever is still being handed over after
  // kMaxHandOver, stranger or not, is reset: see HandOverThreads.
  static constexpr absl::Duration kMaxHandOver = absl::Seconds(5);
  Acceptor(int64_t max_connections, absl::Duration patience, Strangers* strangers,
           Metrics* metrics);
  // Before Start: while `may_connect` says no, those who connect wait.
  void OnlyWhile(std::function<bool()> may_connect) { may_connect_ = std::move(may_connect); }
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Before Start: as ListenAt. Returns the port taken, 0 for a Unix socket.
  absl::StatusOr<int> Listen(const Address& address, int socket_mode, HandOver hand_over);

  // Accepts from now on, on a thread of its own.
  void Start();
  // Accepts no more, and removes the socket files. Connections that gRPC has stay.
  void Stop();

  // After Stop: ends the connections that are left, see ConnectionTable; then, whatever they do.
  int64_t EndTaken(absl::Time now, absl::Duration patience) {
    return connections_.EndTaken(now, patience);
  }
  void ResetAll() { connections_.ResetAll(); }

  int64_t CountOpen() { return connections_.Count(); }
  // How many may be.
  int64_t max_open() const { return connections_.max(); }

 private:
  struct Listener {
    ListeningSocket socket;
    HandOver hand_over;
  };

  void Run();
  void AcceptUntilStopped();
  // Accepts some of those that wait at `listener`. False when it should be left alone for a while.
  bool AcceptSome(const Listener& listener);
  bool MakeRoom(int fd, absl::Time now);
  void HandOverTo(const Listener& listener, int fd);
  void HandOverWaiting(absl::Time now);
  void ResetDead(absl::Time now);
  void ResetGreedy(absl::Time now);
  // Resets those that have been handed over for longer than `time`.
  void ResetKept(absl::Time now, absl::Duration time);
  absl::Time NextLook() const;
  void RefuseGreedy(int fd);

  Metrics* const metrics_;
  ConnectionTable connections_;
  StrangerWatch watch_;
  std::vector<Listener> listeners_;
  std::function<bool()> may_connect_ = [] { return true; };
  int stop_fd_ = -1;
  LogLimit no_descriptor_;
  LogLimit no_room_;
  LogLimit dead_;
  LogLimit greedy_;
  LogLimit kept_;
  LogLimit returning_;
  std::multimap<absl::Time, std::pair<const Listener*, int>> waiting_;  // sockets, and until when
  HandOverThreads hand_over_threads_;
  std::thread thread_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_ACCEPTOR_H_
