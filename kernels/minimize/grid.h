// A regular grid of 1 to 4 axes. Points are numbered row-major, the last axis fastest, and never
// stored.
#ifndef BASEBAND_KERNELS_MINIMIZE_GRID_H_
#define BASEBAND_KERNELS_MINIMIZE_GRID_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace baseband::minimize {

inline constexpr int kMaxAxes = 4;
inline constexpr int64_t kMaxPoints = int64_t{1} << 40;

// count points: begin, begin + step, ..
struct Axis {
  double begin = 0.0;
  double step = 1.0;  // not 0 if there is more than one point; may be negative
  int64_t count = 1;

  // begin + i * step, rounded once: a fused multiply-add, on every device. Searches in float32
  // round the result to float32.
  double At(int64_t i) const { return std::fma(static_cast<double>(i), step, begin); }
};

using Indices = std::array<int64_t, kMaxAxes>;     // axes that are not there: 0
using Coordinates = std::array<double, kMaxAxes>;  // axes that are not there: 0

// Immutable.
class Grid {
 public:
  // InvalidArgument: no axis or more than kMaxAxes; a count below 1; a begin, step or last
  // coordinate that is not finite; a step of 0 between points; more than kMaxPoints points.
  static absl::StatusOr<Grid> Create(absl::Span<const Axis> axes);

  int num_axes() const { return num_axes_; }
  const Axis& axis(int k) const { return axes_[static_cast<size_t>(k)]; }
  int64_t num_points() const { return num_points_; }

  // `index` is in [0, num_points).
  Indices IndicesOf(int64_t index) const;
  Coordinates CoordinatesOf(int64_t index) const;
  int64_t IndexOf(const Indices& indices) const;

 private:
  std::array<Axis, kMaxAxes> axes_;
  int num_axes_ = 0;
  int64_t num_points_ = 0;
};

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_GRID_H_
