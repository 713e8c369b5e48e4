// Who is at the other end of the Unix sockets that were handed to gRPC.
//
// gRPC 1.51 calls such a peer "fd:N" and knows no more of it. The descriptor N is not given away
// anew while a call of its connection is alive: every stream of HTTP/2 holds its transport, and
// that the descriptor.
#ifndef BASEBAND_SERVER_AUTH_UNIX_PEERS_H_
#define BASEBAND_SERVER_AUTH_UNIX_PEERS_H_

#include <sys/types.h>

#include <map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"

namespace baseband::server {

// The process that called connect(), as the kernel saw it then.
struct UnixPeer {
  uid_t uid = 0;
  std::vector<gid_t> gids;  // primary and supplementary
};

// What the kernel says of the other end of `fd`; nothing if `fd` is no connected Unix socket.
absl::optional<UnixPeer> PeerOf(int fd);

// Thread-safe.
class UnixPeers {
 public:
  // `fd` is now a connection of `peer`, whatever it was before. Before gRPC gets it.
  void Add(int fd, UnixPeer peer);
  // `grpc_peer` as ServerContext::peer() has it: nothing unless it is a Unix socket.
  absl::optional<UnixPeer> Find(absl::string_view grpc_peer) const;

 private:
  mutable absl::Mutex mutex_;
  // By descriptor, so never more than there were descriptors at a time.
  std::map<int, UnixPeer> peers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_AUTH_UNIX_PEERS_H_
