#include "kernels/base/bits.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace baseband {
namespace {

bool BitAt(const std::vector<uint8_t>& bytes, int64_t bit) {
  return bytes[static_cast<size_t>(bit / 8)] >> (7 - bit % 8) & 1;
}

TEST(CopyBitsTest, MovesExactlyTheWantedBitsForEveryAlignment) {
  std::mt19937 random(1);
  for (const int count : {0, 1, 7, 8, 9, 31, 63, 64, 65, 200}) {
    for (int from = 0; from < 8; ++from) {
      for (int to = 0; to < 8; ++to) {
        // No spare byte behind the last wanted bit: a read past it is ASan's to report.
        std::vector<uint8_t> source(static_cast<size_t>(BytesForBits(from + count)));
        std::vector<uint8_t> target(static_cast<size_t>(BytesForBits(to + count)) + 1);
        for (uint8_t& byte : source) byte = static_cast<uint8_t>(random());
        for (uint8_t& byte : target) byte = static_cast<uint8_t>(random());
        const std::vector<uint8_t> before = target;

        CopyBits(target.data(), to, source.data(), from, count);

        for (int64_t bit = 0; bit < static_cast<int64_t>(8 * target.size()); ++bit) {
          const bool expected =
              bit >= to && bit < to + count ? BitAt(source, bit - to + from) : BitAt(before, bit);
          ASSERT_EQ(BitAt(target, bit), expected)
              << "bit " << bit << ", " << count << " bits from " << from << " to " << to;
        }
      }
    }
  }
}

TEST(ClearBitsTest, ClearsExactlyTheWantedBits) {
  for (int begin = 0; begin < 10; ++begin) {
    for (int count = 0; count < 30; ++count) {
      std::vector<uint8_t> bytes(6, 0xff);
      ClearBits(bytes.data(), begin, count);
      for (int bit = 0; bit < 48; ++bit) {
        ASSERT_EQ(BitAt(bytes, bit), bit < begin || bit >= begin + count);
      }
    }
  }
}

}  // namespace
}  // namespace baseband
