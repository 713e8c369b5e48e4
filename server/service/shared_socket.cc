#include "server/service/shared_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace baseband::server {

ino_t InodeOf(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

// Both by a descriptor of their own: that of the owner may be another socket's at any moment.
void EndWriting(int fd, ino_t inode) {
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return;
  if (InodeOf(own) == inode) shutdown(own, SHUT_WR);
  close(own);
}

ResetOutcome ResetSocket(int fd, ino_t inode) {
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return errno == EMFILE ? ResetOutcome::kNotYet : ResetOutcome::kGone;
  const bool is_it = InodeOf(own) == inode;
  if (is_it) {
    const linger at_once = {1, 0};
    setsockopt(own, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    shutdown(own, SHUT_RDWR);
  }
  close(own);
  return is_it ? ResetOutcome::kReset : ResetOutcome::kGone;
}

}  // namespace baseband::server
