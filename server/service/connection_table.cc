#include "server/service/connection_table.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace baseband::server {
namespace {

// A full house looks again who has left no more often than this.
constexpr absl::Duration kSweepInterval = absl::Milliseconds(100);

ino_t InodeOf(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

// Bytes sent that the other side has not taken, over TCP or a Unix socket.
int UnreadOf(int fd) {
  int bytes = 0;
  return ioctl(fd, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

// By a descriptor of its own: that of the owner may be another socket's at any moment. The owner
// finds its connection at an end, and closes it; the kernel then drops what waits in it.
bool Reset(int fd, ino_t inode) {
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return false;  // closed meanwhile; without descriptors, the next look does it
  const bool is_it = InodeOf(own) == inode;
  if (is_it) {
    const linger at_once = {1, 0};
    setsockopt(own, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    shutdown(own, SHUT_RDWR);
  }
  close(own);
  return is_it;
}

}  // namespace

bool ConnectionTable::Admit(int fd, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  const auto room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return static_cast<int64_t>(open_.size()) < max_;
  };
  if (!room() && now >= next_sweep_) {
    next_sweep_ = now + kSweepInterval;
    Sweep();
  }
  if (!room()) return false;
  Connection connection;
  connection.fd = fd;
  connection.inode = InodeOf(fd);
  open_.push_back(connection);
  return true;
}

void ConnectionTable::Sweep() {
  open_.erase(std::remove_if(open_.begin(), open_.end(),
                             [](const Connection& connection) {
                               return InodeOf(connection.fd) != connection.inode;
                             }),
              open_.end());
}

int64_t ConnectionTable::Count() {
  absl::MutexLock lock(&mutex_);
  Sweep();
  return static_cast<int64_t>(open_.size());
}

int64_t ConnectionTable::ResetDead(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  const bool at_all = now >= next_rare_look_;
  if (at_all) {
    Sweep();
    next_rare_look_ = now + patience_ / kRareLooks;
  }
  next_look_ = next_rare_look_;
  int64_t dead = 0;
  for (Connection& connection : open_) {
    if (connection.unread == 0 && !at_all) continue;
    const int unread = UnreadOf(connection.fd);
    if (unread == 0 || unread != connection.unread) {
      connection.unread = unread;
      connection.since = now;
    } else if (now - connection.since >= patience_) {
      dead += Reset(connection.fd, connection.inode) ? 1 : 0;
      connection.since = absl::InfiniteFuture();  // once is enough
    }
    if (unread > 0) next_look_ = std::min(next_look_, now + patience_ / kLooks);
  }
  return dead;
}

absl::Time ConnectionTable::NextLook() const {
  absl::MutexLock lock(&mutex_);
  return next_look_;
}

}  // namespace baseband::server
