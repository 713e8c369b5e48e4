// The nearest point of a constellation, found without looking at all of them, and yet the very point
// that looking at all would find.
//
// The plane is cut into square cells: of a mirror-symmetric constellation the first quadrant alone,
// |i| and |q| are looked up. A cell lists the points that are nearest for some place in it; a place
// outside the grid belongs to the nearest cell, whose list holds also the points that are nearest
// out there. The listed points' distances are compared as
//   d_k = e_k - (2 i_k) i - (2 q_k) q,   e_k = i_k^2 + q_k^2,
// in float32 with fused multiply-adds, ties to the first listed, the list being in ascending order
// of label. So both devices, and brute force with the same formula, take the same point.
#ifndef BASEBAND_KERNELS_CARRIER_NEAREST_H_
#define BASEBAND_KERNELS_CARRIER_NEAREST_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/carrier/constellation.h"

#ifdef __CUDACC__
#define BASEBAND_HOST_DEVICE __host__ __device__
#else
#define BASEBAND_HOST_DEVICE
#endif

namespace baseband::carrier {

// A point as the search wants it, 16 bytes.
struct alignas(16) SearchPoint {
  float i = 0.0F;
  float q = 0.0F;
  float energy = 0.0F;
  float inverse_radius = 0.0F;  // 1 / sqrt(energy), for equation 8; 0 for a point at the origin
};

// What the search reads; plain arrays in host, device or shared memory.
struct NearestView {
  float origin = 0.0F;        // least coordinate of the grid: 0 if folded
  float cells_per_unit = 0.0F;
  int side = 0;               // cells along each axis, row = q
  int folded = 0;
  const uint16_t* cell_begin = nullptr;  // [side * side + 1]: a cell's range in `listed`
  const uint16_t* listed = nullptr;      // indices in `points`
  const SearchPoint* points = nullptr;   // folded: those of the closed first quadrant only
  int num_points = 0;
};

// The arrays of a view, on the host.
class NearestGrid {
 public:
  explicit NearestGrid(const Constellation& constellation);
  NearestView view() const;
  // Bytes of all arrays, for those who copy them.
  int64_t bytes() const;
  int64_t num_listed() const { return static_cast<int64_t>(listed_.size()); }

 private:
  NearestView shape_;
  std::vector<uint16_t> cell_begin_;
  std::vector<uint16_t> listed_;
  std::vector<SearchPoint> points_;
};

// Index in view.points of the point nearest to (i, q), which are already |i|, |q| if view.folded.
BASEBAND_HOST_DEVICE inline int NearestListed(const NearestView& view, float i, float q);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_NEAREST_H_
