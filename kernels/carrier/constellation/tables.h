// APSK layouts of ETSI EN 302 307-1 (DVB-S2) and EN 302 307-2 (DVB-S2X), as numbers; named_points.h
// makes points of them.
#ifndef BASEBAND_KERNELS_CARRIER_CONSTELLATION_TABLES_H_
#define BASEBAND_KERNELS_CARRIER_CONSTELLATION_TABLES_H_

#include <array>
#include <cstdint>

#include "absl/types/span.h"

namespace baseband::carrier {

// Which labels a table lists. Where a quadrant is listed, the labels with both mirror bits 0 are,
// in ascending order; a label's mirror bit set to 1 turns the sign of I (of Q). -1: all are listed.
struct Listing {
  int8_t bits;          // of a label
  int8_t mirror_i_bit;  // 0 is the label's last bit
  int8_t mirror_q_bit;
};

struct RingPoint {
  uint8_t ring;   // 0 is the innermost
  int16_t angle;  // in units of pi / angle_unit
};

// Points on rings. The rates that share a layout differ in the radii only.
struct RingLayout {
  Listing listing;
  int angle_unit;
  absl::Span<const RingPoint> points;
};

// Points as coordinates, in units of 1e-4; rounded by the standard, so their mean energy is not
// quite one.
struct TabulatedPoint {
  int16_t i;
  int16_t q;
};
struct PointLayout {
  Listing listing;
  absl::Span<const TabulatedPoint> points;
};

inline constexpr int kMaxRings = 8;

struct ApskEntry {
  const char* name;
  const RingLayout* rings;              // null: `points` says where they are
  std::array<double, kMaxRings> radii;  // relative to the innermost, that one included
  const PointLayout* points;
  double threshold_db;  // ideal Es/N0 for quasi error free reception
};

// By size, then by code rate: all of EN 302 307-1 tables 9 and 10 and of EN 302 307-2 tables 10a to
// 15d. Radii that the short frame shares with the normal one of its code rate stand here once, with
// the normal frame's threshold.
absl::Span<const ApskEntry> ApskEntries();

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_CONSTELLATION_TABLES_H_
