#include "server/auth/unix_peers.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace baseband::server {

absl::optional<UnixPeer> PeerOf(int fd) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0 || credentials.pid == 0) {
    return absl::nullopt;
  }
  UnixPeer peer;
  peer.uid = credentials.uid;
  // The kernel says how many groups there are when there is no room for them.
  size = 0;
  getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, nullptr, &size);
  peer.gids.resize(size / sizeof(gid_t));
  if (!peer.gids.empty() &&
      getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer.gids.data(), &size) != 0) {
    peer.gids.clear();
  }
  peer.gids.push_back(credentials.gid);
  return peer;
}

void UnixPeers::Add(int fd, UnixPeer peer) {
  absl::MutexLock lock(&mutex_);
  peers_[fd] = std::move(peer);
}

absl::optional<UnixPeer> UnixPeers::Find(absl::string_view grpc_peer) const {
  int fd = -1;
  if (!absl::ConsumePrefix(&grpc_peer, "fd:") || !absl::SimpleAtoi(grpc_peer, &fd)) {
    return absl::nullopt;
  }
  absl::MutexLock lock(&mutex_);
  const auto found = peers_.find(fd);
  return found == peers_.end() ? absl::nullopt : absl::make_optional(found->second);
}

}  // namespace baseband::server
