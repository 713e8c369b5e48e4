// The bbdev device's HARQ memory, and soft bits of six bits.
extern "C" {
#include "client/bbdev/harq.h"
}

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace baseband {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr uint64_t kPiece = 32768;

struct Destroy {
  void operator()(bb_harq* harq) const { bb_harq_destroy(harq); }
};
using Harq = std::unique_ptr<bb_harq, Destroy>;

TEST(HarqTest, WhatWasNeverWrittenIsZeros) {
  const Harq harq(bb_harq_create(4 * kPiece));
  std::vector<uint8_t> read(1000, 7);

  ASSERT_TRUE(bb_harq_read(harq.get(), kPiece - 500, read.data(), read.size()));

  EXPECT_THAT(read, Each(0));
}

TEST(HarqTest, WhatIsWrittenIsReadAcrossPieces) {
  const Harq harq(bb_harq_create(4 * kPiece));
  std::vector<uint8_t> written(2 * kPiece);
  for (size_t i = 0; i < written.size(); ++i) written[i] = static_cast<uint8_t>(i * 7 + i / 256);
  std::vector<uint8_t> read(written.size());

  ASSERT_TRUE(bb_harq_write(harq.get(), 100, written.data(), written.size()));
  ASSERT_TRUE(bb_harq_read(harq.get(), 100, read.data(), read.size()));

  EXPECT_EQ(read, written);
}

TEST(HarqTest, RangesBeyondItsEndAreRefused) {
  const Harq harq(bb_harq_create(2 * kPiece));
  uint8_t byte = 0;

  EXPECT_TRUE(bb_harq_write(harq.get(), 2 * kPiece - 1, &byte, 1));
  EXPECT_FALSE(bb_harq_write(harq.get(), 2 * kPiece, &byte, 1));
  EXPECT_FALSE(bb_harq_read(harq.get(), 2 * kPiece, &byte, 1));
  EXPECT_FALSE(bb_harq_read(harq.get(), UINT64_MAX, &byte, 1));
}

TEST(PackedLlrsTest, TheFirstOfFourInThreeBytesIsInTheUpperBits) {
  const int8_t llrs[] = {1, 2, 3, -1};
  uint8_t packed[3];

  bb_pack_llrs(llrs, 4, packed);

  // 000001 000010 000011 111111
  EXPECT_THAT(packed, ElementsAre(0x04, 0x20, 0xff));
}

TEST(PackedLlrsTest, EveryValueComesBackSaturated) {
  std::vector<int8_t> llrs;
  for (int llr = -128; llr <= 127; ++llr) llrs.push_back(static_cast<int8_t>(llr));
  for (size_t count = 1; count <= llrs.size(); ++count) {
    std::vector<uint8_t> packed(bb_packed_bytes(count) + 1, 0xa5);
    std::vector<int8_t> unpacked(count);

    bb_pack_llrs(llrs.data(), count, packed.data());
    bb_unpack_llrs(packed.data(), count, unpacked.data());

    EXPECT_EQ(packed.back(), 0xa5) << count;  // nothing beyond
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(unpacked[i], std::min(31, std::max(-31, static_cast<int>(llrs[i])))) << i;
    }
  }
}

}  // namespace
}  // namespace baseband
