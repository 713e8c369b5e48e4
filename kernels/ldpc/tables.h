// Base matrices out of the standards, as numbers; code.h makes codes of them.
#ifndef BASEBAND_KERNELS_LDPC_TABLES_H_
#define BASEBAND_KERNELS_LDPC_TABLES_H_

#include <cstdint>

#include "absl/types/span.h"

namespace baseband::ldpc {

// One of the 51 lifting sizes of 3GPP TS 38.212 table 5.3.2-1 and the index of its set.
struct NrLiftingSize {
  int zc;
  int set_index;  // i_LS, 0 .. 7
};
absl::Span<const NrLiftingSize> NrLiftingSizeTable();  // Ascending.

// One non-zero block of a base graph; its shift at lifting size zc is v[set_index] mod zc.
struct NrEntry {
  uint8_t row;
  uint8_t column;
  uint16_t v[8];
};
// Table 5.3.2-2 for base graph 1, 5.3.2-3 for base graph 2; sorted by row, then column.
absl::Span<const NrEntry> NrBaseGraph(int base_graph);

inline constexpr int kIeeeColumns = 24;  // block columns of every matrix below

// One base matrix of IEEE 802.16e-2005 8.4.9.2.5.1, given for z = 96. For a smaller z a positive
// shift p becomes p mod z if `scales_by_modulo`, else floor(p * z / 96).
struct WimaxMatrix {
  const char* rate;
  bool scales_by_modulo;
  absl::Span<const int8_t> shifts;  // [rows][kIeeeColumns], -1 for a zero block
};
inline constexpr int kWimaxBaseZc = 96;
absl::Span<const WimaxMatrix> WimaxMatrices();

// One matrix of IEEE 802.11n-2009 Annex R.
struct WifiMatrix {
  const char* rate;
  int zc;
  absl::Span<const int8_t> shifts;  // [rows][kIeeeColumns], -1 for a zero block
};
absl::Span<const WifiMatrix> WifiMatrices();

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_TABLES_H_
