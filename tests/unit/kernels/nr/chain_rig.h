// A transport block's pieces run one after another, and transport blocks to send.
#ifndef BASEBAND_TESTS_UNIT_KERNELS_NR_CHAIN_RIG_H_
#define BASEBAND_TESTS_UNIT_KERNELS_NR_CHAIN_RIG_H_

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/base/bits.h"
#include "kernels/nr/block_chain.h"

namespace baseband::nr {

using Bytes = std::vector<uint8_t>;
using Llrs = std::vector<int8_t>;

inline constexpr uint8_t kGarbage = 0xa5;

// The pieces of a transport block in the order that `order` says.
inline Bytes Send(const TransportBlockPlan& plan, const Bytes& tb, const std::vector<int>& order) {
  const ldpc::CodePtr code = *ldpc::NrCode(plan.base_graph, plan.zc, plan.num_rows);
  Bytes coded(static_cast<size_t>(BytesForBits(plan.g())), kGarbage);
  std::vector<EdgeBits> edges(static_cast<size_t>(plan.num_blocks));
  const uint32_t crc = TransportBlockCrcOnCpu(plan, tb);
  for (const int r : order) {
    edges[static_cast<size_t>(r)] =
        EncodeBlockOnCpu(plan, *code, tb, crc, r, absl::MakeSpan(coded));
  }
  JoinCodedBits(plan, edges, absl::MakeSpan(coded));
  return coded;
}

inline std::vector<int> InOrder(const TransportBlockPlan& plan) {
  std::vector<int> order(static_cast<size_t>(plan.num_blocks));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  return order;
}

inline Bytes Send(const TransportBlockPlan& plan, const Bytes& tb) {
  return Send(plan, tb, InOrder(plan));
}

struct Received {
  Bytes tb;
  std::vector<BlockResult> blocks;
  bool tb_crc_ok = false;

  std::vector<bool> BlockCrcs() const {
    std::vector<bool> ok;
    for (const BlockResult& block : blocks) ok.push_back(block.crc_ok);
    return ok;
  }
};

// `soft` is empty for a first transmission, and of all blocks afterwards.
inline Received Receive(const TransportBlockPlan& plan, int rows, const Llrs& llr,
                        std::vector<Llrs>* soft) {
  const ldpc::CodePtr code = *ldpc::NrCode(plan.base_graph, plan.zc, rows);
  const bool combine = !soft->empty();
  if (!combine) {
    soft->assign(static_cast<size_t>(plan.num_blocks), Llrs(plan.of_short.n_cb, int8_t{99}));
  }
  Received received;
  received.tb.assign(static_cast<size_t>(plan.tb_bits / 8), kGarbage);
  for (int r = 0; r < plan.num_blocks; ++r) {
    received.blocks.push_back(DecodeBlockOnCpu(
        plan, *code, ldpc::DecodeParameters(), r,
        absl::MakeConstSpan(llr).subspan(static_cast<size_t>(plan.e_begin(r)),
                                         static_cast<size_t>(plan.e(r))),
        combine, absl::MakeSpan((*soft)[static_cast<size_t>(r)]), absl::MakeSpan(received.tb)));
  }
  received.tb_crc_ok = JoinTransportBlock(plan, received.blocks, absl::MakeSpan(received.tb));
  return received;
}

inline Llrs NoiselessLlrs(const TransportBlockPlan& plan, const Bytes& coded,
                          int8_t magnitude = 20) {
  Llrs llr(static_cast<size_t>(plan.g()));
  for (size_t i = 0; i < llr.size(); ++i) {
    const bool one = (coded[i / 8] >> (7 - i % 8) & 1) != 0;
    llr[i] = static_cast<int8_t>(one ? -magnitude : magnitude);
  }
  return llr;
}

// A transport block at random: any size of three orders of magnitude that divides into blocks,
// sent by coded bits enough to know all of it.
inline TransportBlock RandomTransportBlock(int trial, std::mt19937* random) {
  const int qms[] = {1, 2, 4, 6, 8, 10};
  for (;;) {
    TransportBlock tb;
    const int64_t most = trial % 3 == 0 ? 12000 : trial % 3 == 1 ? 1500 : 60;
    tb.tb_bytes = 3 + static_cast<int64_t>((*random)() % most);
    tb.base_graph = 1 + static_cast<int>((*random)() % 2);
    tb.qm = qms[(*random)() % 6];
    tb.num_layers = 1 + static_cast<int>((*random)() % 4);
    const int64_t unit = tb.qm * tb.num_layers;
    const int64_t coded = 8 * tb.tb_bytes * (14 + static_cast<int64_t>((*random)() % 60)) / 10;
    tb.g = unit * (coded / unit + 40);
    if (MakePlan(tb).ok()) return tb;
  }
}

}  // namespace baseband::nr

#endif  // BASEBAND_TESTS_UNIT_KERNELS_NR_CHAIN_RIG_H_
