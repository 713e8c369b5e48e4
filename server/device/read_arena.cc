#include "server/device/read_arena.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace baseband::server {
namespace {

constexpr uint64_t kGroup = 0xff;
// GPUs may read so much past the end of a payload.
constexpr int64_t kReadAhead = 64;

// Large blocks, whole: no part of one is left over.
size_t CountUnits(const MemoryRegion& region) {
  const int64_t usable = std::max<int64_t>(region.bytes - kReadAhead, 0);
  return static_cast<size_t>(usable) / ReadArena::kLarge * 8;
}

// The lowest bit of each eight that are all set.
uint64_t WholeGroups(uint64_t free) {
  free &= free >> 1;
  free &= free >> 2;
  free &= free >> 4;
  return free & 0x0101010101010101;
}

uint64_t Lowest(uint64_t bits) { return bits & -bits; }

// What a block takes of the units that are free; 0: there is none. Small ones break up the fewest
// large ones.
uint64_t Choose(uint64_t free, bool is_large) {
  const uint64_t whole = WholeGroups(free);
  if (is_large) return Lowest(whole) * kGroup;
  const uint64_t broken = free & ~(whole * kGroup);
  return Lowest(broken != 0 ? broken : free);
}

}  // namespace

std::atomic<ReadArena*> ReadArena::of_process_{nullptr};

ReadArena::ReadArena(const MemoryRegion& region)
    : region_(region),
      num_shards_(CountUnits(region) / (kWordsPerShard * kUnitsPerWord) + 1),
      shards_per_cpu_(
          std::max<size_t>(num_shards_ / std::max(std::thread::hardware_concurrency(), 1U), 1)),
      shards_(new Shard[num_shards_]),
      is_large_(new bool[CountUnits(region) / 8]()) {
  for (size_t unit = 0; unit < CountUnits(region); unit += 8) {
    const size_t word = unit / kUnitsPerWord;
    shards_[word / kWordsPerShard].free[word % kWordsPerShard] |= kGroup << unit % kUnitsPerWord;
  }
}

void* ReadArena::Allocate(size_t bytes) {
  const bool is_large = IsLarge(bytes);
  if (!is_large && !IsSmall(bytes)) return nullptr;
  std::atomic<bool>& is_full = is_full_[is_large ? 1 : 0];
  if (is_full) return nullptr;
  size_t unit = Take(is_large);
  if (unit == kNone) {
    // Who frees a block looks at this after that: one of us sees what the other did.
    is_full = true;
    unit = Take(is_large);
    if (unit == kNone) return nullptr;
    is_full = false;
  }
  if (is_large) is_large_[unit / 8] = true;
  return region_.base + unit * kSmall;
}

size_t ReadArena::Take(bool is_large) {
  const size_t home = static_cast<size_t>(std::max(sched_getcpu(), 0)) * shards_per_cpu_;
  for (size_t n = 0; n < num_shards_; ++n) {
    const size_t shard = (home + n) % num_shards_;
    if (const size_t unit = TakeOf(shards_[shard], is_large); unit != kNone) {
      return shard * kWordsPerShard * kUnitsPerWord + unit;
    }
  }
  return kNone;
}

size_t ReadArena::TakeOf(Shard& shard, bool is_large) {
  std::atomic<uint32_t>& empty = shard.empty[is_large ? 1 : 0];
  constexpr uint32_t kAll = (1U << kWordsPerShard) - 1;
  for (uint32_t left = kAll & ~empty; left != 0; left &= left - 1) {
    const auto word = static_cast<size_t>(__builtin_ctz(left));
    const uint32_t bit = left & -left;
    for (uint64_t free = shard.free[word];;) {
      if (const uint64_t taken = Choose(free, is_large); taken != 0) {
        if (!shard.free[word].compare_exchange_weak(free, free & ~taken)) continue;
        return word * kUnitsPerWord + static_cast<size_t>(__builtin_ctzll(taken));
      }
      empty |= bit;  // as is_full
      free = shard.free[word];
      if (Choose(free, is_large) == 0) break;
      empty &= ~bit;
    }
  }
  return kNone;
}

void ReadArena::Free(void* block) {
  const size_t unit = UnitOf(block);
  const size_t word = unit / kUnitsPerWord;
  Shard& shard = shards_[word / kWordsPerShard];
  bool& is_large = is_large_[unit / 8];
  const uint64_t taken = (is_large ? kGroup : 1) << unit % kUnitsPerWord;
  if (is_large) is_large = false;
  const uint64_t free = shard.free[word % kWordsPerShard].fetch_or(taken);
  if (block != region_.base + unit * kSmall || (free & taken) != 0) std::abort();
  const uint32_t bit = 1U << word % kWordsPerShard;
  for (std::atomic<uint32_t>& empty : shard.empty) {
    if ((empty & bit) != 0) empty &= ~bit;
  }
  for (std::atomic<bool>& is_full : is_full_) {
    if (is_full) is_full = false;
  }
}

}  // namespace baseband::server
