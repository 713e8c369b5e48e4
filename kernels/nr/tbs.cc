#include "kernels/nr/tbs.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace baseband::nr {
namespace {

constexpr Mcs R(int qm, double rate_x1024) { return {qm, rate_x1024 / 1024}; }

// Table 5.1.3.1-1.
constexpr Mcs k64Qam[] = {R(2, 120), R(2, 157), R(2, 193), R(2, 251), R(2, 308), R(2, 379),
                          R(2, 449), R(2, 526), R(2, 602), R(2, 679), R(4, 340), R(4, 378),
                          R(4, 434), R(4, 490), R(4, 553), R(4, 616), R(4, 658), R(6, 438),
                          R(6, 466), R(6, 517), R(6, 567), R(6, 616), R(6, 666), R(6, 719),
                          R(6, 772), R(6, 822), R(6, 873), R(6, 910), R(6, 948)};
// Table 5.1.3.1-2.
constexpr Mcs k256Qam[] = {R(2, 120), R(2, 193), R(2, 308),   R(2, 449), R(2, 602), R(4, 378),
                           R(4, 434), R(4, 490), R(4, 553),   R(4, 616), R(4, 658), R(6, 466),
                           R(6, 517), R(6, 567), R(6, 616),   R(6, 666), R(6, 719), R(6, 772),
                           R(6, 822), R(6, 873), R(8, 682.5), R(8, 711), R(8, 754), R(8, 797),
                           R(8, 841), R(8, 885), R(8, 916.5), R(8, 948)};
// Table 5.1.3.1-3.
constexpr Mcs kLowEfficiency[] = {R(2, 30),  R(2, 40),  R(2, 50),  R(2, 64),  R(2, 78),  R(2, 99),
                                  R(2, 120), R(2, 157), R(2, 193), R(2, 251), R(2, 308), R(2, 379),
                                  R(2, 449), R(2, 526), R(2, 602), R(4, 340), R(4, 378), R(4, 434),
                                  R(4, 490), R(4, 553), R(4, 616), R(6, 438), R(6, 466), R(6, 517),
                                  R(6, 567), R(6, 616), R(6, 666), R(6, 719), R(6, 772)};
// Table 5.1.3.1-4.
constexpr Mcs k1024Qam[] = {
    R(2, 120),   R(2, 193),   R(2, 449),    R(4, 378),  R(4, 490),    R(4, 616), R(6, 466),
    R(6, 517),   R(6, 567),   R(6, 616),    R(6, 666),  R(6, 719),    R(6, 772), R(6, 822),
    R(6, 873),   R(8, 682.5), R(8, 711),    R(8, 754),  R(8, 797),    R(8, 841), R(8, 885),
    R(8, 916.5), R(8, 948),   R(10, 805.5), R(10, 853), R(10, 900.5), R(10, 948)};

// Table 5.1.3.2-1.
constexpr int16_t kSmall[] = {
    24,   32,   40,   48,   56,   64,   72,   80,   88,   96,   104,  112,  120,  128,  136,  144,
    152,  160,  168,  176,  184,  192,  208,  224,  240,  256,  272,  288,  304,  320,  336,  352,
    368,  384,  408,  432,  456,  480,  504,  528,  552,  576,  608,  640,  672,  704,  736,  768,
    808,  848,  888,  928,  984,  1032, 1064, 1128, 1160, 1192, 1224, 1256, 1288, 1320, 1352, 1416,
    1480, 1544, 1608, 1672, 1736, 1800, 1864, 1928, 2024, 2088, 2152, 2216, 2280, 2408, 2472, 2536,
    2600, 2664, 2728, 2792, 2856, 2976, 3104, 3240, 3368, 3496, 3624, 3752, 3824};
constexpr int64_t kLargestSmall = 3824;

// Bits of a transport block and its CRC that one code block holds: of base graph 2, which low rates
// have whatever the size, and of base graph 1. Less the CRC of each of several.
constexpr int64_t kMostOfGraph2 = 3816;
constexpr int64_t kMostOfGraph1 = 8424;
constexpr int64_t kCrcBits = 24;

int FloorLog2(double value) { return std::ilogb(value); }

// The least size that holds `bits` and divides into `blocks` code blocks of whole bytes.
int64_t RoundUp(int64_t bits, int64_t blocks) {
  return 8 * blocks * CeilOf(bits + kCrcBits, 8 * blocks) - kCrcBits;
}

int64_t SmallBits(double n_info) {
  const double unit = std::ldexp(1.0, std::max(3, FloorLog2(n_info) - 6));
  const double quantised = std::max(24.0, unit * std::floor(n_info / unit));
  return *std::lower_bound(std::begin(kSmall), std::end(kSmall), quantised);
}

int64_t LargeBits(double n_info, double code_rate) {
  const double unit = std::ldexp(1.0, FloorLog2(n_info - 24) - 5);
  // Halves are rounded up, as std::round does with what is positive.
  const auto quantised =
      static_cast<int64_t>(std::max(3840.0, unit * std::round((n_info - 24) / unit)));
  const bool is_split = code_rate <= 0.25 || quantised > kMostOfGraph1;
  const int64_t most = code_rate <= 0.25 ? kMostOfGraph2 : kMostOfGraph1;
  return RoundUp(quantised, is_split ? CeilOf(quantised + kCrcBits, most) : 1);
}

}  // namespace

absl::Span<const Mcs> McsTable(int table) {
  switch (table) {
    case 1:
      return k64Qam;
    case 2:
      return k256Qam;
    case 3:
      return kLowEfficiency;
    default:
      return k1024Qam;
  }
}

absl::StatusOr<Mcs> McsOf(int table, int index) {
  if (table < 1 || table > kMcsTables) {
    return absl::InvalidArgumentError(
        absl::StrCat("MCS table ", table, " is not in [1, ", kMcsTables, "]"));
  }
  const absl::Span<const Mcs> all = McsTable(table);
  if (index < 0 || index >= static_cast<int>(all.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("mcs ", index, " is not in [0, ", all.size() - 1, "] of MCS table ", table));
  }
  return all[static_cast<size_t>(index)];
}

int64_t TransportBlockBits(int64_t num_re, Mcs mcs, int num_layers) {
  const double n_info = static_cast<double>(num_re) * mcs.efficiency() * num_layers;
  return n_info <= kLargestSmall ? SmallBits(n_info) : LargeBits(n_info, mcs.code_rate);
}

absl::Span<const int16_t> SmallTransportBlocks() { return kSmall; }

}  // namespace baseband::nr
