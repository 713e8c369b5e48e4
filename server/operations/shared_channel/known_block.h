// A transport block whose coded bits are known, for the self-tests of both directions.
#ifndef BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_KNOWN_BLOCK_H_
#define BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_KNOWN_BLOCK_H_

#include <string>

#include "absl/status/statusor.h"
#include "kernels/base/hex.h"
#include "kernels/base/status_macros.h"
#include "server/operations/shared_channel/shared_channel_block.h"

namespace baseband::server {

// TS 38.212, 24 bits, base graph 2, rv 0, QPSK: case 1 of tests/vectors/ldpc/nr_tb_chain.jsonl.
struct KnownBlock {
  static constexpr int kCodedBits = 200;

  static absl::StatusOr<SharedChannelBlock> Make() {
    nr::TransportBlock tb;
    tb.tb_bytes = 3;
    tb.base_graph = 2;
    tb.qm = 2;
    tb.g = kCodedBits;
    SharedChannelBlock block;
    BASEBAND_ASSIGN_OR_RETURN(block.plan, nr::MakePlan(tb));
    return block;
  }

  static std::string Payload() { return BytesOfHex("7d49a6"); }
  static std::string Coded() {
    return BytesOfHex("39c7dbfc0191635670aa173f4d69d5e0fc45364e9fb08c6517");
  }
  // The received values of the coded bits, sure but for every 16th, which is wrong.
  static std::string NoisyLlr() {
    const std::string coded = Coded();
    std::string llr;
    for (int bit = 0; bit < kCodedBits; ++bit) {
      const bool one = coded[static_cast<size_t>(bit / 8)] >> (7 - bit % 8) & 1;
      llr.push_back(static_cast<char>(one == (bit % 16 == 5) ? 12 : -12));
    }
    return llr;
  }
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_KNOWN_BLOCK_H_
