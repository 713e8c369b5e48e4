#include "server/device/host_pool.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

namespace baseband::server {
namespace {

int64_t RoundUp(int64_t size) {
  return (std::max<int64_t>(size, 1) + HostPool::kAlignment - 1) / HostPool::kAlignment *
         HostPool::kAlignment;
}

}  // namespace

HostLease& HostLease::operator=(HostLease&& other) noexcept {
  if (this != &other) {
    Reset();
    pool_ = std::move(other.pool_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void HostLease::Reset() {
  if (data_ != nullptr) {
    pool_->Return(std::exchange(data_, nullptr), std::exchange(size_, 0));
    pool_.reset();
  }
}

std::shared_ptr<HostPool> HostPool::Create(MemoryRegion region, std::function<void()> free_memory) {
  region.bytes = region.bytes / kAlignment * kAlignment;
  return std::shared_ptr<HostPool>(new HostPool(region, std::move(free_memory)));
}

absl::StatusOr<std::shared_ptr<HostPool>> HostPool::CreatePageable(int64_t capacity) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 4096, static_cast<size_t>(capacity)) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("no ", capacity, " bytes of host memory"));
  }
  return Create({static_cast<uint8_t*>(memory), capacity, /*is_page_locked=*/false},
                [memory] { std::free(memory); });
}

HostPool::HostPool(const MemoryRegion& region, std::function<void()> free_memory)
    : region_(region), free_memory_(std::move(free_memory)) {
  absl::MutexLock lock(&mutex_);
  free_.emplace(0, capacity());
  ResetRovers();
}

HostPool::~HostPool() { free_memory_(); }

void HostPool::ResetRovers() {
  for (int stream = 0; stream < kNumStreams; ++stream) {
    rover_[stream] = capacity() / kNumStreams * stream / kAlignment * kAlignment;
  }
}

absl::StatusOr<HostLease> HostPool::Lease(int64_t size, int stream) {
  const int64_t rounded = RoundUp(size);
  absl::MutexLock lock(&mutex_);
  // The piece the rover stands in serves from the rover on, later pieces from their start; then
  // once more from the beginning.
  auto it = free_.upper_bound(rover_[stream]);
  if (it != free_.begin()) {
    auto at_rover = std::prev(it);
    if (at_rover->first + at_rover->second >= rover_[stream] + rounded) {
      return HostLease(shared_from_this(), Carve(at_rover, rover_[stream], rounded, stream), size);
    }
  }
  for (; it != free_.end(); ++it) {
    if (it->second >= rounded) {
      return HostLease(shared_from_this(), Carve(it, it->first, rounded, stream), size);
    }
  }
  for (it = free_.begin(); it != free_.end(); ++it) {
    if (it->second >= rounded) {
      return HostLease(shared_from_this(), Carve(it, it->first, rounded, stream), size);
    }
  }
  return absl::ResourceExhaustedError(absl::StrCat("no free piece of ", size, " bytes: ", used_,
                                                   " of ", capacity(), " bytes are in use"));
}

uint8_t* HostPool::Carve(std::map<int64_t, int64_t>::iterator it, int64_t offset, int64_t size,
                         int stream) {
  const int64_t begin = it->first;
  const int64_t end = begin + it->second;
  free_.erase(it);
  if (offset > begin) {
    free_.emplace(begin, offset - begin);
  }
  if (offset + size < end) {
    free_.emplace(offset + size, end - offset - size);
  }
  rover_[stream] = offset + size;
  used_ += size;
  return region_.base + offset;
}

void HostPool::Return(uint8_t* data, int64_t size) {
  int64_t offset = data - region_.base;
  int64_t length = RoundUp(size);
  absl::MutexLock lock(&mutex_);
  used_ -= length;
  if (used_ == 0) {
    ResetRovers();
  }
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + length) {
    length += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      previous->second += length;
      return;
    }
  }
  free_.emplace_hint(next, offset, length);
}

int64_t HostPool::used() const {
  absl::MutexLock lock(&mutex_);
  return used_;
}

}  // namespace baseband::server
