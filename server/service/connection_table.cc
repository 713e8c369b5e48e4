#include "server/service/connection_table.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <algorithm>

#include "server/service/shared_socket.h"

namespace baseband::server {
namespace {

// A full house looks again who has left no more often than this.
constexpr absl::Duration kSweepInterval = absl::Milliseconds(100);

// Bytes sent that the other side has not taken, over TCP or a Unix socket.
int UnreadOf(int fd) {
  int bytes = 0;
  return ioctl(fd, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
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

void ConnectionTable::Forget(int fd) {
  absl::MutexLock lock(&mutex_);
  open_.erase(std::remove_if(open_.begin(), open_.end(),
                             [fd](const Connection& connection) { return connection.fd == fd; }),
              open_.end());
}

int64_t ConnectionTable::EndTaken(absl::Time now, absl::Duration patience) {
  absl::MutexLock lock(&mutex_);
  int64_t left = 0;
  for (Connection& connection : open_) {
    if (connection.is_ended) continue;
    const int unread = UnreadOf(connection.fd);
    if (unread != connection.unread || connection.since > now) {
      connection.unread = unread;
      connection.since = now;
    }
    if (unread == 0 || now - connection.since >= patience) {
      EndWriting(connection.fd, connection.inode);
      connection.is_ended = true;
    } else {
      ++left;
    }
  }
  return left;
}

void ConnectionTable::ResetAll() {
  absl::MutexLock lock(&mutex_);
  for (const Connection& connection : open_) ResetSocket(connection.fd, connection.inode);
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
      const ResetOutcome outcome = ResetSocket(connection.fd, connection.inode);
      dead += outcome == ResetOutcome::kReset ? 1 : 0;
      // Once is enough.
      if (outcome != ResetOutcome::kNotYet) connection.since = absl::InfiniteFuture();
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
