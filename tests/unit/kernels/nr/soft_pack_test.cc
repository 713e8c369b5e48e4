// Soft bits in 6 and 4 bits.
#include "kernels/nr/soft_pack.h"

#include <cstdlib>
#include <random>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace baseband::nr {
namespace {

std::vector<uint8_t> Packed(int size, const std::vector<int8_t>& soft) {
  std::vector<uint8_t> packed(
      static_cast<size_t>(HeldSoftBytes(size, static_cast<int64_t>(soft.size()))), 0xa5);
  PackSoftOnCpu(size, soft, packed.data());
  return packed;
}
std::vector<int8_t> Unpacked(int size, const std::vector<uint8_t>& packed, size_t count) {
  std::vector<int8_t> soft(count + 1, 99);
  UnpackSoftOnCpu(size, packed.data(), absl::MakeSpan(soft).first(count));
  EXPECT_EQ(soft.back(), 99) << "written past the end";
  soft.pop_back();
  return soft;
}
std::vector<int8_t> Held(int size, const std::vector<int8_t>& soft) {
  return Unpacked(size, Packed(size, soft), soft.size());
}

std::vector<int8_t> AllValues() {
  std::vector<int8_t> all;
  for (int value = -127; value <= 127; ++value) all.push_back(static_cast<int8_t>(value));
  return all;
}

TEST(NrSoftPackTest, TheBytesAreThoseOfTheHeader) {
  // Of 4 bits: 0, 2, 4, 6, 11, 20, 36, 64 are 0 .. 7; the first code lies in the lowest bits.
  const std::vector<int8_t> soft = {2, 127, -2, 0, -64, 20, 11, 4, 0, 0, 0, 0, 0, 0, 0, 36};
  EXPECT_THAT(Packed(4, soft),
              ::testing::ElementsAre(0x71, 0x0f, 0x59, 0x24, 0, 0, 0, 0x60,  //
                                     0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5, 0xa5));
  // Of 6 bits: 1 is 1, 8 is 8, 127 is 31, -1 is 63.
  const std::vector<uint8_t> six = Packed(6, {1, 8, 127, -1});
  EXPECT_EQ(six[0], 0x01 | (8 << 6 & 0xff));
  EXPECT_EQ(six[1], 8 >> 2 | (31 << 4 & 0xff));
  EXPECT_EQ(six[2], 31 >> 4 | 63 << 2);
}

TEST(NrSoftPackTest, AValueBecomesTheNearestOfFewAndKeepsItsSign) {
  const std::vector<int8_t> all = AllValues();
  for (const int size : {6, 4}) {
    const std::vector<int8_t> held = Held(size, all);
    const std::set<int8_t> levels(held.begin(), held.end());
    EXPECT_EQ(levels.size(), (size_t{1} << size) - 1);
    for (size_t i = 0; i < all.size(); ++i) {
      for (const int8_t level : levels) {
        EXPECT_LE(std::abs(held[i] - all[i]), std::abs(level - all[i])) << int(all[i]);
      }
      EXPECT_EQ(held[i], -held[all.size() - 1 - i]);
      EXPECT_GE(held[i] * all[i], 0);
      EXPECT_GE(held[i], held[i > 0 ? i - 1 : 0]);
    }
    EXPECT_EQ(held[127], 0);  // what was not received
    EXPECT_EQ(Held(size, held), held) << "what is held stays as it is";
    EXPECT_EQ(Held(size, {-128}), Held(size, {-127}));
  }
}

TEST(NrSoftPackTest, AnyNumberOfThemTakesWhatIsSaidAndNoMore) {
  std::mt19937 random(1);
  for (const int size : {6, 4}) {
    for (const size_t count : {1, 15, 16, 17, 31, 32, 33, 100, 25344}) {
      std::vector<int8_t> soft(count);
      for (int8_t& value : soft)
        value = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
      std::vector<int8_t> expected;
      for (const int8_t value : soft) expected.push_back(Held(size, {value})[0]);
      EXPECT_EQ(Held(size, soft), expected) << count;
      const int64_t bytes = HeldSoftBytes(size, static_cast<int64_t>(count));
      EXPECT_EQ(bytes % 16, 0);
      EXPECT_GE(8 * bytes, static_cast<int64_t>(count) * size);
      EXPECT_LE(8 * bytes, static_cast<int64_t>(count + 15) * size + 127);
    }
  }
  EXPECT_EQ(HeldSoftBytes(8, 25344), 25344);
  EXPECT_EQ(HeldSoftBytes(6, 25344), 19008);
  EXPECT_EQ(HeldSoftBytes(4, 25344), 12672);
}

}  // namespace
}  // namespace baseband::nr
