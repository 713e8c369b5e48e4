// The chain allocates nothing once a thread has done the like. A program of its own, as it replaces
// the global operator new.

#include "gtest/gtest.h"
#include "kernels/nr/block_chain.h"
#include "tests/support/count_allocations.h"

namespace baseband::nr {
namespace {

TEST(NrAllocationTest, ASecondTransportBlockAllocatesNothing) {
  TransportBlock tb;
  tb.tb_bytes = 7501;
  tb.qm = 8;
  tb.num_layers = 4;
  for (const int64_t g : {int64_t{68384}, kMaxCodedBits}) {  // once, and many times around
    tb.g = g;
    const TransportBlockPlan plan = *MakePlan(tb);
    const ldpc::CodePtr code = *ldpc::NrCode(plan.base_graph, plan.zc, plan.num_rows);
    const ldpc::DecodeParameters parameters;
    std::vector<uint8_t> payload(static_cast<size_t>(tb.tb_bytes), 0x35);
    std::vector<uint8_t> coded(static_cast<size_t>(g / 8));
    std::vector<EdgeBits> edges(static_cast<size_t>(plan.num_blocks));
    std::vector<BlockResult> blocks(static_cast<size_t>(plan.num_blocks));
    const std::vector<int8_t> llr(static_cast<size_t>(plan.e_long), 1);
    std::vector<int8_t> soft(plan.of_long.n_cb);
    const auto all = [&] {
      const uint32_t crc = TransportBlockCrcOnCpu(plan, payload);
      for (int r = 0; r < plan.num_blocks; ++r) {
        const auto i = static_cast<size_t>(r);
        const auto e = static_cast<size_t>(plan.e(r));
        edges[i] = EncodeBlockOnCpu(plan, *code, payload, crc, r, absl::MakeSpan(coded));
        blocks[i] = DecodeBlockOnCpu(plan, *code, parameters, r, absl::MakeConstSpan(llr).first(e),
                                     r % 2 == 0, absl::MakeSpan(soft), absl::MakeSpan(payload));
      }
      JoinCodedBits(plan, edges, absl::MakeSpan(coded));
      return JoinTransportBlock(plan, blocks, absl::MakeSpan(payload));
    };
    all();
    const int after_first = num_allocations;
    all();
    EXPECT_EQ(num_allocations, after_first);
  }
}

}  // namespace
}  // namespace baseband::nr
