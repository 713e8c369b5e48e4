#include "server/device/read_arena.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace baseband::server {
namespace {

constexpr size_t kSlice8 = (8 << 10) + 40;  // as gRPC asks for them
constexpr size_t kSlice64 = (64 << 10) + 40;

class ReadArenaTest : public ::testing::Test {
 protected:
  static constexpr size_t kLargeBlocks = 20;  // two words and a part of one

  std::vector<void*> TakeAll(size_t bytes) {
    std::vector<void*> blocks;
    while (void* const block = arena_.Allocate(bytes)) blocks.push_back(block);
    return blocks;
  }
  void FreeAll(const std::vector<void*>& blocks) {
    for (void* const block : blocks) arena_.Free(block);
  }

  std::vector<uint8_t> memory_ = std::vector<uint8_t>(kLargeBlocks * ReadArena::kLarge + 100);
  MemoryRegion region_ = {memory_.data(), static_cast<int64_t>(memory_.size()), true};
  ReadArena arena_{region_};
};

TEST_F(ReadArenaTest, OnlySizesOfReadBuffersAreServed) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{8} << 10, ReadArena::kSmall + 1,
                             size_t{64} << 10, ReadArena::kLarge + 1, SIZE_MAX}) {
    EXPECT_EQ(arena_.Allocate(bytes), nullptr) << bytes;
  }
  for (const size_t bytes : {kSlice8, ReadArena::kSmall, kSlice64, ReadArena::kLarge}) {
    void* const block = arena_.Allocate(bytes);
    ASSERT_NE(block, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignof(std::max_align_t),
              reinterpret_cast<uintptr_t>(memory_.data()) % alignof(std::max_align_t));
    EXPECT_GE(arena_.SizeOf(block), bytes);
    arena_.Free(block);
  }
}

TEST_F(ReadArenaTest, AllOfItIsServedAndThenNothing) {
  for (const auto& [bytes, count] :
       {std::pair(kSlice64, kLargeBlocks), {kSlice8, 8 * kLargeBlocks}, {kSlice64, kLargeBlocks}}) {
    std::vector<void*> blocks = TakeAll(bytes);
    EXPECT_EQ(blocks.size(), count);
    std::sort(blocks.begin(), blocks.end());
    for (size_t i = 0; i < blocks.size(); ++i) {
      const auto* const block = static_cast<const uint8_t*>(blocks[i]);
      EXPECT_LE(block + bytes, i + 1 < blocks.size() ? static_cast<const uint8_t*>(blocks[i + 1])
                                                     : memory_.data() + memory_.size() - 64);
    }
    FreeAll(blocks);
  }
}

TEST_F(ReadArenaTest, WhatIsFreedWhenItWasFullIsServedAgain) {
  std::vector<void*> large = TakeAll(kSlice64);
  EXPECT_EQ(arena_.Allocate(kSlice8), nullptr);
  arena_.Free(large.back());
  EXPECT_EQ(arena_.Allocate(kSlice64), large.back());
  arena_.Free(large.back());
  large.pop_back();
  std::vector<void*> small = TakeAll(kSlice8);
  EXPECT_EQ(small.size(), 8U) << "of one large block";
  arena_.Free(small.back());
  EXPECT_EQ(arena_.Allocate(kSlice64), nullptr) << "seven of its eighths are used";
  small.back() = arena_.Allocate(kSlice8);
  ASSERT_NE(small.back(), nullptr);
  FreeAll(small);
  EXPECT_EQ(TakeAll(kSlice64).size(), 1U);
}

TEST_F(ReadArenaTest, SmallBlocksBreakUpOneLargeBlockAtATime) {
  std::vector<void*> small;
  for (int i = 0; i < 8; ++i) small.push_back(arena_.Allocate(kSlice8));
  EXPECT_EQ(TakeAll(kSlice64).size(), kLargeBlocks - 1);
}

TEST_F(ReadArenaTest, WhatIsTooSmallForABlockHasNone) {
  for (const int64_t bytes : {int64_t{0}, static_cast<int64_t>(ReadArena::kLarge)}) {
    ReadArena arena({memory_.data(), bytes, true});
    EXPECT_EQ(arena.Allocate(kSlice64), nullptr);
    EXPECT_EQ(arena.Allocate(kSlice8), nullptr);
  }
}

TEST_F(ReadArenaTest, KnowsItsMemory) {
  EXPECT_TRUE(arena_.Has(memory_.data()));
  EXPECT_TRUE(arena_.Has(memory_.data() + memory_.size() - 1));
  EXPECT_FALSE(arena_.Has(memory_.data() + memory_.size()));
  EXPECT_FALSE(arena_.Has(memory_.data() - 1));
  EXPECT_FALSE(arena_.Has(nullptr));
}

using ReadArenaDeathTest = ReadArenaTest;

TEST_F(ReadArenaDeathTest, FreeingWhatIsNoBlockEndsTheProcess) {
  auto* const block = static_cast<uint8_t*>(arena_.Allocate(kSlice64));
  EXPECT_DEATH(arena_.Free(block + 16), "");
  arena_.Free(block);
  EXPECT_DEATH(arena_.Free(block), "");
}

// Threads fill blocks with numbers of their own and free each other's: nobody finds another's.
TEST_F(ReadArenaTest, NoTwoThreadsHaveTheSameMemory) {
  constexpr int kThreads = 8;
  constexpr int kSteps = 20'000;
  struct Block {
    uint32_t* data = nullptr;
    size_t words = 0;
  };
  std::vector<std::atomic<Block*>> slots(64);
  std::atomic<int> wrong{0};
  std::atomic<int> served{0};
  const auto check_and_free = [&](Block* block) {
    uint32_t* const end = block->data + block->words;
    wrong += std::adjacent_find(block->data, end, std::not_equal_to<>()) != end ? 1 : 0;
    arena_.Free(block->data);
    delete block;
  };
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (uint32_t step = 0; step < kSteps; ++step) {
        const size_t bytes = random() % 4 == 0 ? kSlice8 : kSlice64;
        Block* block = nullptr;
        if (void* const data = arena_.Allocate(bytes)) {
          ++served;
          // The ends and the midst tell as much as all of it, sooner.
          block = new Block{static_cast<uint32_t*>(data), 64};
          std::fill_n(block->data, block->words, t * kSteps + step);
          auto* const bytes_of = static_cast<uint8_t*>(data);
          bytes_of[bytes - 1] = bytes_of[bytes / 2] = static_cast<uint8_t>(step);
        }
        if (Block* const other = slots[random() % slots.size()].exchange(block)) {
          check_and_free(other);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& slot : slots) {
    if (Block* const block = slot.load()) check_and_free(block);
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(served, kSteps);
  EXPECT_EQ(TakeAll(kSlice64).size(), kLargeBlocks) << "all came back";
}

}  // namespace
}  // namespace baseband::server
