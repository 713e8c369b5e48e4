#include "server/service/read_brake.h"

#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/service/shared_socket.h"

namespace baseband::server::read_brake {
namespace {

struct Brake {
  ino_t inode = 0;  // tells the socket from a later one with the same descriptor
  int64_t left = 0;
  int64_t taken = 0;
  bool is_held = false;  // its reader was told that nothing is there
};

class Brakes {
 public:
  // Of who is not braked this is all that a read costs.
  static bool Has(int fd) {
    return fd >= 0 && fd < kMaxDescriptor &&
           is_braked_[static_cast<size_t>(fd)].load(std::memory_order_relaxed);
  }

  void Set(int fd, ino_t inode, int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (fd < 0 || fd >= kMaxDescriptor) return;
    absl::MutexLock lock(&mutex_);
    brakes_[fd] = {inode, bytes, 0, false};
    is_braked_[static_cast<size_t>(fd)] = true;
  }

  // Whether the reader is to be woken.
  bool Allow(int fd, ino_t inode, int64_t bytes, int64_t most) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    Brake* const brake = Find(fd, inode);
    if (brake == nullptr) return false;
    brake->left = std::min(brake->left + bytes, most);
    return brake->left > 0 && std::exchange(brake->is_held, false);
  }

  // The same.
  bool Release(int fd, ino_t inode) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const Brake* const brake = Find(fd, inode);
    if (brake == nullptr) return false;
    const bool is_held = brake->is_held;
    is_braked_[static_cast<size_t>(fd)] = false;
    brakes_.erase(fd);
    return is_held;
  }

  int64_t TakenFrom(int fd, ino_t inode) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const Brake* const brake = Find(fd, inode);
    return brake != nullptr ? brake->taken : 0;
  }

  bool IsHeld(int fd, ino_t inode) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const Brake* const brake = Find(fd, inode);
    return brake != nullptr && brake->is_held;
  }

  // What of `wanted` bytes, at least one, may be read now; all, if the socket is another one.
  int64_t Take(int fd, ino_t inode, int64_t wanted) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    Brake* const brake = Find(fd, inode);
    if (brake == nullptr) return wanted;
    brake->is_held = brake->left == 0;
    const int64_t taken = std::min(wanted, brake->left);
    brake->left -= taken;
    brake->taken += taken;
    return taken;
  }

  // What was taken and not read. With what was allowed meanwhile it may be more than the most,
  // until more is allowed.
  void GiveBack(int fd, ino_t inode, int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    Brake* const brake = Find(fd, inode);
    if (brake == nullptr) return;
    brake->left += bytes;
    brake->taken -= bytes;
  }

 private:
  Brake* Find(int fd, ino_t inode) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = brakes_.find(fd);
    return found != brakes_.end() && found->second.inode == inode ? &found->second : nullptr;
  }

  static std::array<std::atomic<bool>, kMaxDescriptor> is_braked_;  // of brakes_
  absl::Mutex mutex_;
  std::unordered_map<int, Brake> brakes_ ABSL_GUARDED_BY(mutex_);
};

std::array<std::atomic<bool>, kMaxDescriptor> Brakes::is_braked_{};

Brakes& All() {
  static Brakes* const all = new Brakes();  // read until the process ends
  return *all;
}

using Recvmsg = ssize_t (*)(int, msghdr*, int);

ssize_t SystemRecvmsg(int fd, msghdr* message, int flags) {
  static const auto next = reinterpret_cast<Recvmsg>(dlsym(RTLD_NEXT, "recvmsg"));
  return next(fd, message, flags);
}

ssize_t BrakedRecvmsg(int fd, msghdr* message, int flags) {
  int64_t wanted = 0;
  for (size_t i = 0; i < message->msg_iovlen; ++i) {
    wanted += static_cast<int64_t>(message->msg_iov[i].iov_len);
  }
  // gRPC also asks for errors, which bring no bytes.
  if (wanted == 0 || (flags & MSG_ERRQUEUE) != 0) return SystemRecvmsg(fd, message, flags);
  const ino_t inode = InodeOf(fd);
  const int64_t may = All().Take(fd, inode, wanted);
  if (may == 0) {
    errno = EAGAIN;
    return -1;
  }
  std::vector<iovec> pieces;
  for (int64_t left = may; left > 0;) {
    iovec piece = message->msg_iov[pieces.size()];
    piece.iov_len = std::min(piece.iov_len, static_cast<size_t>(left));
    left -= static_cast<int64_t>(piece.iov_len);
    pieces.push_back(piece);
  }
  msghdr less = *message;
  less.msg_iov = pieces.data();
  less.msg_iovlen = pieces.size();
  const ssize_t read = SystemRecvmsg(fd, &less, flags);
  const int error = errno;
  All().GiveBack(fd, inode, may - std::max<int64_t>(read, 0));
  less.msg_iov = message->msg_iov;
  less.msg_iovlen = message->msg_iovlen;
  *message = less;
  errno = error;
  return read;
}

}  // namespace

bool IsInPlace() { return dlsym(RTLD_DEFAULT, "recvmsg") == reinterpret_cast<void*>(&::recvmsg); }

void Set(int fd, ino_t inode, int64_t bytes) { All().Set(fd, inode, bytes); }
void Allow(int fd, ino_t inode, int64_t bytes, int64_t most) {
  if (All().Allow(fd, inode, bytes, most)) WakeReader(fd, inode);
}
int64_t TakenFrom(int fd, ino_t inode) { return All().TakenFrom(fd, inode); }
bool IsHeld(int fd, ino_t inode) { return All().IsHeld(fd, inode); }
void Release(int fd, ino_t inode) {
  if (All().Release(fd, inode)) WakeReader(fd, inode);
}

}  // namespace baseband::server::read_brake

// The dynamic linker finds it before the C library's.
extern "C" ssize_t recvmsg(int fd, msghdr* message, int flags) {
  using namespace baseband::server::read_brake;
  return Brakes::Has(fd) ? BrakedRecvmsg(fd, message, flags) : SystemRecvmsg(fd, message, flags);
}
