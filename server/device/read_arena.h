// Memory for what gRPC reads from sockets, for GPUs to have payloads from where they were received.
//
//   ReadArena& arena = *new ReadArena(region);    // for good
//   void* p = arena.Allocate(65576);              // null: of a size that is not served, or full
//   if (ReadArena::Of(p) == &arena) arena.Free(p);
//
// gRPC 1.51 reads 64 KiB at a time, each into a slice that it has of malloc, with a header before
// it; what TLS decrypts, and the beginning of what is small, into slices of 8 KiB. No other sizes
// are served. Thread-safe, without locks, and async-signal-safe.
#ifndef BASEBAND_SERVER_DEVICE_READ_ARENA_H_
#define BASEBAND_SERVER_DEVICE_READ_ARENA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "server/device/payload.h"

namespace baseband::server {

class ReadArena {
 public:
  // Sizes of blocks; a large one is eight small ones, and such are served as leave little of one
  // unused.
  static constexpr size_t kSmall = (8 << 10) + 48;
  static constexpr size_t kLarge = 8 * kSmall;
  static constexpr bool IsSmall(size_t bytes) { return bytes > (8 << 10) && bytes <= kSmall; }
  static constexpr bool IsLarge(size_t bytes) { return bytes > (64 << 10) && bytes <= kLarge; }

  explicit ReadArena(const MemoryRegion& region);
  ReadArena(const ReadArena&) = delete;
  ReadArena& operator=(const ReadArena&) = delete;

  // Aligned as malloc's. Blocks that a processor takes one after the other lie near each other, and
  // those that were freed are taken again first: they are in its caches.
  void* Allocate(size_t bytes);
  // Ends the process if `block` was not allocated here, or has been freed.
  void Free(void* block);
  bool Has(const void* memory) const {
    return reinterpret_cast<uintptr_t>(memory) - reinterpret_cast<uintptr_t>(region_.base) <
           static_cast<size_t>(region_.bytes);
  }
  // Of a block: what may be used of it.
  size_t SizeOf(const void* block) const { return is_large_[UnitOf(block) / 8] ? kLarge : kSmall; }
  const MemoryRegion& region() const { return region_; }

  // That of the process, which malloc takes blocks of; null: none. It stays for good.
  static void SetOfProcess(ReadArena* arena) {
    of_process_.store(arena, std::memory_order_release);
  }
  static ReadArena* OfProcess() { return of_process_.load(std::memory_order_acquire); }
  // The same if `memory` is in it.
  static ReadArena* Of(const void* memory) {
    ReadArena* const arena = OfProcess();
    return arena != nullptr && arena->Has(memory) ? arena : nullptr;
  }

 private:
  static constexpr size_t kUnitsPerWord = 64;
  static constexpr size_t kWordsPerShard = 15;
  // A part of the memory, with which a processor begins its search.
  struct alignas(64) Shard {
    // A bit for each unit of kSmall bytes: whether it is free.
    std::atomic<uint64_t> free[kWordsPerShard] = {};
    // A bit for each word: it had no small block, no large one, and none has been freed since.
    std::atomic<uint32_t> empty[2] = {};
  };
  static constexpr size_t kNone = SIZE_MAX;
  static std::atomic<ReadArena*> of_process_;

  size_t UnitOf(const void* block) const {
    return static_cast<size_t>(static_cast<const uint8_t*>(block) - region_.base) / kSmall;
  }
  // The first unit of a block that was free; kNone: there was none.
  size_t Take(bool is_large);
  static size_t TakeOf(Shard& shard, bool is_large);

  const MemoryRegion region_;
  const size_t num_shards_;
  const size_t shards_per_cpu_;
  const std::unique_ptr<Shard[]> shards_;
  std::atomic<bool> is_full_[2] = {};  // as Shard::empty, of all
  // For each eight units: whether they are one block. Changed by who has all of them.
  const std::unique_ptr<bool[]> is_large_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_READ_ARENA_H_
