// Sockets that are gRPC's, which closes them whenever it is through with them.
#ifndef BASEBAND_SERVER_SERVICE_SHARED_SOCKET_H_
#define BASEBAND_SERVER_SERVICE_SHARED_SOCKET_H_

#include <sys/types.h>

namespace baseband::server {

// Tells a socket from a later one with the same descriptor; 0 if there is none.
ino_t InodeOf(int fd);

// Whoever waits by epoll for something to read there looks again, if `fd` is still that socket.
void WakeReader(int fd, ino_t inode);

enum class ResetOutcome {
  kReset,
  kGone,    // closed before
  kNotYet,  // the process is out of descriptors: to be tried again
};

// What has been written is the last that the other side gets, and then the end, if `fd` is still
// that socket. What it goes on sending is still read.
void EndWriting(int fd, ino_t inode);

// Ends the connection, if it is still that socket's. The owner finds it at an end, and closes it;
// the kernel then drops what waits in it.
ResetOutcome ResetSocket(int fd, ino_t inode);
// The same, and what waits in it is read by nobody: not for a connection that others share, for the
// owner may take a later byte for what follows the last that he has read.
ResetOutcome DropSocket(int fd, ino_t inode);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_SHARED_SOCKET_H_
