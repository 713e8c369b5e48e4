// The nearest point of a constellation, found without looking at all of them, and yet the very
// point that looking at all would find.
//
// The plane is cut into square cells: of a mirror-symmetric constellation the first quadrant alone,
// |i| and |q| are looked up. A cell lists the points that are nearest for some place in it; a place
// outside the grid belongs to the nearest cell, whose list holds also the points that are nearest
// out there. The listed points' distances are compared as
//   d_k = e_k - (2 i_k) i - (2 q_k) q,   e_k = i_k^2 + q_k^2,
// in float32 with fused multiply-adds, ties to the first listed, the list being in ascending order
// of index. So both devices, and brute force with the same formula, take the same point, for every
// place with |i|, |q| <= kMaxSearched. A square QAM needs no list: see NearestSliced.
//
// Most cells list one or two points, whatever the constellation's size: 5 ns a symbol on one core,
// against 5 ns for looking at 9 points, 18 at 32, 38 at 64. So the grid takes the place of the
// search in the two rings next to a symbol, which wants an angle and a radius first (36 ns,
// 64APSK).
#ifndef BASEBAND_KERNELS_CARRIER_CONSTELLATION_NEAREST_H_
#define BASEBAND_KERNELS_CARRIER_CONSTELLATION_NEAREST_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/continue_check.h"
#include "kernels/base/host_device.h"
#include "kernels/carrier/constellation.h"

namespace baseband::carrier {

inline constexpr float kMaxSearched = 1e18F;

// A point nearer to the origin than this tells no phase.
inline constexpr float kOriginRadius = 1e-3F;

// A point as the search wants it, 16 bytes.
struct alignas(16) SearchPoint {
  float i = 0.0F;
  float q = 0.0F;
  float energy = 0.0F;          // e_k
  float inverse_radius = 0.0F;  // 1 / sqrt(energy), for equation 8; 0 within kOriginRadius
};

// A cell: its first three points, ten bits each, and above them whether there are more. A cell of
// fewer repeats its last point.
inline constexpr int kCellIndexBits = 10;
inline constexpr uint32_t kCellIndexMask = (1U << kCellIndexBits) - 1;
inline constexpr uint32_t kCellHasMore = 1U << 31;
static_assert(kMaxPoints <= 1 << kCellIndexBits, "a cell names a point in ten bits");

// What the search reads; plain arrays in host, device or shared memory.
struct NearestView {
  float origin = 0.0F;  // least coordinate of the grid: 0 if folded
  float cells_per_unit = 0.0F;
  int side = 0;  // cells along each axis, row = q
  int folded = 0;
  const uint32_t* cells = nullptr;  // [side * side]
  // [side * side]: where in `more` the rest of a cell's points stand; only where kCellHasMore is
  // set.
  const uint16_t* more_begin = nullptr;
  const uint16_t* more = nullptr;       // [num_more]; a number n, then n indices in `points`
  const SearchPoint* points = nullptr;  // folded: those of the closed first quadrant only
  int num_points = 0;
  int num_more = 0;
  // Square QAM (always folded), else 0: points along each axis of the quadrant, and 1 / their
  // distance. points[row * slices + column] is then the point at odd multiples column, row.
  int slices = 0;
  float slices_per_unit = 0.0F;
  // How many points have IsInOctant, if folded and the same after exchanging i and q; else 0.
  int octant_points = 0;
};

// One of each two points that are each other's mirror image about i = q.
BASEBAND_HOST_DEVICE inline bool IsInOctant(const SearchPoint& point) {
  return point.i >= 0.999999F * point.q;
}

// The arrays of a view, on the host.
class NearestGrid {
 public:
  // Points that hardly differ are many in a cell, which takes milliseconds then: `may_continue` is
  // asked before each.
  static absl::StatusOr<NearestGrid> Create(const Constellation& constellation,
                                            const ContinueCheck& may_continue = {});
  NearestView view() const;
  // Bytes of all arrays, for those who copy them.
  int64_t bytes() const;

 private:
  explicit NearestGrid(const Constellation& constellation);
  // Lists every cell's points; false if they are too many for 16-bit places in more_.
  absl::StatusOr<bool> Fill(const ContinueCheck& may_continue);

  NearestView shape_;
  std::vector<uint32_t> cells_;
  std::vector<uint16_t> more_begin_;
  std::vector<uint16_t> more_;
  std::vector<SearchPoint> points_;
};

// d_k of the header's formula, without |z|^2: comparable between points only.
BASEBAND_HOST_DEVICE inline float SearchDistance(const SearchPoint& point, float minus_two_i,
                                                 float minus_two_q) {
  return fmaf(point.q, minus_two_q, fmaf(point.i, minus_two_i, point.energy));
}

// floor(x), held in 0 .. last; 0 for NaN.
BASEBAND_HOST_DEVICE inline int HeldFloor(float x, int last) {
  const auto greatest = static_cast<float>(last);
#ifdef __CUDA_ARCH__
  // Floats from 2^23 on are whole, and an addition is four times as fast as a conversion.
  const float moved = __fadd_rd(fminf(fmaxf(x, 0.0F), greatest), 8388608.0F);
  return __float_as_int(moved) & 0x7fffff;
#else  // two instructions; the functions would be calls
  const float positive = x > 0.0F ? x : 0.0F;
  return static_cast<int>(positive < greatest ? positive : greatest);
#endif
}

// The cell of a coordinate along one axis.
BASEBAND_HOST_DEVICE inline int CellAlong(const NearestView& view, float coordinate) {
  return HeldFloor((coordinate - view.origin) * view.cells_per_unit, view.side - 1);
}

// Index in view.points of the point nearest to (i, q), which are already |i|, |q| if view.folded.
// Any index for NaN.
BASEBAND_HOST_DEVICE inline int NearestListed(const NearestView& view, float i, float q) {
  const int cell = CellAlong(view, q) * view.side + CellAlong(view, i);
  const uint32_t word = view.cells[cell];
  const float mi = -2.0F * i;
  const float mq = -2.0F * q;
  int best = static_cast<int>(word & kCellIndexMask);
  float least = SearchDistance(view.points[best], mi, mq);
  const auto consider = [&](int k) {
    const float distance = SearchDistance(view.points[k], mi, mq);
    best = distance < least ? k : best;
    least = distance < least ? distance : least;
  };
  consider(static_cast<int>(word >> kCellIndexBits & kCellIndexMask));
  consider(static_cast<int>(word >> 2 * kCellIndexBits & kCellIndexMask));
  if ((word & kCellHasMore) != 0) {
    const uint16_t* const more = view.more + view.more_begin[cell];
    for (int k = 1; k <= more[0]; ++k) {
      consider(more[k]);
    }
  }
  return best;
}

// The same for a square QAM (view.slices > 0), each axis by itself and without a list. Its point is
// as near as NearestListed's to within rounding: between two that are equally far to a part in 1e6
// it may take the other.
BASEBAND_HOST_DEVICE inline int NearestSliced(const NearestView& view, float i, float q) {
  const int column = HeldFloor(i * view.slices_per_unit, view.slices - 1);
  const int row = HeldFloor(q * view.slices_per_unit, view.slices - 1);
  return row * view.slices + column;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_CONSTELLATION_NEAREST_H_
