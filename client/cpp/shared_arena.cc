#include "client/cpp/shared_arena.h"

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

namespace baseband::client {
namespace {

using shm::RegionAnswer;
using shm::RegionKind;
using shm::RegionRequest;

// A server page-locks 64 MiB in a few milliseconds.
constexpr int64_t kUsualRegion = 64 << 20;
constexpr timeval kPatience = {5, 0};

absl::Status Unreachable(const std::string& path, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat("unix:", path, ": ", why));
}

// The descriptor that came with `message`, -1 if there is none.
int DescriptorOf(msghdr* message) {
  cmsghdr* const header = CMSG_FIRSTHDR(message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
    return -1;
  }
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
  return fd;
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
    return Unreachable(path, "no path of a socket");
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return Unreachable(path, std::strerror(errno));
  const std::shared_ptr<SharedArena> arena(new SharedArena(
      fd, static_cast<int64_t>(std::min<uint64_t>(shared.max_bytes(), INT64_MAX)), least_bytes));
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof(kPatience));
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Unreachable(path, std::strerror(errno));
  }
  const absl::MutexLock lock(&arena->mutex_);
  absl::StatusOr<RegionAnswer> hello = arena->Ask(RegionRequest(), nullptr);
  if (!hello.ok()) return hello.status();
  if (shared.server_id() !=
      std::string(reinterpret_cast<const char*>(hello->server_id), sizeof(hello->server_id))) {
    return Unreachable(path, "another server is there");
  }
  // The first call is not to wait for it.
  if (absl::Status grown = arena->Grow(1); !grown.ok()) return grown;
  return arena;
}

SharedArena::~SharedArena() {
  for (auto& [name, region] : regions_) munmap(region.base, static_cast<size_t>(region.bytes));
  close(fd_);
}

absl::StatusOr<RegionAnswer> SharedArena::Ask(const RegionRequest& request, int* granted) {
  RegionAnswer answer;
  iovec part{&answer, sizeof(answer)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (is_dead_ || send(fd_, &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request) ||
      recvmsg(fd_, &message, MSG_CMSG_CLOEXEC) != sizeof(answer)) {
    is_dead_ = true;  // an answer that comes late would be taken for the next one's
    return absl::UnavailableError("the server that shares memory does not answer");
  }
  const int fd = DescriptorOf(&message);
  if (granted != nullptr) {
    *granted = fd;
  } else if (fd >= 0) {
    close(fd);
  }
  if (answer.code == 0) return answer;
  answer.message[sizeof(answer.message) - 1] = '\0';
  return absl::Status(static_cast<absl::StatusCode>(answer.code), answer.message);
}

absl::Status SharedArena::Grow(int64_t bytes) {
  RegionRequest request;
  request.kind = RegionKind::kGrant;
  // Several regions, of which one may be leaving.
  request.bytes = static_cast<uint64_t>(
      std::max(shm::RoundUp(bytes, shm::kRegionPage), std::min(kUsualRegion, max_bytes_ / 4)));
  int fd = -1;
  absl::StatusOr<RegionAnswer> answer = Ask(request, &fd);
  if (!answer.ok()) {
    if (fd >= 0) close(fd);
    return answer.status();
  }
  Region region;
  region.bytes = static_cast<int64_t>(answer->bytes);
  void* const mapping =
      fd < 0 ? MAP_FAILED : mmap(nullptr, answer->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const std::string why = std::strerror(errno);
  if (fd >= 0) close(fd);
  if (mapping == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat("shared memory cannot be mapped: ", why));
  }
  region.base = static_cast<uint8_t*>(mapping);
  region.free.emplace(0, region.bytes);
  regions_.emplace(std::string(reinterpret_cast<const char*>(answer->name), sizeof(answer->name)),
                   region);
  return absl::OkStatus();
}

absl::StatusOr<Buffer> SharedArena::Loan(int64_t bytes) {
  if (bytes <= 0 || bytes > max_bytes_) {
    return absl::InvalidArgumentError(
        absl::StrCat("bytes ", bytes, " is not in [1, ", max_bytes_, "]"));
  }
  const int64_t taken = shm::RoundUp(bytes, shm::kRegionPage);
  const absl::MutexLock lock(&mutex_);
  for (bool has_grown = false;; has_grown = true) {
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
    if (has_grown) return absl::ResourceExhaustedError("the region granted is smaller than asked");
    if (absl::Status grown = Grow(taken); !grown.ok()) return grown;
  }
}

int64_t SharedArena::RoomFor(int kind, int64_t payload_bytes) {
  const absl::MutexLock lock(&mutex_);
  const double ratio = replies_.emplace(kind, 1.0).first->second;
  return std::min(max_bytes_ / 4, static_cast<int64_t>(ratio * static_cast<double>(payload_bytes)) +
                                      shm::kRegionPage);
}

void SharedArena::LearnRoom(int kind, int64_t payload_bytes, int64_t reply_bytes) {
  const absl::MutexLock lock(&mutex_);
  double& ratio = replies_.emplace(kind, 1.0).first->second;
  ratio = std::max(ratio, static_cast<double>(reply_bytes) / static_cast<double>(payload_bytes));
}

bool SharedArena::IsAlive() {
  const absl::MutexLock lock(&mutex_);
  char byte = 0;
  // Nothing is under way: what can be read is its end.
  if (!is_dead_) is_dead_ = recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
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
  const absl::MutexLock lock(&mutex_);
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
  if (!region.is_leaving || region.lent > 0) return;
  // The server keeps it as long as it uses it.
  RegionRequest request;
  request.kind = RegionKind::kFree;
  std::copy(name.begin(), name.end(), request.name);
  (void)Ask(request, nullptr);
  munmap(region.base, static_cast<size_t>(region.bytes));
  regions_.erase(found);
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
