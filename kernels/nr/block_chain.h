// The chain of TS 38.212 on a CPU: a transport block as pieces of work that threads can share, a
// piece a code block; CRC, LDPC and rate matching between its bytes and its coded bits.
//
//   sending     crc = TransportBlockCrcOnCpu(plan, tb)                               first
//               edges[r] = EncodeBlockOnCpu(plan, code, tb, crc, r, coded)           any order
//               JoinCodedBits(plan, edges, coded)                                    after all
//   receiving   blocks[r] = DecodeBlockOnCpu(plan, code, .., r, llr, .., soft, tb)   any order
//               crc_ok = JoinTransportBlock(plan, blocks, tb)                        after all
//
// Blocks of one transport block may meet inside a byte, of the coded bits or of the payload.
// Pieces never write such a byte, but hand their bits of it to the joining piece (bit_run.h), so
// that those of one transport block may run at the same time.
//
// `code` is ldpc::NrCode(plan.base_graph, plan.zc, rows). A sender needs plan.num_rows rows. A
// receiver needs no more for one transmission, but where several are combined as many as the one
// that reached furthest: the largest plan.num_rows, or RowsOfSoft() of what they left. The code of
// a sender must have an encode plan (as all of NR have).
//
// All run on the calling thread, with SIMD, allocate nothing once a thread has done the like, and
// are thread-safe. Packed bits: most significant first.
#ifndef BASEBAND_KERNELS_NR_BLOCK_CHAIN_H_
#define BASEBAND_KERNELS_NR_BLOCK_CHAIN_H_

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/ldpc/code.h"
#include "kernels/ldpc/decode.h"
#include "kernels/nr/bit_run.h"
#include "kernels/nr/rate_match.h"
#include "kernels/nr/transport_block.h"

namespace baseband::nr {

// One code block alone: LDPC and rate matching, no CRC.
//   info  its k - num_filler bits that are no fillers
// Writes the e bits that are sent to `out` from `out_bit` on, as RateMatchOnCpu does. `code` as
// above: rows enough for the highest place that is sent (RowsNeeded).
void EncodeCodeBlockOnCpu(const ldpc::Code& code, const RateMatch& rate_match, int num_filler,
                          absl::Span<const uint8_t> info, uint8_t* out, int64_t out_bit);

// Dematches and combines as RateDematchOnCpu does, and decodes what `soft` holds then.
//   llr   [e]
//   soft  [n_cb], in and out
//   bits  [ceil((k - num_filler) / 8)]: the decided bits, the last byte filled up with zero bits
// LLRs of bits past the rows of `code` are kept in `soft`, but play no part.
ldpc::DecodeResult DecodeCodeBlockOnCpu(const ldpc::Code& code, const RateMatch& rate_match,
                                        const ldpc::DecodeParameters& parameters, int num_filler,
                                        absl::Span<const int8_t> llr, bool combine,
                                        absl::Span<int8_t> soft, absl::Span<uint8_t> bits);

// The rows that a decoder can use of `soft`, d_0 .. of one code block: those up to its last value
// that is not 0; for ldpc::NrCode.
int RowsOfSoft(int base_graph, int zc, absl::Span<const int8_t> soft);

// The CRC that is appended to `tb` (plan.tb_bits bits).
uint32_t TransportBlockCrcOnCpu(const TransportBlockPlan& plan, absl::Span<const uint8_t> tb);

// Encodes code block r and writes its part of the coded bits, [e_begin(r), e_begin(r) + e(r)) of
// `coded`, but for those that it returns.
//   tb     [tb_bits / 8], the whole transport block; tb_crc its CRC
//   coded  [ceil(g / 8)], of the whole transport block
EdgeBits EncodeBlockOnCpu(const TransportBlockPlan& plan, const ldpc::Code& code,
                          absl::Span<const uint8_t> tb, uint32_t tb_crc, int r,
                          absl::Span<uint8_t> coded);

// Writes the bytes of `coded` that blocks share; edges [num_blocks] as EncodeBlockOnCpu returned
// them. The last byte is filled up with zero bits.
void JoinCodedBits(const TransportBlockPlan& plan, absl::Span<const EdgeBits> edges,
                   absl::Span<uint8_t> coded);

// What became of one code block.
struct BlockResult {
  ldpc::DecodeResult decode;  // iterations, and whether all parity checks hold
  // Whether its CRC is right: CRC24B, or that of the transport block if it is the only one; for
  // zeros there is more to it (IsBlockRight).
  bool crc_ok = false;
  EdgeBits edges;       // for JoinTransportBlock, as is
  uint32_t tb_crc = 0;  // the transport block's kind of CRC over its part of b_0 .. b_{B-1}
};

// Dematches, combines, decodes and checks code block r, and writes its part of the payload, but for
// what it returns. A block whose CRC is wrong is a result like any other: what was decided of it is
// written.
//   llr   [e(r)], of this block
//   soft  [n_cb], of this block, in and out, as in RateDematchOnCpu
//   tb    [tb_bits / 8], of the whole transport block
BlockResult DecodeBlockOnCpu(const TransportBlockPlan& plan, const ldpc::Code& code,
                             const ldpc::DecodeParameters& parameters, int r,
                             absl::Span<const int8_t> llr, bool combine, absl::Span<int8_t> soft,
                             absl::Span<uint8_t> tb);

// Writes the bytes of `tb` that blocks share and says whether the CRC of the transport block is
// right, and that of every block. `blocks` [num_blocks] as DecodeBlockOnCpu returned them.
bool JoinTransportBlock(const TransportBlockPlan& plan, absl::Span<const BlockResult> blocks,
                        absl::Span<uint8_t> tb);

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_BLOCK_CHAIN_H_
