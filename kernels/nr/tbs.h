// How large a transport block is: 3GPP TS 38.214 clause 5.1.3, which 6.1.4 follows for the uplink.
#ifndef BASEBAND_KERNELS_NR_TBS_H_
#define BASEBAND_KERNELS_NR_TBS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace baseband::nr {

constexpr int64_t CeilOf(int64_t a, int64_t b) { return (a + b - 1) / b; }  // of a / b, positive

// Modulation and coding: bits a symbol, and target code rate R.
struct Mcs {
  int qm = 0;
  double code_rate = 0;

  double efficiency() const { return qm * code_rate; }  // information bits a symbol
};

// Tables 5.1.3.1-1 (up to 64QAM), -2 (256QAM), -3 (64QAM of low spectral efficiency) and -4
// (1024QAM), by index I_MCS, without the reserved ones. `table` 1 .. kMcsTables.
inline constexpr int kMcsTables = 4;
absl::Span<const Mcs> McsTable(int table);
// One of them. InvalidArgument: "mcs 28 is not in [0, 27] of MCS table 2".
absl::StatusOr<Mcs> McsOf(int table, int index);

// Resource elements of a PRB and a slot that carry data: this many count at most (N'_RE), those of
// 13 symbols; the 14th is left to reference signals.
inline constexpr int kMostResourceElements = 156;

// Clause 5.1.3.2: the size in bits, a multiple of 8, of a transport block on `num_re` resource
// elements (N_RE, 1 or more) and `num_layers` layers (1 .. 4). With its CRC it divides into equal
// code blocks. code_rate in (0, 1).
int64_t TransportBlockBits(int64_t num_re, Mcs mcs, int num_layers);

// Table 5.1.3.2-1: the sizes up to 3824 bits, ascending.
absl::Span<const int16_t> SmallTransportBlocks();

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_TBS_H_
