// Plans of transport blocks: known answers, the formulas one by one, and what is refused.
#include "kernels/nr/transport_block.h"

#include <algorithm>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/ldpc/code.h"
#include "kernels/nr/reference.h"
#include "tests/support/nr_vectors.h"
#include "tests/support/status_matchers.h"

namespace baseband::nr {
namespace {

using ::baseband::testing::IsInvalid;
using ::baseband::testing::IsOk;

void ExpectPlan(const TransportBlockPlan& plan, const testing::NrPlanVector& expected) {
  EXPECT_EQ(plan.tb_bits, 8 * expected.block.tb_bytes);
  EXPECT_EQ(plan.zc, expected.zc);
  EXPECT_EQ(plan.k, expected.k);
  EXPECT_EQ(plan.k_prime, expected.k_prime);
  EXPECT_EQ(plan.g(), expected.block.g);
  ASSERT_EQ(plan.num_blocks, static_cast<int>(expected.e.size()));
  for (int r = 0; r < plan.num_blocks; ++r) {
    const auto e = static_cast<uint32_t>(expected.e[static_cast<size_t>(r)]);
    EXPECT_EQ(plan.e(r), static_cast<int>(e));
    EXPECT_EQ(plan.rate_match(r).e, e);
    EXPECT_EQ(plan.rate_match(r).n_cb, static_cast<uint32_t>(expected.n_cb));
    EXPECT_EQ(plan.e_begin(r + 1) - plan.e_begin(r), plan.e(r));
  }
}

TEST(NrPlanTest, KnownTransportBlocksHaveTheNumbersOfTheirFile) {
  const std::vector<testing::NrChainVector> vectors = testing::ReadNrChainVectors();
  EXPECT_EQ(vectors.size(), 20u);
  for (const testing::NrChainVector& v : vectors) {
    SCOPED_TRACE(v.plan.number);
    EXPECT_EQ(ChooseBaseGraph(8 * v.plan.block.tb_bytes, v.plan.code_rate),
              v.plan.block.base_graph);
    const auto plan = MakePlan(v.plan.block);
    ASSERT_THAT(plan, IsOk());
    ExpectPlan(*plan, v.plan);
    EXPECT_EQ(plan->tb_crc_bits, v.tb_crc_bits);
    EXPECT_EQ(plan->of_short.k0, static_cast<uint32_t>(v.k0));
    EXPECT_EQ(plan->of_long.k0, static_cast<uint32_t>(v.k0));
    EXPECT_EQ(plan->block_crc_bits, v.blocks.size() > 1 ? 24 : 0);
  }
}

TEST(NrPlanTest, KnownReceivedTransportBlocksHaveTheNumbersOfTheirFile) {
  const std::vector<testing::NrDecodeVector> vectors = testing::ReadNrDecodeVectors();
  EXPECT_EQ(vectors.size(), 6u);
  for (const testing::NrDecodeVector& v : vectors) {
    SCOPED_TRACE(v.plan.number);
    const auto plan = MakePlan(v.plan.block);
    ASSERT_THAT(plan, IsOk());
    ExpectPlan(*plan, v.plan);
  }
}

TEST(NrPlanTest, KnownCodeBlocksHaveTheBufferOfTheirFile) {
  for (const testing::NrRateMatchVector& v : testing::ReadNrRateMatchVectors()) {
    CodeBlock block = v.block;
    block.n_cb = v.n_cb;
    const auto rate_match = MakeRateMatch(block);
    ASSERT_THAT(rate_match, IsOk()) << v.number;
    EXPECT_EQ(rate_match->k0, static_cast<uint32_t>(v.k0)) << v.number;
    EXPECT_EQ(rate_match->n_cb, static_cast<uint32_t>(v.n_cb)) << v.number;
  }
}

TEST(NrPlanTest, TheBaseGraphChangesAtTheSizesAndRatesOfTheStandard) {
  EXPECT_EQ(ChooseBaseGraph(292, 0.99), 2);
  EXPECT_EQ(ChooseBaseGraph(293, 0.99), 1);
  EXPECT_EQ(ChooseBaseGraph(293, 0.67), 2);
  EXPECT_EQ(ChooseBaseGraph(293, 0.6701), 1);
  EXPECT_EQ(ChooseBaseGraph(3824, 0.67), 2);
  EXPECT_EQ(ChooseBaseGraph(3825, 0.67), 1);
  EXPECT_EQ(ChooseBaseGraph(3825, 0.25), 2);
  EXPECT_EQ(ChooseBaseGraph(1000000, 0.25), 2);
  EXPECT_EQ(ChooseBaseGraph(1000000, 0.2501), 1);
}

TEST(NrPlanTest, EveryPlanAgreesWithTheFormulas) {
  std::mt19937 random(1);
  int num_planned = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    TransportBlock tb;
    const int64_t most = trial % 4 == 0 ? kMaxTransportBlockBytes : trial % 2 == 0 ? 600 : 5000;
    tb.tb_bytes = 3 + static_cast<int64_t>(random() % (most - 2));
    tb.base_graph = 1 + static_cast<int>(random() % 2);
    tb.rv = static_cast<int>(random() % 4);
    const int qms[] = {1, 2, 4, 6, 8, 10};
    tb.qm = qms[random() % 6];
    tb.num_layers = 1 + static_cast<int>(random() % 8);
    tb.g = int64_t{tb.num_layers} * tb.qm * (1 + random() % 20000);
    tb.tbs_lbrm = random() % 2 == 0 ? 0 : 8 * tb.tb_bytes + random() % 100000;
    const auto plan = MakePlan(tb);
    if (!plan.ok()) continue;  // most often: does not divide into blocks
    ++num_planned;
    // Only the sizes of the payload count here.
    const ReferenceSegments segments =
        ReferenceSegment(tb.base_graph, Bits(static_cast<size_t>(8 * tb.tb_bytes), 0));
    ASSERT_EQ(plan->num_blocks, static_cast<int>(segments.blocks.size()));
    EXPECT_EQ(plan->k_prime, segments.k_prime);
    EXPECT_EQ(plan->zc, segments.zc);
    EXPECT_EQ(plan->k, segments.k);
    EXPECT_EQ(plan->tb_crc_bits == 24, segments.tb_crc == Crc::kCrc24A);
    // The first 2 zc bits, which are not sent, are no fillers.
    EXPECT_GT(plan->k_prime, 2 * plan->zc);
    const std::vector<int64_t> e =
        ReferenceBlockSizes(tb.g, tb.num_layers, tb.qm, plan->num_blocks);
    for (int r = 0; r < plan->num_blocks; ++r) {
      ASSERT_EQ(plan->e(r), e[static_cast<size_t>(r)]);
    }
    EXPECT_EQ(plan->g(), tb.g);
    EXPECT_EQ(plan->info_begin(plan->num_blocks), plan->tb_bits + plan->tb_crc_bits);
  }
  EXPECT_GT(num_planned, 1000);
}

// The rows up to the last column that ReferencePlaces reaches.
int RowsByWalking(const CodeBlock& block) {
  const std::vector<int64_t> places = ReferencePlaces(block);
  const int64_t last = *std::max_element(places.begin(), places.end());
  const int kb = block.base_graph == 1 ? 22 : 10;
  return std::max(4, static_cast<int>(last / block.zc) + 2 + 1 - kb);
}

TEST(NrPlanTest, RowsReachTheLastBitThatIsSentAndNoFurther) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 3000; ++trial) {
    CodeBlock block;
    block.base_graph = 1 + trial % 2;
    block.zc = ldpc::NrLiftingSizes()[random() % 30];
    const int n = (block.base_graph == 1 ? 66 : 50) * block.zc;
    const int fillable = (block.base_graph == 1 ? 20 : 8) * block.zc;
    block.num_filler = trial % 3 == 0 ? 0 : static_cast<int>(random() % fillable);
    block.n_cb = trial % 5 == 0 ? 0 : 1 + static_cast<int>(random() % n);
    block.rv = static_cast<int>(random() % 4);
    block.qm = 2;
    block.e = 2 * (1 + random() % n);
    const auto rate_match = MakeRateMatch(block);
    ASSERT_THAT(rate_match, IsOk());
    EXPECT_EQ(RowsNeeded(block.base_graph, block.zc, *rate_match), RowsByWalking(block));
  }
}

TEST(NrPlanTest, RowsOfAPlanServeItsShortAndItsLongBlocks) {
  TransportBlock tb;
  tb.tb_bytes = 3756;  // four blocks of base graph 1, zc 352
  tb.base_graph = 1;
  for (tb.rv = 0; tb.rv < 4; ++tb.rv) {
    for (tb.g = 2; tb.g < 120000; tb.g += 1778) {
      const auto plan = MakePlan(tb);
      if (!plan.ok()) continue;
      EXPECT_EQ(plan->num_rows, std::max(RowsNeeded(1, plan->zc, plan->of_short),
                                         RowsNeeded(1, plan->zc, plan->of_long)));
      EXPECT_THAT(ldpc::NrCode(1, plan->zc, plan->num_rows), IsOk());
    }
  }
}

TransportBlock GoodTransportBlock() {
  TransportBlock tb;
  tb.tb_bytes = 1125;  // 9024 bits with the CRC, two blocks
  tb.base_graph = 1;
  tb.qm = 4;
  tb.num_layers = 2;
  tb.g = 16368;
  return tb;
}

TEST(NrPlanTest, EveryBrokenFieldOfATransportBlockIsRefusedByNameValueAndRange) {
  ASSERT_THAT(MakePlan(GoodTransportBlock()), IsOk());
  const auto with = [](const auto& change) {
    TransportBlock tb = GoodTransportBlock();
    change(tb);
    return MakePlan(tb);
  };
  EXPECT_THAT(with([](auto& tb) { tb.tb_bytes = 2; }),
              IsInvalid("tb_bytes 2 is not in [3, 262144]"));
  EXPECT_THAT(with([](auto& tb) { tb.tb_bytes = 262145; }),
              IsInvalid("tb_bytes 262145 is not in [3, 262144]"));
  EXPECT_THAT(with([](auto& tb) { tb.tb_bytes = -1; }), IsInvalid("tb_bytes -1 is not in"));
  EXPECT_THAT(with([](auto& tb) { tb.base_graph = 0; }),
              IsInvalid("base_graph 0 is not in [1, 2]"));
  EXPECT_THAT(with([](auto& tb) { tb.base_graph = 3; }),
              IsInvalid("base_graph 3 is not in [1, 2]"));
  EXPECT_THAT(with([](auto& tb) { tb.rv = -1; }), IsInvalid("rv -1 is not in [0, 3]"));
  EXPECT_THAT(with([](auto& tb) { tb.rv = 4; }), IsInvalid("rv 4 is not in [0, 3]"));
  for (const int qm : {0, 3, 5, 7, 9, 11, 12, -2}) {
    EXPECT_THAT(with([&](auto& tb) { tb.qm = qm; }),
                IsInvalid("qm " + std::to_string(qm) + " is not 1, 2, 4, 6, 8 or 10"));
  }
  EXPECT_THAT(with([](auto& tb) { tb.num_layers = 0; }),
              IsInvalid("num_layers 0 is not in [1, 8]"));
  EXPECT_THAT(with([](auto& tb) { tb.num_layers = 9; }),
              IsInvalid("num_layers 9 is not in [1, 8]"));
  EXPECT_THAT(with([](auto& tb) { tb.g = 0; }), IsInvalid("g 0 is not in [1, 8388608]"));
  EXPECT_THAT(with([](auto& tb) { tb.g = 8388616; }),
              IsInvalid("g 8388616 is not in [1, 8388608]"));
  EXPECT_THAT(with([](auto& tb) { tb.g = 16372; }),
              IsInvalid("g 16372 is not a multiple of layers * qm = 8"));
  EXPECT_THAT(with([](auto& tb) { tb.g = 8; }),
              IsInvalid("g 8: a code block sends no bit; 2 code blocks need at least 16"));
  EXPECT_THAT(with([](auto& tb) { tb.g = 16; }), IsOk());
  EXPECT_THAT(with([](auto& tb) { tb.tbs_lbrm = -1; }),
              IsInvalid("tbs_lbrm -1 is not in [0, 16777216]"));
  EXPECT_THAT(with([](auto& tb) { tb.tbs_lbrm = 16777217; }),
              IsInvalid("tbs_lbrm 16777217 is not in [0, 16777216]"));
  EXPECT_THAT(with([](auto& tb) { tb.tbs_lbrm = 8 * tb.tb_bytes - 1; }),
              IsInvalid("is below the transport block's own "));
  EXPECT_THAT(with([](auto& tb) { tb.tbs_lbrm = 8 * tb.tb_bytes; }), IsOk());
  EXPECT_THAT(with([](auto& tb) { tb.tb_bytes = 2104; }),  // 16856 bits, in three blocks
              IsInvalid("tb_bytes 2104: its 16856 bits with their CRC do not divide into 3 equal"));
}

TEST(NrPlanTest, EveryBrokenFieldOfACodeBlockIsRefusedByNameValueAndRange) {
  CodeBlock good;
  good.zc = 384;
  good.num_filler = 100;
  good.qm = 6;
  good.e = 6000;
  ASSERT_THAT(MakeRateMatch(good), IsOk());
  const auto with = [&](const auto& change) {
    CodeBlock block = good;
    change(block);
    return MakeRateMatch(block);
  };
  EXPECT_THAT(with([](auto& b) { b.base_graph = 3; }), IsInvalid("base_graph 3 is not in [1, 2]"));
  for (const int zc : {0, 1, 17, 383, 385, -2}) {
    EXPECT_THAT(with([&](auto& b) { b.zc = zc; }),
                IsInvalid("zc " + std::to_string(zc) + " is not a lifting size"));
  }
  EXPECT_THAT(with([](auto& b) { b.num_filler = -1; }),
              IsInvalid("num_filler -1 is not in [0, 7679]"));
  EXPECT_THAT(with([](auto& b) { b.num_filler = 7680; }),
              IsInvalid("num_filler 7680 is not in [0, 7679]"));
  EXPECT_THAT(with([](auto& b) { b.num_filler = 7679; }), IsOk());
  EXPECT_THAT(with([](auto& b) { b.n_cb = -1; }), IsInvalid("n_cb -1 is not in [0, 25344]"));
  EXPECT_THAT(with([](auto& b) { b.n_cb = 25345; }), IsInvalid("n_cb 25345 is not in [0, 25344]"));
  EXPECT_THAT(with([](auto& b) { b.rv = 4; }), IsInvalid("rv 4 is not in [0, 3]"));
  EXPECT_THAT(with([](auto& b) { b.qm = 7; }), IsInvalid("qm 7 is not 1, 2, 4, 6, 8 or 10"));
  EXPECT_THAT(with([](auto& b) { b.e = 0; }), IsInvalid("e 0 is not in [1, 8388608]"));
  EXPECT_THAT(with([](auto& b) { b.e = 8388612; }), IsInvalid("e 8388612 is not in [1, 8388608]"));
  EXPECT_THAT(with([](auto& b) { b.e = 6002; }), IsInvalid("e 6002 is not a multiple of qm = 6"));
}

}  // namespace
}  // namespace baseband::nr
