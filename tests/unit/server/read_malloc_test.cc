// The program's malloc, which this test has, too.
#include "server/read_malloc.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "server/device/read_arena.h"

namespace baseband::server {
namespace {

constexpr size_t kSlice8 = (8 << 10) + 40;
constexpr size_t kSlice64 = (64 << 10) + 40;
constexpr int64_t kArenaBytes = 8 << 20;

class ReadMallocTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasReadMalloc()) GTEST_SKIP() << "a sanitizer has the malloc";
    // One for all tests: what has blocks of it may be freed after them.
    static ReadArena& arena = *new ReadArena(
        {static_cast<uint8_t*>(std::aligned_alloc(64, kArenaBytes)), kArenaBytes, true});
    ReadArena::SetOfProcess(&arena);
  }
  static bool IsOfArena(const void* block) { return ReadArena::Of(block) != nullptr; }
};

TEST_F(ReadMallocTest, ReadBuffersAreOfTheArenaAndNothingElseIs) {
  for (const size_t bytes : {kSlice8, kSlice64}) {
    void* const block = std::malloc(bytes);
    EXPECT_TRUE(IsOfArena(block)) << bytes;
    EXPECT_GE(malloc_usable_size(block), bytes);
    std::free(block);
  }
  for (const size_t bytes : {size_t{1}, size_t{1000}, size_t{10000}, size_t{1} << 20}) {
    void* const block = std::malloc(bytes);
    EXPECT_FALSE(IsOfArena(block)) << bytes;
    EXPECT_GE(malloc_usable_size(block), bytes);
    std::free(block);
  }
  std::free(nullptr);
}

TEST_F(ReadMallocTest, BlocksOfTheCLibraryAreFreedAndGrown) {
  std::free(std::calloc(1, kSlice8));
  std::free(std::aligned_alloc(64, 2 * kSlice64 / 64 * 64));
  void* aligned = nullptr;
  ASSERT_EQ(posix_memalign(&aligned, 4096, kSlice8), 0);
  EXPECT_FALSE(IsOfArena(aligned));
  std::free(aligned);
  void* const zeros = std::realloc(std::calloc(1, 100), kSlice64);
  EXPECT_EQ(static_cast<const uint8_t*>(zeros)[99], 0);
  std::free(zeros);
  std::free(strdup("text"));
}

TEST_F(ReadMallocTest, WhenTheArenaIsFullTheCLibraryServes) {
  std::vector<void*> blocks;
  do {
    blocks.push_back(std::malloc(kSlice64));
  } while (IsOfArena(blocks.back()));
  EXPECT_GT(blocks.size(), 100U);
  std::memset(blocks.back(), 1, kSlice64);
  for (void* const block : blocks) std::free(block);
  void* const again = std::malloc(kSlice64);
  EXPECT_TRUE(IsOfArena(again));
  std::free(again);
}

TEST_F(ReadMallocTest, WhatIsGrownOrShrunkKeepsItsBytes) {
  for (const size_t from : {kSlice8, kSlice64}) {
    for (const size_t to : {size_t{10}, kSlice8, size_t{20000}, kSlice64, size_t{1} << 20}) {
      auto* const block = static_cast<uint8_t*>(std::malloc(from));
      for (size_t i = 0; i < from; ++i) block[i] = static_cast<uint8_t>(i % 251);
      auto* const other = static_cast<uint8_t*>(std::realloc(block, to));
      for (size_t i = 0; i < std::min(from, to); ++i) ASSERT_EQ(other[i], i % 251);
      std::free(other);
    }
    EXPECT_EQ(std::realloc(std::malloc(from), 0), nullptr);
  }
}

// Blocks of all sizes, from several threads, that others grow and free: every byte stays.
TEST_F(ReadMallocTest, NoByteOfABlockChangesByItself) {
  constexpr int kThreads = 6;
  constexpr int kSteps = 3000;
  struct Block {
    uint8_t* data = nullptr;
    size_t bytes = 0;
    uint8_t value = 0;
  };
  const auto is_right = [](const Block& block) {
    return std::all_of(block.data, block.data + block.bytes,
                       [&](uint8_t byte) { return byte == block.value; });
  };
  std::vector<std::atomic<Block*>> slots(300);  // more than the arena has room for
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      const auto draw = [&random] {
        const size_t sizes[] = {kSlice8, kSlice64, 1 + random() % 100, 8000 + random() % 500,
                                65000 + random() % 2000};
        return sizes[random() % 5];
      };
      for (int step = 0; step < kSteps; ++step) {
        auto* const block = new Block{nullptr, draw(), static_cast<uint8_t>(random())};
        block->data = static_cast<uint8_t*>(std::malloc(block->bytes));
        std::memset(block->data, block->value, block->bytes);
        Block* const other = slots[random() % slots.size()].exchange(block);
        if (other == nullptr) continue;
        wrong += is_right(*other) ? 0 : 1;
        if (random() % 3 == 0) {
          const size_t bytes = draw();
          other->data = static_cast<uint8_t*>(std::realloc(other->data, bytes));
          other->bytes = std::min(bytes, other->bytes);
          wrong += is_right(*other) ? 0 : 1;
        }
        std::free(other->data);
        delete other;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& slot : slots) {
    Block* const block = slot.load();
    if (block == nullptr) continue;
    wrong += is_right(*block) ? 0 : 1;
    std::free(block->data);
    delete block;
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace baseband::server
