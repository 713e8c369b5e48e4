// Sizes of transport blocks: values that are known, and what holds for all of them.
#include "kernels/nr/tbs.h"

#include <cmath>
#include <cstdint>

#include "kernels/nr/transport_block.h"
#include "tests/support/matchers.h"

namespace baseband::nr {
namespace {

// Of `prbs` PRBs with all resource elements that count.
int64_t BitsOf(int table, int mcs, int prbs, int layers) {
  return TransportBlockBits(int64_t{kMostResourceElements} * prbs, *McsOf(table, mcs), layers);
}

TEST(McsTest, TablesHaveAsManyIndicesAsTheStandardWithoutTheReserved) {
  constexpr size_t kSizes[] = {29, 28, 29, 27};
  constexpr int kMostQm[] = {6, 8, 6, 10};
  for (int table = 1; table <= kMcsTables; ++table) {
    EXPECT_EQ(McsTable(table).size(), kSizes[table - 1]) << table;
    EXPECT_EQ(McsTable(table).back().qm, kMostQm[table - 1]) << table;
  }
  // The highest of each: 5.5547, 7.4063, 4.5234 and 9.2578 bits a symbol.
  EXPECT_NEAR(McsTable(1).back().efficiency(), 5.5547, 5e-5);
  EXPECT_NEAR(McsTable(2).back().efficiency(), 7.4063, 5e-5);
  EXPECT_NEAR(McsTable(3).back().efficiency(), 4.5234, 5e-5);
  EXPECT_NEAR(McsTable(4).back().efficiency(), 9.2578, 5e-5);
}

TEST(McsTest, EfficiencyRisesButForOneStepOfTheFirstTable) {
  for (int table = 1; table <= kMcsTables; ++table) {
    const absl::Span<const Mcs> all = McsTable(table);
    for (size_t i = 1; i < all.size(); ++i) {
      const bool is_known_dip = table == 1 && i == 17;  // 64QAM at 438 follows 16QAM at 658
      EXPECT_EQ(all[i].efficiency() > all[i - 1].efficiency(), !is_known_dip) << table << " " << i;
      EXPECT_GE(all[i].qm, all[i - 1].qm) << table << " " << i;
    }
    for (const Mcs& mcs : all) {
      EXPECT_TRUE(mcs.code_rate > 0 && mcs.code_rate < 0.95);
    }
  }
}

TEST(McsTest, WhatIsNotInATableIsRefused) {
  EXPECT_THAT(McsOf(2, 27), IsOk());
  EXPECT_THAT(McsOf(2, 28).status(), IsInvalid("mcs 28 is not in [0, 27] of MCS table 2"));
  EXPECT_THAT(McsOf(1, -1).status(), IsInvalid("mcs -1 is not in [0, 28] of MCS table 1"));
  EXPECT_THAT(McsOf(5, 0).status(), IsInvalid("MCS table 5 is not in [1, 4]"));
}

TEST(TbsTest, TheSmallSizesAscendFrom24To3824) {
  const absl::Span<const int16_t> sizes = SmallTransportBlocks();
  ASSERT_EQ(sizes.size(), 93u);
  EXPECT_EQ(sizes.front(), 24);
  EXPECT_EQ(sizes.back(), 3824);
  for (size_t i = 1; i < sizes.size(); ++i) {
    EXPECT_GT(sizes[i], sizes[i - 1]);
    EXPECT_EQ(sizes[i] % 8, 0);
  }
}

TEST(TbsTest, KnownSizes) {
  EXPECT_EQ(BitsOf(1, 0, 1, 1), 32);          // N_info 36.6: 8 * 4
  EXPECT_EQ(BitsOf(3, 0, 1, 1), 24);          // N_info 9.1: never below 24
  EXPECT_EQ(BitsOf(2, 27, 273, 4), 1277992);  // the largest with 256QAM
  EXPECT_EQ(BitsOf(2, 27, 273, 1), 319784);
  EXPECT_EQ(BitsOf(1, 28, 273, 4), 950984);
  EXPECT_EQ(BitsOf(1, 28, 106, 1), 92200);
}

// On n resource elements of QPSK at R = 1/2, n is N_info.
TEST(TbsTest, QuantisesTheNumberOfInformationBits) {
  const auto bits = [](int64_t n_info) { return TransportBlockBits(n_info, {2, 0.5}, 1); };
  EXPECT_EQ(bits(1), 24);
  EXPECT_EQ(bits(31), 24);  // steps of 8, down
  EXPECT_EQ(bits(32), 32);
  EXPECT_EQ(bits(1031), 1032);  // steps of 16: 1024, and the next size is 1032
  EXPECT_EQ(bits(3824), 3824);  // steps of 32: 3808
  EXPECT_EQ(bits(3825), 3840);  // above that at least 3840
  EXPECT_EQ(bits(8343), 8192);  // 8319 in steps of 256, to the nearest; in one code block
  EXPECT_EQ(bits(8344), 8456);  // 8320 is 32.5 of them: 8448, which makes two
}

// A half step is rounded up.
TEST(TbsTest, HalfAStepIsRoundedUp) {
  // 4024 - 24 = 4000 is 62.5 steps of 64: 63 of them are 4032.
  EXPECT_EQ(TransportBlockBits(4024, {2, 0.5}, 1), 4032);
  EXPECT_EQ(TransportBlockBits(4023, {2, 0.5}, 1), 3968);
}

TEST(TbsTest, LowRatesDivideIntoBlocksOfTheSecondBaseGraph) {
  // N_info 10224, 10200 in steps of 256: 10240. Three blocks of at most 3816; at higher rates two
  // of at most 8424.
  const int64_t low = TransportBlockBits(20448, {2, 0.25}, 1);
  EXPECT_EQ((low + 24) % (8 * 3), 0);
  EXPECT_EQ(low, 10248);
  EXPECT_EQ(TransportBlockBits(10224, {2, 0.5}, 1), 10248);
}

// Whatever is scheduled divides into equal code blocks and sends something of each.
TEST(TbsTest, EverySizeDividesIntoEqualCodeBlocks) {
  for (int table = 1; table <= kMcsTables; ++table) {
    for (const Mcs& mcs : McsTable(table)) {
      for (int layers = 1; layers <= 4; ++layers) {
        int64_t last = 0;
        for (int prbs = 1; prbs <= 275; ++prbs) {
          const int64_t num_re = int64_t{kMostResourceElements} * prbs;
          const int64_t bits = TransportBlockBits(num_re, mcs, layers);
          ASSERT_GE(bits, last);
          ASSERT_EQ(bits % 8, 0);
          last = bits;
          TransportBlock block;
          block.tb_bytes = bits / 8;
          block.base_graph = ChooseBaseGraph(bits, mcs.code_rate);
          block.qm = mcs.qm;
          block.num_layers = layers;
          block.g = num_re * mcs.qm * layers;
          ASSERT_THAT(MakePlan(block), IsOk()) << table << " " << prbs << " " << layers;
        }
      }
    }
  }
}

// The size is never far from what the resource elements hold.
TEST(TbsTest, TheSizeIsThatOfItsRateButForTheSteps) {
  for (const Mcs& mcs : McsTable(2)) {
    for (const int prbs : {10, 25, 52, 106, 273}) {
      const double n_info = kMostResourceElements * prbs * mcs.efficiency();
      const auto bits =
          static_cast<double>(TransportBlockBits(kMostResourceElements * prbs, mcs, 1));
      // Steps are 1/64 to 1/32 of it; small sizes lie up to 1/16 apart.
      EXPECT_LE(std::abs(bits - n_info), n_info / 14 + 24) << mcs.qm << " " << mcs.code_rate;
    }
  }
}

}  // namespace
}  // namespace baseband::nr
