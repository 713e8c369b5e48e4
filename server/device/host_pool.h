// Host memory made once at start and leased in pieces: payloads on their way in, replies on their
// way out. On a CUDA host the memory is page-locked, so that every lease can be copied to or from
// the device at full speed.
#ifndef BASEBAND_SERVER_DEVICE_HOST_POOL_H_
#define BASEBAND_SERVER_DEVICE_HOST_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "server/device/payload.h"
#include "server/device/segregated_fit.h"

namespace baseband::server {

class HostPool;

// A piece of a HostPool, to which it goes back in the destructor, or of memory that is somebody
// else's. Move-only. Keeps what it is of alive.
class HostLease {
 public:
  HostLease() = default;
  // `part` of `region`, which `owner` keeps.
  HostLease(const MemoryRegion& region, absl::Span<uint8_t> part, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)),
        region_(&region),
        data_(part.data()),
        size_(static_cast<int64_t>(part.size())) {}
  HostLease(HostLease&& other) noexcept { *this = std::move(other); }
  HostLease& operator=(HostLease&& other) noexcept;
  ~HostLease() { Reset(); }

  uint8_t* data() const { return data_; }
  int64_t size() const { return size_; }
  absl::Span<uint8_t> span() const { return {data_, static_cast<size_t>(size_)}; }
  // That it is a piece of; null: it is none.
  const MemoryRegion* region() const { return region_; }
  void Reset();

 private:
  friend class HostPool;
  HostLease(std::shared_ptr<HostPool> pool, absl::Span<uint8_t> part, uint32_t block);

  std::shared_ptr<const void> owner_;
  const MemoryRegion* region_ = nullptr;
  uint8_t* data_ = nullptr;
  int64_t size_ = 0;
  HostPool* pool_ = nullptr;  // null: it goes back to none
  uint32_t block_ = 0;        // of its pool
};

// Leases of one block of memory, in a few instructions however many there are: segregated_fit.h.
// Leases taken one after the other lie side by side where they can, so that a batch's payloads
// usually form one run for the copy engine. Thread-safe.
class HostPool : public std::enable_shared_from_this<HostPool> {
 public:
  // Leases start and end on this boundary.
  static constexpr int64_t kAlignment = 64;
  // Leases of one stream continue where its last one ended; streams start apart. Of streams whose
  // numbers are equal modulo kNumStreams it knows but one.
  static constexpr int kNumStreams = 8;

  // Takes a region of memory and what frees it. Its size is rounded down to kAlignment.
  static std::shared_ptr<HostPool> Create(MemoryRegion region, std::function<void()> free_memory);
  // Pageable memory of the process itself. ResourceExhausted when there is none.
  static absl::StatusOr<std::shared_ptr<HostPool>> CreatePageable(int64_t capacity);
  virtual ~HostPool();
  HostPool(const HostPool&) = delete;
  HostPool& operator=(const HostPool&) = delete;

  // A piece of `size` >= 0 bytes. ResourceExhausted when no free piece is large enough.
  absl::StatusOr<HostLease> Lease(int64_t size) { return Lease(size, /*stream=*/0); }
  virtual absl::StatusOr<HostLease> Lease(int64_t size, int stream);

  // What is free goes back to the system, if it can: page-locked memory stays. It is had again,
  // a page at a time, when it is leased.
  virtual void GiveBack();

  virtual int64_t used() const;
  int64_t capacity() const { return region_.bytes; }
  const MemoryRegion& region() const { return region_; }

 protected:
  HostPool(const MemoryRegion& region, std::function<void()> free_memory);

 private:
  friend class HostLease;
  void Return(uint32_t block);

  const MemoryRegion region_;
  const std::function<void()> free_memory_;

  mutable absl::Mutex mutex_;
  SegregatedFit fit_ ABSL_GUARDED_BY(mutex_);  // in units of kAlignment
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_HOST_POOL_H_
