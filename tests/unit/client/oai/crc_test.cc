#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

extern "C" {
#include "client/oai/crc.h"
}

namespace baseband::testing {
namespace {

// Clause 5.1, a bit at a time.
uint32_t Crc(const std::vector<uint8_t>& data, size_t bytes, uint32_t polynomial, int length) {
  uint32_t rest = 0;
  for (size_t i = 0; i < 8 * bytes; ++i) {
    const uint32_t bit = data[i / 8] >> (7 - i % 8) & 1U;
    const bool divides = (rest >> (length - 1) & 1U) != bit;
    rest = (rest << 1 ^ (divides ? polynomial : 0)) & ((1U << length) - 1);
  }
  return rest;
}

TEST(OaiCrcTest, IsTheStandards) {
  struct Kind {
    uint32_t crc;
    uint32_t polynomial;
    int length;
  };
  std::mt19937 random(5);
  for (const Kind kind : {Kind{1, 0x864cfb, 24}, Kind{2, 0x800063, 24}, Kind{3, 0x1021, 16}}) {
    for (const size_t bytes : {1, 7, 8, 9, 15, 16, 17, 100, 1053}) {
      std::vector<uint8_t> data(bytes + 4, 0xee);
      for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(random());
      const size_t length = bo_append_crc(kind.crc, data.data(), bytes);
      ASSERT_EQ(length, static_cast<size_t>(kind.length / 8));
      uint32_t appended = 0;
      for (size_t i = 0; i < length; ++i) appended = appended << 8 | data[bytes + i];
      EXPECT_EQ(appended, Crc(data, bytes, kind.polynomial, kind.length));
      EXPECT_EQ(data[bytes + length], 0xee);
    }
  }
}

}  // namespace
}  // namespace baseband::testing
