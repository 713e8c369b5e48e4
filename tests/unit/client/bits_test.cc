#include "client/ctl/ldpc/bits.h"

#include <string>

#include "client/ctl/common/random.h"
#include "client/ctl/common/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::ctl {
namespace {

using ::baseband::testing::IsInvalid;

TEST(HexTest, TwoLowerCaseDigitsMakeAByte) {
  EXPECT_EQ(FromHex("00ff5a").value(), std::string("\x00\xff\x5a", 3));
  EXPECT_EQ(FromHex("").value(), "");
}

TEST(HexTest, UpperCaseOddLengthAndOtherCharactersAreRefused) {
  EXPECT_THAT(FromHex("0A"), IsInvalid("digit 1"));
  EXPECT_THAT(FromHex("123"), IsInvalid("odd"));
  EXPECT_THAT(FromHex("1g"), IsInvalid("digit 1"));
}

TEST(BitsTest, OnlyTheFirstBitsAreCompared) {
  const std::string a("\xf0\x0f", 2);
  const std::string b("\xf0\x8c", 2);
  EXPECT_EQ(FirstDifferingBit(a, b, 8), -1);
  EXPECT_EQ(FirstDifferingBit(a, b, 9), 8);
  EXPECT_EQ(CountBitDifferences(a, b, 9), 1);
  EXPECT_EQ(CountBitDifferences(a, b, 16), 3);
}

TEST(BitsTest, PaddingIsWhatFollowsTheBits) {
  EXPECT_TRUE(PaddingIsZero("\xf0", 4));
  EXPECT_FALSE(PaddingIsZero("\xf0", 3));
  EXPECT_TRUE(PaddingIsZero("\xff", 8));
}

TEST(SegmentTest, LastBlockIsFilledUpWithZeros) {
  // 16 bits in blocks of 12: abc | d000.
  EXPECT_EQ(Segment("\xab\xcd", 12), std::string("\xab\xc0\xd0\x00", 4));
  EXPECT_EQ(Segment("", 12), "");
}

TEST(SegmentTest, ReassembleIsTheInverseForEveryBlockLength) {
  const std::string data = Random(7).Bytes(333);
  for (int bits = 1; bits <= 300; ++bits) {
    ASSERT_EQ(Reassemble(Segment(data, bits), bits, 333), data) << "blocks of " << bits << " bits";
  }
}

TEST(Sha256Test, EqualsTheExamplesOfFips180) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace baseband::ctl
