// Receiving what was sent is the identity, whatever the transport block and the order of its
// pieces.
#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/nr/block_chain.h"
#include "tests/support/ldpc_vectors.h"
#include "tests/support/status_matchers.h"
#include "tests/unit/kernels/nr/chain_rig.h"

namespace baseband::nr {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::RandomBytes;
using ::testing::Each;

void ExpectIdentity(const TransportBlock& tb, std::mt19937* random) {
  SCOPED_TRACE(std::to_string(tb.tb_bytes) + " bytes, base graph " + std::to_string(tb.base_graph) +
               ", qm " + std::to_string(tb.qm));
  const auto plan = MakePlan(tb);
  ASSERT_THAT(plan, IsOk());
  const Bytes payload = RandomBytes(static_cast<size_t>(tb.tb_bytes), random);
  const Bytes coded = Send(*plan, payload);
  std::vector<Llrs> soft;
  const Received received = Receive(*plan, plan->num_rows, NoiselessLlrs(*plan, coded), &soft);
  ASSERT_EQ(received.tb, payload);
  EXPECT_TRUE(received.tb_crc_ok);
  EXPECT_THAT(received.BlockCrcs(), Each(true));
  for (const BlockResult& block : received.blocks) EXPECT_EQ(block.decode.parity_ok, 1);
}

TEST(NrBlockChainIdentityTest, ReceivingWhatIsSentIsTheIdentityFromTheSmallestBlockOn) {
  std::mt19937 random(2);
  for (int bytes = 3; bytes <= 480; bytes += bytes < 60 ? 1 : 7) {
    TransportBlock tb;
    tb.tb_bytes = bytes;
    tb.base_graph = ChooseBaseGraph(8 * bytes, 0.5);
    const int qms[] = {1, 2, 4, 6, 8, 10};
    tb.qm = qms[random() % 6];
    tb.num_layers = 1 + static_cast<int>(random() % 4);
    const int unit = tb.qm * tb.num_layers;
    tb.g = int64_t{unit} * ((16 * bytes + 60) / unit + 1);
    ExpectIdentity(tb, &random);
  }
  for (int trial = 0; trial < 60; ++trial)
    ExpectIdentity(RandomTransportBlock(trial, &random), &random);
}

TEST(NrBlockChainIdentityTest, ReceivingWhatIsSentIsTheIdentityForTheLargestBlocks) {
  std::mt19937 random(3);
  TransportBlock tb;
  tb.tb_bytes = 1277992 / 8;  // the largest of 38.214
  tb.num_layers = 4;
  tb.qm = 8;
  tb.base_graph = 1;
  tb.g = 1376256 / 32 * 32;
  tb.tbs_lbrm = 1277992;
  ExpectIdentity(tb, &random);
  tb.qm = 10;
  tb.g = 1600000;
  ExpectIdentity(tb, &random);
  tb.tb_bytes = (38 * 3816 - 24) / 8;
  tb.base_graph = 2;
  tb.qm = 2;
  tb.g = 600000;
  tb.tbs_lbrm = 0;
  ExpectIdentity(tb, &random);
}

TEST(NrBlockChainIdentityTest, FourTransmissionsOfWhichNoneDecodesAloneDecodeTogether) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 60; ++trial) {
    TransportBlock tb = RandomTransportBlock(trial, &random);
    const Bytes payload = RandomBytes(static_cast<size_t>(tb.tb_bytes), &random);
    // Fewer bits than there are to know, each time.
    const int64_t unit = tb.qm * tb.num_layers;
    tb.g = unit * (8 * tb.tb_bytes * 7 / 10 / unit);
    // Of the smallest blocks, iterations may leave a bit or two unknown.
    if (tb.tb_bytes < 64 || !MakePlan(tb).ok()) continue;
    std::vector<Llrs> soft;
    int rows = 0;
    Received received;
    for (const int rv : {0, 2, 3, 1}) {
      tb.rv = rv;
      const TransportBlockPlan plan = *MakePlan(tb);
      rows = std::max(rows, plan.num_rows);
      received = Receive(plan, rows, NoiselessLlrs(plan, Send(plan, payload)), &soft);
      EXPECT_EQ(received.tb_crc_ok, received.tb == payload) << tb.tb_bytes;
      if (rv != 0) continue;
      EXPECT_FALSE(received.tb_crc_ok) << tb.tb_bytes;
    }
    EXPECT_EQ(received.tb, payload) << tb.tb_bytes;
    EXPECT_TRUE(received.tb_crc_ok);
  }
}

// Blocks that meet inside bytes: coded bits of odd lengths, payloads of blocks that are no whole
// bytes (no size of 38.214, but nothing forbids them here).
TransportBlock MeetingInBytes() {
  TransportBlock tb;
  tb.tb_bytes = 3;
  tb.base_graph = 2;
  tb.qm = 1;
  for (tb.tb_bytes = 4000; 8 * tb.tb_bytes <= 60000; ++tb.tb_bytes) {
    tb.g = 8 * tb.tb_bytes * 3 + 5;
    const auto plan = MakePlan(tb);
    if (plan.ok() && plan->info_bits() % 8 != 0) break;
  }
  return tb;
}

TEST(NrBlockChainIdentityTest, BlocksThatMeetInsideBytesMayRunInAnyOrderAndAtTheSameTime) {
  std::mt19937 random(5);
  const TransportBlock tb = MeetingInBytes();
  const auto made = MakePlan(tb);
  ASSERT_THAT(made, IsOk());
  const TransportBlockPlan& plan = *made;
  ASSERT_NE(plan.info_bits() % 8, 0);
  ASSERT_NE(plan.e(0) % 8, 0);
  ExpectIdentity(tb, &random);
  const Bytes payload = RandomBytes(static_cast<size_t>(tb.tb_bytes), &random);
  const Bytes expected = Send(plan, payload);
  std::vector<int> order = InOrder(plan);
  for (int trial = 0; trial < 5; ++trial) {
    std::shuffle(order.begin(), order.end(), random);
    EXPECT_EQ(Send(plan, payload, order), expected);
  }

  const ldpc::CodePtr code = *ldpc::NrCode(plan.base_graph, plan.zc, plan.num_rows);
  const uint32_t crc = TransportBlockCrcOnCpu(plan, payload);
  const Llrs llr = NoiselessLlrs(plan, expected);
  const auto num_blocks = static_cast<size_t>(plan.num_blocks);
  Bytes coded(expected.size(), kGarbage);
  Bytes tb_bytes(payload.size(), kGarbage);
  std::vector<EdgeBits> edges(num_blocks);
  std::vector<BlockResult> blocks(num_blocks);
  std::vector<std::thread> threads;
  for (int first = 0; first < 2; ++first) {
    threads.emplace_back([&, first] {
      Llrs soft(plan.of_short.n_cb);
      for (int r = first; r < plan.num_blocks; r += 2) {
        const auto i = static_cast<size_t>(r);
        edges[i] = EncodeBlockOnCpu(plan, *code, payload, crc, r, absl::MakeSpan(coded));
        blocks[i] =
            DecodeBlockOnCpu(plan, *code, ldpc::DecodeParameters(), r,
                             absl::MakeConstSpan(llr).subspan(static_cast<size_t>(plan.e_begin(r)),
                                                              static_cast<size_t>(plan.e(r))),
                             false, absl::MakeSpan(soft), absl::MakeSpan(tb_bytes));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  JoinCodedBits(plan, edges, absl::MakeSpan(coded));
  EXPECT_EQ(coded, expected);
  EXPECT_TRUE(JoinTransportBlock(plan, blocks, absl::MakeSpan(tb_bytes)));
  EXPECT_EQ(tb_bytes, payload);
}

}  // namespace
}  // namespace baseband::nr
