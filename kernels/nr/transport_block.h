// What 3GPP TS 38.212 makes of a transport block (UL-SCH 6.2, DL-SCH 7.2), in numbers: its CRC, its
// code blocks, and the bits that are sent of each. No bit is touched here.
//
// Letters are the standard's: A bits of payload, B with the CRC; C code blocks of K bits, of which
// K' are not fillers; E bits of a block are sent, G of all; Q_m bits a symbol, N_L layers; the
// circular buffer has N_cb bits and is read from k_0 on.
//
//   StatusOr<TransportBlockPlan> plan = MakePlan({.. tb_bytes 1001, base_graph 1, qm 6, g 12000});
//   for (int r = 0; r < plan->num_blocks; ++r) .. plan->rate_match(r), plan->info_begin(r) ..
#ifndef BASEBAND_KERNELS_NR_TRANSPORT_BLOCK_H_
#define BASEBAND_KERNELS_NR_TRANSPORT_BLOCK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "kernels/crc/crc_math.h"
#include "kernels/nr/rate_match_math.h"

namespace baseband::nr {

inline constexpr int64_t kMinTransportBlockBytes = 3;  // 38.214: TBS 24
// Above the largest of 38.214: 1024QAM on 273 PRBs and four layers.
inline constexpr int64_t kMaxTransportBlockBytes = 1 << 18;
inline constexpr int kMaxLayers = 8;
inline constexpr int kMaxQm = 10;
inline constexpr int64_t kMaxCodedBits = int64_t{1} << 23;  // G
inline constexpr int64_t kMaxTbsLbrm = int64_t{1} << 24;

// A transport block as its sender and receiver know it.
struct TransportBlock {
  int64_t tb_bytes = 0;  // A / 8: kMinTransportBlockBytes .. kMaxTransportBlockBytes
  int base_graph = 1;    // 1 or 2; ChooseBaseGraph says which
  int rv = 0;            // redundancy version, 0 .. 3
  int qm = 2;            // bits a symbol: 1, 2, 4, 6, 8 or 10
  int num_layers = 1;    // N_L: 1 .. kMaxLayers
  int64_t g = 0;         // coded bits: 1 .. kMaxCodedBits, a multiple of num_layers * qm
  int64_t tbs_lbrm = 0;  // TBS_LBRM of 5.4.2.1, bits: A .. kMaxTbsLbrm; 0: no limited buffer
};

// Clauses 6.2.2 and 7.2.2: 1 or 2. `code_rate` is that of the first transmission, (0, 1).
int ChooseBaseGraph(int64_t tb_bits, double code_rate);

struct TransportBlockPlan {
  int64_t tb_bits = 0;  // A
  int tb_crc_bits = 0;  // 24: CRC24A, 16: CRC16, 0: none (a code block alone)
  int base_graph = 0;
  int zc = 0;
  int num_blocks = 0;      // C
  int block_crc_bits = 0;  // 24: CRC24B, 0: none
  int k = 0;               // 22 or 10 times zc
  int k_prime = 0;         // K': block r's information and CRC; k - k_prime fillers follow
  int num_short = 0;       // blocks 0 .. num_short - 1 send e_short bits, the others e_long
  int e_short = 0;
  int e_long = 0;
  RateMatch of_short;  // of the blocks that send e_short bits, and of the others
  RateMatch of_long;

  int num_filler() const { return k - k_prime; }
  int e(int r) const { return r < num_short ? e_short : e_long; }
  const RateMatch& rate_match(int r) const { return r < num_short ? of_short : of_long; }
  // The CRC in which the K' bits of a code block end, if they do: its own, or that of the transport
  // block of which it is the only one.
  absl::optional<Crc> last_crc() const {
    if (block_crc_bits != 0) return Crc::kCrc24B;
    if (tb_crc_bits == 0) return absl::nullopt;
    return tb_crc_bits == 24 ? Crc::kCrc24A : Crc::kCrc16;
  }
  // Block r carries bits [info_begin(r), info_begin(r) + info_bits()) of the transport block with
  // its CRC (b_0 .. b_{B-1}), and then its own CRC.
  int info_bits() const { return k_prime - block_crc_bits; }
  int64_t info_begin(int r) const { return static_cast<int64_t>(r) * info_bits(); }
  // The first of its coded bits among those of the transport block.
  int64_t e_begin(int r) const {
    return r < num_short ? static_cast<int64_t>(r) * e_short
                         : static_cast<int64_t>(num_short) * e_short +
                               static_cast<int64_t>(r - num_short) * e_long;
  }
  int64_t g() const { return e_begin(num_blocks); }
  // The rows of the base graph that the bits of all rate-matched blocks can use, 4 .. 46 or 42: see
  // ldpc::NrCode. A decoder needs no others; an encoder makes no others.
  int num_rows = 0;
};

// InvalidArgument names the field, its value and its range, or the rule: A + CRCs that do not
// divide into C blocks of whole bits, G that is no multiple of N_L Q_m, a block that sends no bit,
// a TBS_LBRM that leaves no bit of the buffer.
absl::StatusOr<TransportBlockPlan> MakePlan(const TransportBlock& block);

// The CRC that is the last of a code block's bits, if it has one.
enum class CodeBlockCrc : uint8_t { kNone, k24A, k24B, k16 };

// One code block alone, in the terms of DPDK's bbdev.
struct CodeBlock {
  int base_graph = 1;  // 1 or 2
  int zc = 0;          // one of the 51 lifting sizes
  int num_filler = 0;  // 0 .. k - 2 zc - 1
  int n_cb = 0;        // 1 .. N = 66 zc or 50 zc; 0: N
  int rv = 0;
  int qm = 2;
  int64_t e = 0;  // 1 .. kMaxCodedBits, a multiple of qm
  CodeBlockCrc crc = CodeBlockCrc::kNone;
};
// InvalidArgument as above. The buffer's first bit is never a filler, so that one can be sent.
absl::StatusOr<RateMatch> MakeRateMatch(const CodeBlock& block);
// As a transport block of one code block, whose payload need not end on a byte: CRC24A and CRC16
// stand as the transport block's, CRC24B as the code block's. InvalidArgument also where fillers
// and CRC leave no bit of payload.
absl::StatusOr<TransportBlockPlan> MakePlan(const CodeBlock& block);
// As TransportBlockPlan::num_rows, of one block.
int RowsNeeded(int base_graph, int zc, const RateMatch& rate_match);
// The rows that d_0 .. d_{num_bits-1} can use; num_bits 1 .. N.
int RowsForBits(int base_graph, int zc, int64_t num_bits);

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_TRANSPORT_BLOCK_H_
