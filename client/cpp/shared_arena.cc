#include "client/cpp/shared_arena.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/shm/sealed_memory.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

static_assert(kReplyAlignment == shm::kRegionAlignment);

using shm::RegionAnswer;
using shm::RegionKind;
using shm::RegionRequest;

// A server page-locks 64 MiB in a few milliseconds.
constexpr int64_t kUsualRegion = 64 << 20;
constexpr absl::Duration kPatience = absl::Seconds(5);

absl::Status Unreachable(const std::string& path, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat(
      "shared_memory.listen unix:", path, ": ", why,
      path[0] == '/' ? ""
                     : "; a relative path is looked for in this process's folder: start the server "
                       "with --shm-listen=unix:/PATH"));
}

// Signals do not end it.
int ConnectTo(int fd, const sockaddr_un& address) {
  int result = 0;
  do {
    result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  } while (result != 0 && errno == EINTR);
  return result;
}

// The first descriptor that came with `message`, -1 if there is none. There may be room for a
// second one, for the kernel fills up what is aligned: that is closed.
int DescriptorOf(msghdr* message) {
  cmsghdr* const header = CMSG_FIRSTHDR(message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
    return -1;
  }
  int first = -1;
  for (size_t at = CMSG_LEN(0); at + sizeof(int) <= header->cmsg_len; at += sizeof(int)) {
    int fd = -1;
    std::memcpy(&fd, reinterpret_cast<const char*>(header) + at, sizeof(fd));
    if (first < 0) {
      first = fd;
    } else {
      close(fd);
    }
  }
  return first;
}

}  // namespace

absl::StatusOr<std::shared_ptr<SharedArena>> SharedArena::Connect(
    const v1::SharedMemoryCapabilities& shared, int64_t least_bytes) {
  absl::string_view listen = shared.listen();
  if (!absl::ConsumePrefix(&listen, "unix:")) {
    return absl::FailedPreconditionError("the server shares no memory (--shm-listen)");
  }
  const std::string path(listen);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::FailedPreconditionError(
        absl::StrCat("shared_memory.listen unix:", path, " has a path of ", path.size(),
                     " bytes, not in [1, ", sizeof(address.sun_path) - 1, "]"));
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return Unreachable(path, std::strerror(errno));
  const std::shared_ptr<SharedArena> arena(new SharedArena(
      fd, static_cast<int64_t>(std::min<uint64_t>(shared.max_bytes(), INT64_MAX)), least_bytes));
  const timeval patience = absl::ToTimeval(kPatience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));  // connect() heeds it, too
  if (ConnectTo(fd, address) != 0) return Unreachable(path, std::strerror(errno));
  absl::StatusOr<Buffer> first;
  const absl::MutexLock lock(&arena->socket_mutex_);
  absl::StatusOr<RegionAnswer> hello = arena->Ask(RegionRequest(), nullptr);
  if (!hello.ok()) return hello.status();
  if (shared.server_id() !=
      std::string(reinterpret_cast<const char*>(hello->server_id), sizeof(hello->server_id))) {
    return Unreachable(path, "another server is there");
  }
  // The first call is not to wait for it.
  first = arena->Grow(1);
  if (!first.ok()) return first.status();
  return arena;
}

SharedArena::~SharedArena() {
  for (auto& [name, region] : regions_) munmap(region.base, static_cast<size_t>(region.bytes));
  close(fd_);
}

bool SharedArena::Send(const RegionRequest& request) {
  ssize_t sent = 0;
  do {
    sent = is_dead_ ? 0 : send(fd_, &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent != sizeof(request)) is_dead_ = true;
  return !is_dead_;
}

absl::optional<RegionAnswer> SharedArena::Receive(absl::Time deadline, int* granted) {
  RegionAnswer answer;
  iovec part{&answer, sizeof(answer)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ssize_t size = 0;
  for (;;) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    size = recvmsg(fd_, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (size >= 0 || (errno != EAGAIN && errno != EINTR)) break;
    const absl::Duration left = deadline - SteadyNow();
    if (left <= absl::ZeroDuration()) return absl::nullopt;
    pollfd polled = {fd_, POLLIN, 0};
    (void)poll(&polled, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
  }
  const int fd = size >= 0 ? DescriptorOf(&message) : -1;
  if (granted != nullptr) {
    *granted = fd;
  } else if (fd >= 0) {
    close(fd);
  }
  if (size != sizeof(answer)) {
    is_dead_ = true;
    return absl::nullopt;
  }
  return answer;
}

absl::StatusOr<RegionAnswer> SharedArena::Ask(const RegionRequest& request, int* granted) {
  const absl::Time deadline = SteadyNow() + kPatience;
  if (is_owed_) is_owed_ = !Receive(deadline, nullptr).has_value();
  absl::optional<RegionAnswer> answer;
  if (!is_owed_ && Send(request)) answer = Receive(deadline, granted);
  if (!answer.has_value()) {
    is_dead_ = true;  // an answer that comes late would be taken for the next one's
    return absl::UnavailableError("the server that shares memory does not answer");
  }
  if (answer->code == 0) return *answer;
  answer->message[sizeof(answer->message) - 1] = '\0';
  return absl::Status(static_cast<absl::StatusCode>(answer->code), answer->message);
}

void SharedArena::Free() {
  for (;;) {
    {
      const absl::MutexLock lock(&mutex_);
      if (unneeded_.empty()) return;
    }
    // Who has it looks for them when he is through.
    if (!socket_mutex_.TryLock()) return;
    FreeLocked();
    const bool has_to_wait = is_owed_ || is_dead_;
    socket_mutex_.Unlock();
    if (has_to_wait) return;
  }
}

void SharedArena::FreeLocked() {
  for (;;) {
    if (is_owed_) is_owed_ = !Receive(absl::InfinitePast(), nullptr).has_value();
    if (is_owed_ || is_dead_) return;
    RegionRequest request;
    request.kind = RegionKind::kFree;
    {
      const absl::MutexLock lock(&mutex_);
      if (unneeded_.empty()) return;
      std::copy(unneeded_.back().begin(), unneeded_.back().end(), request.name);
      unneeded_.pop_back();
    }
    is_owed_ = Send(request);
  }
}

absl::StatusOr<Buffer> SharedArena::Grow(int64_t bytes) {
  RegionRequest request;
  request.kind = RegionKind::kGrant;
  // Several regions, of which one may be leaving.
  const int64_t wanted =
      std::max(shm::RoundUp(bytes, shm::kRegionPage), std::min(kUsualRegion, max_bytes_ / 4));
  if (wanted >= refused_bytes_ && SteadyNow() < refused_until_) return refusal_;
  request.bytes = static_cast<uint64_t>(wanted);
  int fd = -1;
  absl::StatusOr<RegionAnswer> answer = Ask(request, &fd);
  if (!answer.ok()) {
    if (fd >= 0) close(fd);
    refused_bytes_ = wanted;
    refusal_ = answer.status();
    refused_until_ = SteadyNow() + kRefusedFor;
    return answer.status();
  }
  std::string name(reinterpret_cast<const char*>(answer->name), sizeof(answer->name));
  Region region;
  region.bytes = static_cast<int64_t>(answer->bytes);
  void* mapping = MAP_FAILED;
  std::string why;
  if (fd < 0) {
    why = "no descriptor came with it";
  } else if (baseband_is_sealed_memory(fd, answer->bytes) == 0) {
    why = "it is no sealed memory of that size";
  } else {
    mapping = mmap(nullptr, answer->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapping == MAP_FAILED) why = std::strerror(errno);
  }
  if (fd >= 0) close(fd);
  absl::Status usable;
  if (mapping == MAP_FAILED) {
    usable = absl::ResourceExhaustedError(
        absl::StrCat("shared memory of ", answer->bytes, " bytes cannot be mapped: ", why));
  } else {
    request.kind = RegionKind::kMapped;
    std::copy(name.begin(), name.end(), request.name);
    usable = Ask(request, nullptr).status();
  }
  const absl::MutexLock lock(&mutex_);
  if (!usable.ok()) {
    if (mapping != MAP_FAILED) munmap(mapping, answer->bytes);
    unneeded_.push_back(std::move(name));
    refused_bytes_ = wanted;
    refusal_ = std::move(usable);
    refused_until_ = SteadyNow() + kRefusedFor;
    return refusal_;
  }
  region.base = static_cast<uint8_t*>(mapping);
  region.free.emplace(0, region.bytes);
  regions_.emplace(std::move(name), region);
  absl::optional<Buffer> buffer = TakeFreeLocked(bytes);
  if (buffer.has_value()) return *std::move(buffer);
  return absl::InternalError("the server has granted less than it was asked for");
}

absl::optional<Buffer> SharedArena::TakeFree(int64_t bytes) {
  const absl::MutexLock lock(&mutex_);
  return TakeFreeLocked(bytes);
}

absl::optional<Buffer> SharedArena::TakeFreeLocked(int64_t bytes) {
  const int64_t taken = shm::RoundUp(bytes, shm::kRegionPage);
  for (auto& [name, region] : regions_) {
    if (region.is_leaving) continue;
    TakeReleased(&region);
    for (auto piece = region.free.begin(); piece != region.free.end(); ++piece) {
      const auto [offset, size] = *piece;
      if (size < taken) continue;
      region.free.erase(piece);
      if (size > taken) region.free.emplace(offset + taken, size - taken);
      region.lent += taken;
      return Buffer(shared_from_this(), name, static_cast<uint64_t>(offset), region.base + offset,
                    bytes, taken);
    }
  }
  return absl::nullopt;
}

absl::StatusOr<Buffer> SharedArena::GrowAndTake(int64_t bytes) {
  // Another may have asked meanwhile.
  if (absl::optional<Buffer> buffer = TakeFree(bytes)) return *std::move(buffer);
  absl::StatusOr<Buffer> buffer = Grow(bytes);
  FreeLocked();
  return buffer;
}

absl::Status SharedArena::CheckLoan(int64_t bytes) const {
  return bytes > 0 && bytes <= max_bytes_
             ? absl::OkStatus()
             : absl::InvalidArgumentError(
                   absl::StrCat("bytes ", bytes, " is not in [1, ", max_bytes_, "]"));
}

absl::StatusOr<Buffer> SharedArena::Loan(int64_t bytes) {
  if (absl::Status status = CheckLoan(bytes); !status.ok()) return status;
  if (absl::optional<Buffer> buffer = TakeFree(bytes)) return *std::move(buffer);
  absl::StatusOr<Buffer> buffer;
  {
    const absl::MutexLock lock(&socket_mutex_);
    buffer = GrowAndTake(bytes);
  }
  Free();
  return buffer;
}

absl::StatusOr<Buffer> SharedArena::LoanAtOnce(int64_t bytes) {
  if (absl::Status status = CheckLoan(bytes); !status.ok()) return status;
  if (absl::optional<Buffer> buffer = TakeFree(bytes)) return *std::move(buffer);
  if (!socket_mutex_.TryLock()) {
    return absl::UnavailableError("another thread asks the server for memory");
  }
  absl::StatusOr<Buffer> buffer = GrowAndTake(bytes);
  socket_mutex_.Unlock();
  Free();
  return buffer;
}

uint64_t SharedArena::NextHold() {
  const uint64_t number = shm::kHoldStates * holds_.fetch_add(1, std::memory_order_relaxed);
  return number != 0 ? number : NextHold();
}

int64_t SharedArena::RoomFor(int kind, int64_t payload_bytes) {
  const absl::MutexLock lock(&mutex_);
  const double bytes = replies_.Ratio(kind, SteadyNow()) * static_cast<double>(payload_bytes);
  return static_cast<int64_t>(std::min(static_cast<double>(max_bytes_ / 4), bytes)) +
         shm::kRegionPage;
}

void SharedArena::LearnRoom(int kind, int64_t payload_bytes, int64_t reply_bytes) {
  const absl::MutexLock lock(&mutex_);
  replies_.Learn(kind, static_cast<double>(reply_bytes) / static_cast<double>(payload_bytes),
                 SteadyNow());
}

bool SharedArena::IsAlive() {
  Free();
  char byte = 0;
  // An answer can be read, or its end.
  const ssize_t size = is_dead_ ? 0 : recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) is_dead_ = true;
  return !is_dead_;
}

void SharedArena::GiveBack(Region* region, int64_t offset, int64_t bytes) {
  auto next = region->free.lower_bound(offset);
  if (next != region->free.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = region->free.erase(next);
  }
  if (next != region->free.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  region->free.emplace(offset, bytes);
}

void SharedArena::TakeReleased(Region* region) {
  const auto is_released = [region](const auto& piece) {
    const auto* const word = reinterpret_cast<const uint64_t*>(region->base + piece.first);
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) == piece.second.hold + shm::kReleased;
  };
  for (auto piece = region->awaited.begin(); piece != region->awaited.end();) {
    if (!is_released(*piece)) {
      ++piece;
      continue;
    }
    region->lost -= piece->second.bytes;
    GiveBack(region, piece->first, piece->second.bytes);
    piece = region->awaited.erase(piece);
  }
}

void SharedArena::Return(const std::string& name, int64_t offset, int64_t bytes, Buffer::Fate fate,
                         uint64_t hold) {
  Region gone;
  {
    const absl::MutexLock lock(&mutex_);
    gone = ReturnLocked(name, offset, bytes, fate, hold);
  }
  if (gone.bytes == 0) return;
  munmap(gone.base, static_cast<size_t>(gone.bytes));
  Free();
}

SharedArena::Region SharedArena::ReturnLocked(const std::string& name, int64_t offset,
                                              int64_t bytes, Buffer::Fate fate, uint64_t hold) {
  const auto found = regions_.find(name);
  Region& region = found->second;
  region.lent -= bytes;
  if (fate == Buffer::Fate::kFree) {
    GiveBack(&region, offset, bytes);
  } else {
    region.lost += bytes;
    if (fate == Buffer::Fate::kAwaited) region.awaited.emplace(offset, Awaited{bytes, hold});
    TakeReleased(&region);
    region.is_leaving |= 2 * region.lost > region.bytes;
  }
  if (!region.is_leaving || region.lent > 0) return Region();
  // The server keeps it as long as it uses it.
  unneeded_.push_back(name);
  Region gone = std::move(region);
  regions_.erase(found);
  return gone;
}

Buffer::Buffer(int64_t size) : size_(size), own_(new uint8_t[static_cast<size_t>(size)]) {
  data_ = own_.get();
}

Buffer::Buffer(std::shared_ptr<SharedArena> arena, std::string region, uint64_t offset,
               uint8_t* data, int64_t size, int64_t taken)
    : arena_(std::move(arena)),
      region_(std::move(region)),
      offset_(offset),
      data_(data),
      size_(size),
      taken_(taken) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    Return(Fate::kFree);
    arena_ = std::move(other.arena_);
    region_ = std::move(other.region_);
    offset_ = other.offset_;
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    taken_ = other.taken_;
    hold_ = other.hold_;
    own_ = std::move(other.own_);
  }
  return *this;
}

void Buffer::Return(Fate fate) {
  if (arena_ != nullptr) {
    arena_->Return(region_, static_cast<int64_t>(offset_), taken_, fate, hold_);
    arena_.reset();
  }
  own_.reset();
  data_ = nullptr;
  size_ = 0;
}

}  // namespace baseband::client
