#include "client/c/heap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace {

struct Destroy {
  void operator()(basebandd_heap* heap) const { basebandd_heap_destroy(heap); }
};
using Heap = std::unique_ptr<basebandd_heap, Destroy>;

uint64_t RoundUp(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// The obvious version: the largest piece between what is taken.
uint64_t LargestFree(const std::map<uint64_t, uint64_t>& taken, uint64_t bytes) {
  uint64_t largest = 0;
  uint64_t at = 0;
  for (const auto& [begin, size] : taken) {
    largest = std::max(largest, begin - at);
    at = begin + size;
  }
  return std::max(largest, bytes - at);
}

TEST(HeapTest, PiecesNeverOverlapAndWhatFitsIsAlwaysFound) {
  constexpr uint64_t kBytes = 1 << 18;
  std::mt19937_64 random(17);
  const Heap heap(basebandd_heap_create(kBytes));
  std::map<uint64_t, uint64_t> taken;  // bytes, by offset
  int64_t refused = 0;
  for (int round = 0; round < 200000; ++round) {
    // Phases that fill it and that empty it.
    const bool takes = taken.empty() || random() % 100 < (round / 5000 % 2 == 0 ? 60U : 40U);
    if (takes) {
      const uint64_t bytes = 1 + random() % (uint64_t{1} << (6 + random() % 11));
      const uint64_t offset = basebandd_heap_take(heap.get(), bytes);
      if (offset == BASEBANDD_HEAP_NONE) {
        ASSERT_LT(LargestFree(taken, kBytes), RoundUp(bytes));
        ++refused;
        continue;
      }
      ASSERT_EQ(offset % 64, 0U);
      const auto [piece, is_new] = taken.emplace(offset, RoundUp(bytes));
      ASSERT_TRUE(is_new);
      ASSERT_LE(offset + piece->second, kBytes);
      if (piece != taken.begin()) {
        ASSERT_LE(std::prev(piece)->first + std::prev(piece)->second, offset);
      }
      if (std::next(piece) != taken.end()) {
        ASSERT_LE(offset + piece->second, std::next(piece)->first);
      }
    } else {
      auto piece = taken.lower_bound(random() % kBytes);
      if (piece == taken.end()) piece = taken.begin();
      ASSERT_EQ(basebandd_heap_give(heap.get(), piece->first), 0);
      ASSERT_EQ(basebandd_heap_give(heap.get(), piece->first), -1);
      taken.erase(piece);
    }
  }
  EXPECT_GT(refused, 100);
  for (const auto& [offset, size] : taken) ASSERT_EQ(basebandd_heap_give(heap.get(), offset), 0);
  EXPECT_EQ(basebandd_heap_take(heap.get(), kBytes), 0U);  // in one piece again
}

TEST(HeapTest, OfEverySizeItIsLentWhole) {
  for (uint64_t units = 1; units < 3000; ++units) {
    const Heap heap(basebandd_heap_create(64 * units));
    ASSERT_EQ(basebandd_heap_take(heap.get(), 64 * units + 1), BASEBANDD_HEAP_NONE);
    ASSERT_EQ(basebandd_heap_take(heap.get(), 64 * units), 0U);
    ASSERT_EQ(basebandd_heap_take(heap.get(), 1), BASEBANDD_HEAP_NONE);
  }
}

TEST(HeapTest, WhatIsNoLoanIsRefused) {
  const Heap heap(basebandd_heap_create(4096));
  EXPECT_EQ(basebandd_heap_take(heap.get(), 0), BASEBANDD_HEAP_NONE);
  const uint64_t offset = basebandd_heap_take(heap.get(), 256);
  for (const uint64_t other :
       {offset + 1, offset + 64, offset + 256, uint64_t{4096}, ~uint64_t{63}}) {
    EXPECT_EQ(basebandd_heap_give(heap.get(), other), -1) << other;
  }
  EXPECT_EQ(basebandd_heap_give(heap.get(), offset), 0);
}

TEST(HeapTest, TwoThreadsShareIt) {
  const Heap heap(basebandd_heap_create(1 << 16));
  std::vector<uint8_t> memory(1 << 16);
  const auto work = [&](uint8_t mark) {
    std::mt19937 random(mark);
    for (int round = 0; round < 20000; ++round) {
      const uint64_t bytes = 64 * (1 + random() % 64);
      const uint64_t offset = basebandd_heap_take(heap.get(), bytes);
      if (offset == BASEBANDD_HEAP_NONE) continue;
      std::fill_n(memory.begin() + static_cast<int64_t>(offset), bytes, mark);
      ASSERT_EQ(memory[offset], mark);
      ASSERT_EQ(memory[offset + bytes - 1], mark);
      ASSERT_EQ(basebandd_heap_give(heap.get(), offset), 0);
    }
  };
  std::thread other(work, uint8_t{1});
  work(uint8_t{2});
  other.join();
}

}  // namespace
