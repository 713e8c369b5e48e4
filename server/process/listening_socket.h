// Sockets that listen, at an address of the network or at a file.
#ifndef BASEBAND_SERVER_SERVICE_LISTENING_SOCKET_H_
#define BASEBAND_SERVER_SERVICE_LISTENING_SOCKET_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/config/address.h"

namespace baseband::server {

// Closed, and its file removed, by CloseListening.
struct ListeningSocket {
  int fd = -1;  // does not block
  std::string unix_path;
  ino_t inode = 0;  // of unix_path
};

// Binds every address that `address` resolves to, or the Unix socket, with exactly the permissions
// `socket_mode`; a socket file on which nobody listens any more is replaced. Unavailable says why
// the address cannot be had.
absl::StatusOr<std::vector<ListeningSocket>> ListenAt(const Address& address, int socket_mode);
// The same of a Unix socket whose messages are packets (SOCK_SEQPACKET).
absl::StatusOr<ListeningSocket> ListenForPackets(const std::string& unix_path, int socket_mode);

// Of a network's socket; of a Unix socket it means nothing.
int PortOf(const ListeningSocket& socket);

// Leaves a file alone that is not this socket's any more.
void CloseListening(const ListeningSocket& socket);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_LISTENING_SOCKET_H_
