// Scrambling against the definition of TS 38.211 clause 5.2.1, bit by bit, on every instruction
// set.
#include "kernels/nr/scrambling.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/base/bits.h"
#include "kernels/nr/symbols_reference.h"
#include "tests/support/channel.h"
#include "tests/support/every_target.h"
#include "tests/support/ldpc_words.h"

namespace baseband::nr {
namespace {

using testing::BitAt;
using testing::OnEveryTarget;
using testing::Random;

// Around vectors, words and the chunks of 512 words that the sequence is made in.
constexpr int64_t kCounts[] = {1,   7,    8,     31,    32,    33,    255,   256,  257,
                               992, 1000, 16383, 16384, 16385, 16416, 32768, 40001};

uint32_t RandomInit(Random& random) { return static_cast<uint32_t>(random.Next() >> 33); }

TEST(NrGoldSequenceTest, IsTheDefinitionsFromAnyPlaceOn) {
  Random random(1);
  for (const uint32_t c_init : {0u, 1u, kMaxScramblingInit, RandomInit(random)}) {
    const std::vector<uint8_t> expected = reference::GoldSequence(c_init, 90000);
    for (const int64_t count : kCounts) {
      const int64_t first = random.Below(90000 - 40001);
      SCOPED_TRACE(::testing::Message() << c_init << " from " << first << ", " << count << " bits");
      OnEveryTarget([&] {
        std::vector<uint8_t> bits(static_cast<size_t>(BytesForBits(count)), 0xff);
        GoldSequence(c_init, first, count, absl::MakeSpan(bits));
        EXPECT_EQ(bits, testing::PackBits(absl::MakeSpan(expected).subspan(
                            static_cast<size_t>(first), static_cast<size_t>(count))));
      });
    }
  }
}

TEST(NrGoldSequenceTest, X1BeforePlace1600IsTheConstantOfOtherImplementations) {
  EXPECT_EQ(Jump({1, 1}, JumpBy(kGoldSkip - 31)).x1, 0x54d21b24u);
}

TEST(NrGoldSequenceTest, TwoJumpsAreOne) {
  Random random(2);
  for (int trial = 0; trial < 200; ++trial) {
    const uint32_t c_init = RandomInit(random);
    const uint64_t to = random.Next() >> (20 + random.Below(44));
    const uint64_t further = random.Next() >> (20 + random.Below(44));
    const GoldState once = GoldAt(c_init, to + further);
    const GoldState twice = Jump(GoldAt(c_init, to), JumpBy(further));
    EXPECT_EQ(once.x1, twice.x1);
    EXPECT_EQ(once.x2, twice.x2);
  }
}

TEST(NrGoldSequenceTest, AJumpIsAsManySteps) {
  GoldState walked = GoldAt(12345, 0);
  for (int i = 0; i < 1 << 18; ++i) walked = Next32(walked);
  const GoldState jumped = GoldAt(12345, uint64_t{32} << 18);
  EXPECT_EQ(walked.x1, jumped.x1);
  EXPECT_EQ(walked.x2, jumped.x2);
}

// The polynomials are primitive: no state comes back before all have been.
TEST(NrGoldSequenceTest, HasThePeriodOfItsRegisters) {
  constexpr uint64_t kPeriod = (uint64_t{1} << 31) - 1;  // a prime
  EXPECT_EQ(JumpBy(kPeriod).x1, 1u);
  EXPECT_EQ(JumpBy(kPeriod).x2, 1u);
  EXPECT_NE(JumpBy(1).x1, 1u);
}

TEST(NrGoldSequenceTest, WordsFollowTheRuleOfBits) {
  uint64_t w1[64];
  uint64_t w2[64];
  GoldState state = GoldAt(777, 5);
  for (int i = 0; i < 64; ++i) {
    w1[i] = ExtendX1(state.x1) & 0xffffffff;
    w2[i] = ExtendX2(state.x2) & 0xffffffff;
    state = Next32(state);
  }
  for (int i = 0; i + 31 < 64; ++i) {
    EXPECT_EQ(w1[i + 31], w1[i + 3] ^ w1[i]);
    EXPECT_EQ(w2[i + 31], w2[i + 3] ^ w2[i + 2] ^ w2[i + 1] ^ w2[i]);
  }
}

TEST(NrScrambleTest, AddsTheSequenceToItsBitsAndToNoOthers) {
  Random random(3);
  for (const int64_t count : kCounts) {
    for (int64_t begin = 0; begin < 9; ++begin) {
      const uint32_t c_init = RandomInit(random);
      const int64_t first = random.Below(3) == 0 ? 0 : random.Below(1000);
      const std::vector<uint8_t> c = reference::GoldSequence(c_init, first + count);
      std::vector<uint8_t> bits(static_cast<size_t>(BytesForBits(begin + count)) + 3);
      for (uint8_t& byte : bits) byte = static_cast<uint8_t>(random.Next());
      std::vector<uint8_t> expected = bits;
      for (int64_t i = 0; i < count; ++i) {
        if (c[static_cast<size_t>(first + i)] == 0) continue;
        uint8_t& byte = expected[static_cast<size_t>((begin + i) / 8)];
        byte = static_cast<uint8_t>(byte ^ 0x80 >> (begin + i) % 8);
      }
      OnEveryTarget([&] {
        std::vector<uint8_t> scrambled = bits;
        ScrambleBits(c_init, first, absl::MakeSpan(scrambled), begin, count);
        ASSERT_EQ(scrambled, expected) << count << " bits from " << begin << " on";
        ScrambleBits(c_init, first, absl::MakeSpan(scrambled), begin, count);
        ASSERT_EQ(scrambled, bits);
      });
    }
  }
}

TEST(NrScrambleTest, NoBitsAreNone) {
  std::vector<uint8_t> bits = {0x5a};
  ScrambleBits(1, 0, absl::MakeSpan(bits), 3, 0);
  EXPECT_EQ(bits[0], 0x5a);
  DescrambleLlrs(1, 0, {});
}

TEST(NrDescrambleTest, TurnsTheSignWhereTheSequenceIsOne) {
  Random random(4);
  for (const int64_t count : kCounts) {
    const uint32_t c_init = RandomInit(random);
    const int64_t first = random.Below(5000);
    const std::vector<uint8_t> c = reference::GoldSequence(c_init, first + count);
    std::vector<int8_t> llr(static_cast<size_t>(count));
    for (int8_t& value : llr) value = static_cast<int8_t>(random.Next());
    llr[0] = -128;
    std::vector<int8_t> expected;
    for (size_t i = 0; i < llr.size(); ++i) {
      const int value = std::max<int>(llr[i], -127);
      const bool turn = c[static_cast<size_t>(first) + i] != 0;
      expected.push_back(static_cast<int8_t>(turn ? -value : value));
    }
    OnEveryTarget([&] {
      // Behind a byte, so that vectors are not aligned.
      std::vector<int8_t> behind = {1};
      behind.insert(behind.end(), llr.begin(), llr.end());
      DescrambleLlrs(c_init, first, absl::MakeSpan(behind).subspan(1));
      ASSERT_EQ(std::vector<int8_t>(behind.begin() + 1, behind.end()), expected) << count;
    });
  }
}

TEST(NrScramblingInitTest, IsTheClauses) {
  EXPECT_EQ(ScramblingInit(1, 0, 0), 1u << 15);
  EXPECT_EQ(ScramblingInit(0, 1, 0), 1u << 14);
  EXPECT_EQ(ScramblingInit(0, 0, 1023), 1023u);
  EXPECT_EQ(ScramblingInit(0x4601, 1, 500), (0x4601u << 15) + (1u << 14) + 500);
  EXPECT_LE(ScramblingInit(65535, 1, 1023), kMaxScramblingInit);
}

}  // namespace
}  // namespace baseband::nr
