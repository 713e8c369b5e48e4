#include "server/device/host_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

namespace baseband::server {
namespace {

// An empty lease has an address of its own too.
constexpr uintptr_t kPage = 4096;  // or a part of one, where they are larger

int64_t UnitsOf(int64_t size) { return std::max<int64_t>(size - 1, 0) / HostPool::kAlignment + 1; }

}  // namespace

HostLease::HostLease(std::shared_ptr<HostPool> pool, absl::Span<uint8_t> part, uint32_t block)
    : HostLease(pool->region(), part, pool) {
  pool_ = pool.get();
  block_ = block;
}

HostLease& HostLease::operator=(HostLease&& other) noexcept {
  if (this != &other) {
    Reset();
    owner_ = std::move(other.owner_);
    region_ = std::exchange(other.region_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    pool_ = std::exchange(other.pool_, nullptr);
    block_ = other.block_;
  }
  return *this;
}

void HostLease::Reset() {
  data_ = nullptr;
  size_ = 0;
  region_ = nullptr;
  if (HostPool* const pool = std::exchange(pool_, nullptr); pool != nullptr) pool->Return(block_);
  owner_.reset();
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
    : region_(region),
      free_memory_(std::move(free_memory)),
      fit_(region.bytes / kAlignment, kNumStreams) {}

HostPool::~HostPool() { free_memory_(); }

absl::StatusOr<HostLease> HostPool::Lease(int64_t size, int stream) {
  int64_t used = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (const auto piece = fit_.Take(UnitsOf(size), stream % kNumStreams)) {
      uint8_t* const data = region_.base + piece->begin * kAlignment;
      return HostLease(shared_from_this(), {data, static_cast<size_t>(size)}, piece->block);
    }
    used = fit_.used() * kAlignment;
  }
  return absl::ResourceExhaustedError(absl::StrCat("no free piece of ", size, " bytes: ", used,
                                                   " of ", capacity(), " bytes are in use"));
}

void HostPool::Return(uint32_t block) {
  absl::MutexLock lock(&mutex_);
  fit_.Return(block);
}

void HostPool::GiveBack() {
  if (region_.is_page_locked) return;
  absl::MutexLock lock(&mutex_);
  fit_.ForEachFree([this](int64_t begin, int64_t size) {
    const auto first = reinterpret_cast<uintptr_t>(region_.base + begin * kAlignment);
    const uintptr_t page = (first + kPage - 1) / kPage * kPage;
    const uintptr_t end = (first + static_cast<uintptr_t>(size * kAlignment)) / kPage * kPage;
    if (page < end) madvise(reinterpret_cast<void*>(page), end - page, MADV_DONTNEED);
  });
}

int64_t HostPool::used() const {
  absl::MutexLock lock(&mutex_);
  return fit_.used() * kAlignment;
}

}  // namespace baseband::server
