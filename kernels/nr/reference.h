// The slow, obvious versions of TS 38.212: the oracle of the tests. Bits are one to a byte, and
// everything follows from the formulas one bit at a time. Parameters are not checked.
#ifndef BASEBAND_KERNELS_NR_REFERENCE_H_
#define BASEBAND_KERNELS_NR_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "kernels/ldpc/decode.h"
#include "kernels/ldpc/reference.h"
#include "kernels/nr/crc_math.h"
#include "kernels/nr/transport_block.h"

namespace baseband::nr {

using ldpc::Bits;

// Clause 5.1, by division of polynomials: the parity bits, p_0 first.
Bits ReferenceCrc(Crc crc, const Bits& message);

// Clause 5.2.2 and the CRC before it.
struct ReferenceSegments {
  Crc tb_crc = Crc::kCrc16;
  int zc = 0;
  int k = 0;
  int k_prime = 0;
  std::vector<Bits> blocks;  // k_prime bits each, with their CRC
};
ReferenceSegments ReferenceSegment(int base_graph, const Bits& payload);

// Clause 5.4.2.1: E_r of `num_blocks` blocks.
std::vector<int64_t> ReferenceBlockSizes(int64_t g, int num_layers, int qm, int num_blocks);

// Clause 5.4.2: which bit of d every f_i is, by walking around the buffer.
std::vector<int64_t> ReferencePlaces(const CodeBlock& block);
Bits ReferenceRateMatch(const CodeBlock& block, const Bits& buffer);
// `old` is empty or has N_cb values; so has the result.
std::vector<int8_t> ReferenceRateDematch(const CodeBlock& block, const std::vector<int8_t>& llr,
                                         const std::vector<int8_t>& old);

// d_0 .. d_{N-1} of a block of k_prime bits: clause 5.3.2, fillers as zeros.
Bits ReferenceBuffer(int base_graph, int zc, const Bits& block);

// The whole of clauses 6.2 and 7.2: g bits. `payload` has 8 tb_bytes.
Bits ReferenceSend(const TransportBlock& block, const Bits& payload);

// And back, from g LLRs and the soft bits of earlier transmissions (empty: there was none), by
// decoders of `rows` rows.
struct ReferenceReceived {
  Bits payload;
  std::vector<std::vector<int8_t>> soft;
  std::vector<ldpc::DecodeResult> decode;
  std::vector<bool> block_crc_ok;
  bool tb_crc_ok = false;
};
ReferenceReceived ReferenceReceive(const TransportBlock& block,
                                   const ldpc::DecodeParameters& parameters,
                                   const std::vector<int8_t>& llr,
                                   const std::vector<std::vector<int8_t>>& old_soft, int rows);

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_REFERENCE_H_
