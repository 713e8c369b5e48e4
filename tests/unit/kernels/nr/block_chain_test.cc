// Transport blocks between their bytes and their coded bits: known answers, the chain against its
// reference, and what is a right CRC.
#include "kernels/nr/block_chain.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/nr/reference.h"
#include "tests/support/every_target.h"
#include "tests/support/filler_words.h"
#include "tests/support/nr_vectors.h"
#include "tests/unit/kernels/nr/chain_rig.h"

namespace baseband::nr {
namespace {

using ::baseband::testing::OnEveryTarget;
using ::baseband::testing::RandomBytes;
using ::testing::Each;

TEST(NrBlockChainTest, KnownTransportBlocksAreSentBitForBit) {
  const std::vector<testing::NrChainVector> vectors = testing::ReadNrChainVectors();
  ASSERT_EQ(vectors.size(), 20u);
  OnEveryTarget([&] {
    for (const testing::NrChainVector& v : vectors) {
      SCOPED_TRACE(v.plan.number);
      const TransportBlockPlan plan = *MakePlan(v.plan.block);
      EXPECT_EQ(Send(plan, v.plan.tb), v.out);
      std::vector<Llrs> soft;
      const Received received = Receive(plan, plan.num_rows, NoiselessLlrs(plan, v.out), &soft);
      // Not every other redundancy version says enough by itself.
      EXPECT_EQ(received.tb_crc_ok, received.tb == v.plan.tb);
      if (v.plan.block.rv != 0) continue;
      EXPECT_TRUE(received.tb_crc_ok);
      EXPECT_THAT(received.BlockCrcs(), Each(true));
    }
  });
}

TEST(NrBlockChainTest, TheReferenceMakesTheKnownCodeBlocksAndCodedBits) {
  for (const testing::NrChainVector& v : testing::ReadNrChainVectors()) {
    SCOPED_TRACE(v.plan.number);
    const Bits payload = ldpc::UnpackBits(v.plan.tb, static_cast<int>(8 * v.plan.block.tb_bytes));
    const ReferenceSegments segments = ReferenceSegment(v.plan.block.base_graph, payload);
    ASSERT_EQ(segments.blocks.size(), v.blocks.size());
    for (size_t r = 0; r < v.blocks.size(); ++r) {
      EXPECT_EQ(ldpc::PackBits(segments.blocks[r]), v.blocks[r]);
    }
    EXPECT_EQ(ldpc::PackBits(ReferenceSend(v.plan.block, payload)), v.out);
  }
}

TEST(NrBlockChainTest, KnownReceivedTransportBlocksDecodeOnceEnoughIsCombined) {
  const std::vector<testing::NrDecodeVector> vectors = testing::ReadNrDecodeVectors();
  ASSERT_EQ(vectors.size(), 6u);
  OnEveryTarget([&] {
    for (const testing::NrDecodeVector& v : vectors) {
      SCOPED_TRACE(v.plan.number);
      std::vector<Llrs> soft;
      std::vector<Llrs> reference_soft;
      Received received;
      int rows = 0;
      for (size_t i = 0; i < v.transmissions.size(); ++i) {
        TransportBlock tb = v.plan.block;
        tb.rv = v.transmissions[i].rv;
        const TransportBlockPlan plan = *MakePlan(tb);
        rows = std::max(rows, plan.num_rows);
        received = Receive(plan, rows, v.transmissions[i].llr, &soft);
        const ReferenceReceived expected = ReferenceReceive(
            tb, ldpc::DecodeParameters(), v.transmissions[i].llr, reference_soft, rows);
        reference_soft = expected.soft;
        EXPECT_EQ(soft, expected.soft);
        EXPECT_EQ(received.tb, ldpc::PackBits(expected.payload));
        const bool last = i + 1 == v.transmissions.size();
        if (i == 0 || last) {
          EXPECT_EQ(received.tb_crc_ok, last || v.decodes_after_first);
        }
        for (const Llrs& block : soft) EXPECT_LE(RowsOfSoft(tb.base_graph, plan.zc, block), rows);
      }
      EXPECT_EQ(received.tb, v.plan.tb);
      EXPECT_TRUE(received.tb_crc_ok);
      EXPECT_THAT(received.BlockCrcs(), Each(true));
      for (const BlockResult& block : received.blocks) {
        EXPECT_EQ(block.decode.parity_ok, 1);
        EXPECT_LE(block.decode.iterations, 10);
      }
    }
  });
}

TEST(NrBlockChainTest, AnyTransportBlockIsSentAndReceivedAsByTheReference) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 150; ++trial) {
    TransportBlock tb = RandomTransportBlock(trial, &random);
    tb.rv = static_cast<int>(random() % 4);
    if (random() % 2 == 0) tb.tbs_lbrm = 8 * tb.tb_bytes * 2 + 600;
    const TransportBlockPlan plan = *MakePlan(tb);
    SCOPED_TRACE(tb.tb_bytes);
    const Bytes payload = RandomBytes(static_cast<size_t>(tb.tb_bytes), &random);
    const Bytes coded = Send(plan, payload);
    const Bits bits = ldpc::UnpackBits(payload, static_cast<int>(8 * tb.tb_bytes));
    ASSERT_EQ(coded, ldpc::PackBits(ReferenceSend(tb, bits)));

    // Weak enough that some blocks do not decode.
    Llrs llr = NoiselessLlrs(plan, coded, 8);
    for (int8_t& value : llr) {
      value = static_cast<int8_t>(value + static_cast<int>(random() % 41) - 20);
    }
    std::vector<Llrs> soft;
    const Received received = Receive(plan, plan.num_rows, llr, &soft);
    const ReferenceReceived expected =
        ReferenceReceive(tb, ldpc::DecodeParameters(), llr, {}, plan.num_rows);
    ASSERT_EQ(received.tb, ldpc::PackBits(expected.payload));
    EXPECT_EQ(received.BlockCrcs(), expected.block_crc_ok);
    EXPECT_EQ(received.tb_crc_ok, expected.tb_crc_ok);
    EXPECT_EQ(soft, expected.soft);
    for (size_t r = 0; r < received.blocks.size(); ++r) {
      EXPECT_EQ(received.blocks[r].decode.iterations, expected.decode[r].iterations);
      EXPECT_EQ(received.blocks[r].decode.parity_ok, expected.decode[r].parity_ok);
    }
  }
}

TEST(NrBlockChainTest, OneWrongBlockFailsItsCrcAndThatOfTheTransportBlockAlone) {
  std::mt19937 random(6);
  TransportBlock tb;
  tb.tb_bytes = 7501;  // eight blocks
  tb.qm = 8;
  tb.num_layers = 4;
  tb.g = 68384;
  const TransportBlockPlan plan = *MakePlan(tb);
  ASSERT_EQ(plan.num_blocks, 8);
  const Bytes payload = RandomBytes(static_cast<size_t>(tb.tb_bytes), &random);
  const Llrs llr = NoiselessLlrs(plan, Send(plan, payload));
  for (int wrong = 0; wrong < plan.num_blocks; ++wrong) {
    Llrs bad = llr;
    for (int64_t i = plan.e_begin(wrong); i < plan.e_begin(wrong + 1); ++i) {
      bad[static_cast<size_t>(i)] = static_cast<int8_t>(random() % 21) - 10;
    }
    std::vector<Llrs> soft;
    const Received received = Receive(plan, plan.num_rows, bad, &soft);
    EXPECT_FALSE(received.tb_crc_ok);
    for (int r = 0; r < plan.num_blocks; ++r) {
      EXPECT_EQ(received.blocks[static_cast<size_t>(r)].crc_ok, r != wrong);
    }
    // What the other blocks carry is there all the same.
    for (int64_t i = 0; i < tb.tb_bytes; ++i) {
      const bool of_wrong = 8 * i >= plan.info_begin(wrong) && 8 * i < plan.info_begin(wrong + 1);
      if (of_wrong) continue;
      ASSERT_EQ(received.tb[static_cast<size_t>(i)], payload[static_cast<size_t>(i)]);
    }
  }
}

TEST(NrBlockChainTest, ABlockWithARightCrcOfItsOwnButAnotherPayloadFailsTheTransportBlocks) {
  std::mt19937 random(7);
  TransportBlock tb;
  tb.tb_bytes = 2127;  // three blocks
  tb.qm = 2;
  tb.g = 30000;
  const TransportBlockPlan plan = *MakePlan(tb);
  const Bytes payload = RandomBytes(static_cast<size_t>(tb.tb_bytes), &random);
  Bytes other = payload;
  other[0] ^= 1;
  Llrs llr = NoiselessLlrs(plan, Send(plan, payload));
  const Llrs of_other = NoiselessLlrs(plan, Send(plan, other));
  std::copy(of_other.begin(), of_other.begin() + plan.e(0), llr.begin());
  std::vector<Llrs> soft;
  const Received received = Receive(plan, plan.num_rows, llr, &soft);
  EXPECT_THAT(received.BlockCrcs(), Each(true));
  EXPECT_FALSE(received.tb_crc_ok);
  EXPECT_EQ(received.tb, other);
}

TEST(NrBlockChainTest, NoiseAloneIsAResultThatFails) {
  std::mt19937 random(8);
  for (const auto& v : testing::ReadNrChainVectors()) {
    const TransportBlockPlan plan = *MakePlan(v.plan.block);
    Llrs llr(static_cast<size_t>(plan.g()));
    for (int8_t& value : llr) value = static_cast<int8_t>(static_cast<int>(random() % 31) - 15);
    std::vector<Llrs> soft;
    const Received received = Receive(plan, plan.num_rows, llr, &soft);
    EXPECT_FALSE(received.tb_crc_ok) << v.plan.number;
  }
}

TEST(NrBlockChainTest, ZerosOfWhichNothingIsKnownAreNoRightBlock) {
  TransportBlock tb;
  tb.tb_bytes = 2127;  // three blocks
  tb.qm = 2;
  tb.g = 30000;
  const Bytes zeros(static_cast<size_t>(tb.tb_bytes), 0);
  for (const int rv : {0, 2}) {
    tb.rv = rv;
    const TransportBlockPlan plan = *MakePlan(tb);
    Llrs llr = NoiselessLlrs(plan, Send(plan, zeros));
    std::vector<Llrs> soft;
    Received received = Receive(plan, plan.num_rows, llr, &soft);
    EXPECT_TRUE(received.tb_crc_ok);
    EXPECT_EQ(received.tb, zeros);
    // No LLR says anything of the last block, and of none.
    std::fill(llr.begin() + plan.e_begin(2), llr.end(), int8_t{0});
    soft.clear();
    received = Receive(plan, plan.num_rows, llr, &soft);
    EXPECT_THAT(received.BlockCrcs(), ::testing::ElementsAre(true, true, false));
    EXPECT_FALSE(received.tb_crc_ok);
    std::fill(llr.begin(), llr.end(), int8_t{0});
    soft.clear();
    received = Receive(plan, plan.num_rows, llr, &soft);
    EXPECT_THAT(received.BlockCrcs(), Each(false));
    EXPECT_FALSE(received.tb_crc_ok);
  }
}

TEST(NrBlockChainTest, ZerosAreRightWhereMostSoftBitsSaySoAlsoWithoutTheParityChecks) {
  EXPECT_TRUE(IsBlockRight(0, /*any_bit=*/false, /*parity_ok=*/true, {1, 1}));
  EXPECT_FALSE(IsBlockRight(0, /*any_bit=*/false, /*parity_ok=*/true, {0, 0}));
  EXPECT_TRUE(IsBlockRight(0, /*any_bit=*/false, /*parity_ok=*/false, {100, 33}));
  EXPECT_FALSE(IsBlockRight(0, /*any_bit=*/false, /*parity_ok=*/false, {99, 33}));
  EXPECT_TRUE(IsBlockRight(0, /*any_bit=*/true, /*parity_ok=*/false, {0, 0}));
  EXPECT_FALSE(IsBlockRight(1, /*any_bit=*/false, /*parity_ok=*/true, {100, 0}));
}

TEST(NrBlockChainTest, ACodeBlockAloneIsSentAndReceived) {
  std::mt19937 random(9);
  const std::vector<testing::NrRateMatchVector> vectors = testing::ReadNrRateMatchVectors();
  for (const testing::NrRateMatchVector& v : vectors) {
    SCOPED_TRACE(v.number);
    CodeBlock block = v.block;
    block.n_cb = v.n_cb;
    const RateMatch rate_match = *MakeRateMatch(block);
    const int rows = RowsNeeded(block.base_graph, block.zc, rate_match);
    const ldpc::CodePtr code = *ldpc::NrCode(block.base_graph, block.zc, rows);
    for (const int64_t out_bit : {0, 8, 3}) {
      Bytes out(static_cast<size_t>(BytesForBits(out_bit + block.e)), 0);
      EncodeCodeBlockOnCpu(*code, rate_match, block.num_filler, v.info, out.data(), out_bit);
      Bytes sent(v.out.size(), 0);
      CopyBits(sent.data(), 0, out.data(), out_bit, block.e);
      EXPECT_EQ(sent, v.out);
    }
    // Decodes from all of the buffer.
    block.rv = 0;
    block.qm = 1;
    block.e = block.n_cb;
    const RateMatch all = *MakeRateMatch(block);
    const ldpc::CodePtr all_rows =
        *ldpc::NrCode(block.base_graph, block.zc, RowsNeeded(block.base_graph, block.zc, all));
    Bytes out(static_cast<size_t>(BytesForBits(block.e)), 0);
    EncodeCodeBlockOnCpu(*all_rows, all, block.num_filler, v.info, out.data(), 0);
    Llrs llr;
    for (const uint8_t bit : ldpc::UnpackBits(out, static_cast<int>(block.e))) {
      llr.push_back(bit != 0 ? -15 : 15);
    }
    Llrs soft(all.n_cb);
    Bytes bits(v.info.size(), kGarbage);
    const ldpc::DecodeResult result =
        DecodeCodeBlockOnCpu(*all_rows, all, ldpc::DecodeParameters(), block.num_filler, llr, false,
                             absl::MakeSpan(soft), absl::MakeSpan(bits));
    EXPECT_EQ(result.parity_ok, 1);
    EXPECT_EQ(bits, v.info);
  }
}

// Fillers are not sent, but what is sent may be a word that has ones there.
TEST(NrBlockChainTest, AWordWithOnesInThePlaceOfFillersIsNone) {
  testing::Random random(10);
  CodeBlock block;
  block.base_graph = 2;
  block.zc = 20;
  block.qm = 1;
  const ldpc::CodePtr code = *ldpc::NrCode(block.base_graph, block.zc);
  for (const int num_filler : {1, 8, 40}) {
    block.num_filler = num_filler;
    block.e = code->num_sent() - num_filler;
    const RateMatch all = *MakeRateMatch(block);
    Llrs llr = testing::LlrOfOnes(*code, num_filler, 127, random);
    llr.erase(llr.begin() + all.filler_begin, llr.begin() + all.filler_end);
    Llrs soft(all.n_cb);
    Bytes bits(static_cast<size_t>(ldpc::DecodedBytes(*code, num_filler)), kGarbage);
    const ldpc::DecodeParameters parameters;
    const ldpc::DecodeResult result = DecodeCodeBlockOnCpu(
        *code, all, parameters, num_filler, llr, false, absl::MakeSpan(soft), absl::MakeSpan(bits));
    EXPECT_EQ(result.parity_ok, 0) << num_filler;
    EXPECT_EQ(result.iterations, parameters.max_iterations) << num_filler;
  }
}

TEST(NrBlockChainTest, RowsOfSoftReachItsLastValue) {
  Llrs soft(66 * 8, 0);
  EXPECT_EQ(RowsOfSoft(1, 8, soft), 4);
  soft[24 * 8 - 1] = 1;  // the last of 26 columns, 22 of them information
  EXPECT_EQ(RowsOfSoft(1, 8, soft), 4);
  soft[24 * 8] = -1;
  EXPECT_EQ(RowsOfSoft(1, 8, soft), 5);
  soft[66 * 8 - 1] = -1;
  EXPECT_EQ(RowsOfSoft(1, 8, soft), 46);
}

}  // namespace
}  // namespace baseband::nr
