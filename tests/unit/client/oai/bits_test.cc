#include <cstdint>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

extern "C" {
#include "client/oai/bits.h"
}

namespace baseband::testing {
namespace {

using ::testing::Each;

bool BitOf(const uint8_t* from, size_t i) { return (from[i / 8] >> (7 - i % 8) & 1) != 0; }

std::vector<uint8_t> RandomBytes(size_t count, std::mt19937* random) {
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>((*random)());
  return bytes;
}

TEST(OaiBitsTest, SegmentsOfAnyLengthLieBehindEachOtherFromTheLowestBitOn) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::vector<uint8_t> output(400, 0xee);
    std::vector<bool> expected;
    bo_bit_writer writer{};
    writer.to = output.data();
    for (int segment = 0; segment < 5; ++segment) {
      const size_t bits = random() % 3 == 0 ? 64 * (1 + random() % 4) : 1 + random() % 300;
      const std::vector<uint8_t> from = RandomBytes((bits + 7) / 8, &random);
      bo_write_bits(&writer, from.data(), bits);
      for (size_t bit = 0; bit < bits; ++bit) expected.push_back(BitOf(from.data(), bit));
    }
    bo_end_bits(&writer);
    const size_t bytes = (expected.size() + 7) / 8;
    ASSERT_EQ(writer.to, output.data() + bytes);
    for (size_t bit = 0; bit < 8 * bytes; ++bit) {
      const bool is_set = (output[bit / 8] >> (bit % 8) & 1) != 0;
      ASSERT_EQ(is_set, bit < expected.size() && expected[bit]) << bit;
    }
    output.erase(output.begin(), output.begin() + static_cast<std::ptrdiff_t>(bytes));
    EXPECT_THAT(output, Each(0xee));
  }
}

TEST(OaiBitsTest, SegmentsSideBySideHaveABitEachInAByte) {
  std::mt19937 random(4);
  for (size_t segments = 1; segments <= 8; ++segments) {
    constexpr size_t kBits = 132;
    constexpr size_t kStride = 17;
    const std::vector<uint8_t> from = RandomBytes(segments * kStride, &random);
    std::vector<uint8_t> output(136 + 1, 0xee);
    bo_transpose_bits(from.data(), kStride, segments, kBits, output.data());
    for (size_t i = 0; i < kBits; ++i) {
      for (size_t j = 0; j < 8; ++j) {
        const bool expected = j < segments && BitOf(from.data() + j * kStride, i);
        ASSERT_EQ((output[i] >> j & 1) != 0, expected) << i << " " << j;
      }
    }
    EXPECT_EQ(output.back(), 0xee);
  }
}

}  // namespace
}  // namespace baseband::testing
