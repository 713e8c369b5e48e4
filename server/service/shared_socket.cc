#include "server/service/shared_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace baseband::server {

ino_t InodeOf(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

// All by a descriptor of their own: that of the owner may be another socket's at any moment.
void EndWriting(int fd, ino_t inode) {
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return;
  if (InodeOf(own) == inode) shutdown(own, SHUT_WR);
  close(own);
}

void WakeReader(int fd, ino_t inode) {
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  // What follows changes nothing but is an event to the kernel; so where there is no descriptor
  // left, and the owner's might be another's, no harm is done.
  const int at = own >= 0 ? own : fd;
  int family = 0;
  socklen_t size = sizeof(family);
  if (InodeOf(at) == inode && getsockopt(at, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0) {
    const int one = 1;
    int buffer = 0;
    pollfd end = {at, POLLRDHUP, 0};
    if (poll(&end, 1, 0) == 1) {  // nothing more can come
      shutdown(at, SHUT_RD);
    } else if (family != AF_UNIX) {
      setsockopt(at, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
    } else if (getsockopt(at, SOL_SOCKET, SO_SNDBUF, &buffer, &size) == 0) {
      // An event where it may be written to; where not, it is one as soon as the other side reads.
      buffer /= 2;  // the kernel says twice what it was told
      setsockopt(at, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
    }
  }
  if (own >= 0) close(own);
}

namespace {

// More than a socket can hold; what ends it is that nothing more comes.
constexpr int64_t kMaxUnread = 64 << 20;

void TakeUnread(int fd) {
  std::array<char, 64 << 10> bytes;
  for (int64_t taken = 0; taken < kMaxUnread;) {
    const ssize_t n = recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n <= 0) return;
    taken += n;
  }
}

ResetOutcome End(int fd, ino_t inode, bool drop) {
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return errno == EMFILE ? ResetOutcome::kNotYet : ResetOutcome::kGone;
  const bool is_it = InodeOf(own) == inode;
  if (is_it) {
    const linger at_once = {1, 0};
    setsockopt(own, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    shutdown(own, SHUT_RDWR);
    if (drop) TakeUnread(own);
  }
  close(own);
  return is_it ? ResetOutcome::kReset : ResetOutcome::kGone;
}

}  // namespace

ResetOutcome ResetSocket(int fd, ino_t inode) { return End(fd, inode, /*drop=*/false); }

ResetOutcome DropSocket(int fd, ino_t inode) { return End(fd, inode, /*drop=*/true); }

}  // namespace baseband::server
