#include <cstdint>
#include <random>
#include <vector>

#include "client/c/basebandd.h"
#include "gtest/gtest.h"

namespace baseband::testing {
namespace {

// Clause 5.1, a bit at a time.
uint32_t Divide(const std::vector<uint8_t>& data, size_t bits, uint32_t polynomial, int length) {
  uint32_t rest = 0;
  for (size_t i = 0; i < bits; ++i) {
    const uint32_t bit = data[i / 8] >> (7 - i % 8) & 1U;
    const bool divides = (rest >> (length - 1) & 1U) != bit;
    rest = (rest << 1 ^ (divides ? polynomial : 0)) & ((1U << length) - 1);
  }
  return rest;
}

TEST(CrcTest, IsTheStandardsAndZeroBehindItself) {
  struct Kind {
    uint32_t crc;
    uint32_t polynomial;
    uint32_t length;
  };
  std::mt19937 random(5);
  for (const Kind kind :
       {Kind{BASEBANDD_CRC_24A, 0x864cfb, 24}, Kind{BASEBANDD_CRC_24B, 0x800063, 24},
        Kind{BASEBANDD_CRC_16, 0x1021, 16}}) {
    for (const size_t bits : {1, 7, 8, 31, 63, 64, 65, 72, 100, 127, 128, 136, 8424}) {
      std::vector<uint8_t> data((bits + 7) / 8 + 4);
      for (uint8_t& byte : data) byte = static_cast<uint8_t>(random());
      const uint32_t value = basebandd_crc(kind.crc, data.data(), bits);
      EXPECT_EQ(value, Divide(data, bits, kind.polynomial, static_cast<int>(kind.length))) << bits;
      for (size_t i = 0; i < kind.length; ++i) {
        const size_t at = bits + i;
        const uint32_t bit = value >> (kind.length - 1 - i) & 1;
        data[at / 8] =
            static_cast<uint8_t>((data[at / 8] & ~(0x80U >> at % 8)) | bit << (7 - at % 8));
      }
      EXPECT_EQ(basebandd_crc(kind.crc, data.data(), bits + kind.length), 0U) << bits;
      data[0] ^= 0x80;
      EXPECT_NE(basebandd_crc(kind.crc, data.data(), bits + kind.length), 0U) << bits;
    }
  }
}

}  // namespace
}  // namespace baseband::testing
