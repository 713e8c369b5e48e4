// CRCs by tables and as polynomials, against the standard's check values and long division.
#include "kernels/crc/crc.h"

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/nr/reference.h"
#include "tests/support/every_target.h"
#include "tests/support/ldpc_vectors.h"

namespace baseband::nr {
namespace {

using ::baseband::testing::RandomBytes;

constexpr Crc kAll[] = {Crc::kCrc16, Crc::kCrc24A, Crc::kCrc24B};

uint32_t ToNumber(const Bits& parity) {
  uint32_t number = 0;
  for (const uint8_t bit : parity) number = number << 1 | bit;
  return number;
}

uint32_t ByDivision(Crc crc, const std::vector<uint8_t>& bytes, int first, int count) {
  const Bits bits = ldpc::UnpackBits(bytes, first + count);
  return ToNumber(ReferenceCrc(crc, Bits(bits.begin() + first, bits.end())));
}

TEST(NrCrcTest, CheckValuesOfTheStandardsGeneratorsAreMet) {
  const std::string text = "123456789";
  const std::vector<uint8_t> bytes(text.begin(), text.end());
  const uint32_t expected[] = {0x31c3, 0xcde703, 0x23ef52};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(CrcOfBits(kAll[i], bytes.data(), 0, 72), expected[i]);
    EXPECT_EQ(ByDivision(kAll[i], bytes, 0, 72), expected[i]);
  }
}

TEST(NrCrcTest, AnyNumberOfBitsFromAnyBitOnEqualsLongDivision) {
  std::mt19937 random(1);
  const std::vector<uint8_t> bytes = RandomBytes(64, &random);
  for (const Crc crc : kAll) {
    for (int first = 0; first <= 17; ++first) {
      for (int count = 0; count <= 300; ++count) {
        ASSERT_EQ(CrcOfBits(crc, bytes.data(), first, count), ByDivision(crc, bytes, first, count))
            << first << " " << count;
      }
    }
  }
}

TEST(NrCrcTest, LongMessagesEqualLongDivisionOnEveryTarget) {
  std::mt19937 random(7);
  const std::vector<uint8_t> bytes = RandomBytes(600, &random);
  testing::OnEveryTarget([&] {
    for (const Crc crc : kAll) {
      for (int first = 0; first <= 8; ++first) {
        for (const int count : {1023, 1024, 1025, 1087, 1088, 1535, 1536, 2047, 2048, 2049, 4500}) {
          ASSERT_EQ(CrcOfBits(crc, bytes.data(), first, count),
                    ByDivision(crc, bytes, first, count))
              << first << " " << count;
        }
      }
    }
  });
}

TEST(NrCrcTest, NoByteOutsideTheBitsIsRead) {
  // What the sanitizers see: an array of exactly the bytes that hold the bits.
  std::mt19937 random(2);
  for (int first = 0; first < 8; ++first) {
    for (int count = 1; count <= 1700; count += count < 200 ? 1 : 19) {
      const auto size = static_cast<size_t>(first + count + 7) / 8;
      const std::vector<uint8_t> bytes = RandomBytes(size, &random);
      const auto exact = std::make_unique<uint8_t[]>(size);
      std::memcpy(exact.get(), bytes.data(), size);
      ASSERT_EQ(CrcOfBits(Crc::kCrc24A, exact.get(), first, count),
                ByDivision(Crc::kCrc24A, bytes, first, count));
    }
  }
}

TEST(NrCrcTest, AMessageWithItsCrcAppendedHasCrcZero) {
  std::mt19937 random(3);
  for (const Crc crc : kAll) {
    for (const int count : {1, 24, 40, 3825, 8424}) {
      Bits bits = ldpc::UnpackBits(RandomBytes(2000, &random), count);
      const Bits parity = ReferenceCrc(crc, bits);
      bits.insert(bits.end(), parity.begin(), parity.end());
      EXPECT_EQ(CrcOfBits(crc, ldpc::PackBits(bits).data(), 0, static_cast<int64_t>(bits.size())),
                0u);
    }
  }
}

TEST(NrCrcTest, CrcOfTwoPiecesFollowsFromThoseOfEach) {
  std::mt19937 random(4);
  const std::vector<uint8_t> bytes = RandomBytes(3000, &random);
  for (const Crc crc : kAll) {
    const CrcPolynomial p = PolynomialOf(crc);
    for (const int first : {0, 1, 31, 32, 33, 4000}) {
      for (const int second : {0, 1, 2, 24, 63, 64, 8448, 19000}) {
        EXPECT_EQ(CrcCombine(p, CrcOfBits(crc, bytes.data(), 0, first),
                             CrcOfBits(crc, bytes.data(), first, second), CrcPowerOfX(p, second)),
                  CrcOfBits(crc, bytes.data(), 0, first + second))
            << first << " " << second;
      }
    }
  }
}

TEST(NrCrcTest, APowerOfXIsTheRemainderOfAOneAndZeros) {
  for (const Crc crc : kAll) {
    const CrcPolynomial p = PolynomialOf(crc);
    uint32_t power = 1;
    for (int64_t n = 0; n < 1000; ++n) {
      ASSERT_EQ(CrcPowerOfX(p, n), power);
      power = CrcTimesX(p, power);
    }
    EXPECT_EQ(CrcMultiply(p, CrcPowerOfX(p, 1277992), CrcPowerOfX(p, 8)), CrcPowerOfX(p, 1278000));
  }
}

TEST(NrCrcTest, CrcOfAWordEqualsThatOfItsBits) {
  std::mt19937 random(5);
  for (const Crc crc : kAll) {
    for (int count = 0; count <= 32; ++count) {
      const auto word = static_cast<uint32_t>(random());
      uint8_t bytes[4];
      for (int i = 0; i < 4; ++i) bytes[i] = static_cast<uint8_t>(word >> (24 - 8 * i));
      EXPECT_EQ(CrcOfWord(PolynomialOf(crc), word, count),
                CrcOfBits(crc, bytes, 32 - count, count));
    }
  }
}

TEST(NrCrcTest, TablesAdvanceARegisterAsTheirCommentSays) {
  std::mt19937 random(6);
  const std::vector<uint8_t> bytes = RandomBytes(400, &random);
  for (const Crc crc : kAll) {
    const CrcTable& table = CrcTableOf(crc);
    uint32_t r = 0;
    for (size_t i = 0; i < bytes.size(); i += 4) {
      const uint32_t word = r ^ (static_cast<uint32_t>(bytes[i]) << 24 | bytes[i + 1] << 16 |
                                 bytes[i + 2] << 8 | bytes[i + 3]);
      r = table[3][word >> 24] ^ table[2][word >> 16 & 255] ^ table[1][word >> 8 & 255] ^
          table[0][word & 255];
    }
    EXPECT_EQ(r >> (32 - PolynomialOf(crc).bits), CrcOfBits(crc, bytes.data(), 0, 3200));
  }
}

}  // namespace
}  // namespace baseband::nr
