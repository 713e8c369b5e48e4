// Separable least squares: how far a signal is from known columns plus sinusoids of unknown
// frequencies, all amplitudes free.
//
//   J(f) = Q - r' R^-1 r = min over a of |y - H(f) a|^2,   Q = y'y, r = H'y, R = H'H
//
// A real signal's H has the fixed columns and, for each axis of the grid, cos and sin of
// 2 pi f Ts n, n = 0 .. N - 1: with one axis and two columns, the functional of papers/
// grid-minimisation. A complex signal's has one exp(j 2 pi f Ts n) an axis, and ' conjugates.
// Columns that depend on others to within rounding (a cos and sin at 0 Hz) count once.
#ifndef BASEBAND_KERNELS_MINIMIZE_SINUSOIDS_H_
#define BASEBAND_KERNELS_MINIMIZE_SINUSOIDS_H_

#include <complex>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/minimize/functional.h"

namespace baseband::minimize {

inline constexpr int kMaxFixedColumns = 8;
inline constexpr int kMaxSinusoids = 3;
inline constexpr int64_t kMinSamples = 4;
inline constexpr int64_t kMaxSamples = int64_t{1} << 20;

// The observation. Real ones have no imaginary parts anywhere.
struct Observation {
  double sampling_interval_s = 1.0;  // Ts, above 0
  bool is_complex = false;
  std::vector<std::complex<double>> signal;                // y: kMinSamples .. kMaxSamples
  std::vector<std::vector<std::complex<double>>> columns;  // 0 .. kMaxFixedColumns, each of N
};

// One sinusoid; the axis is its frequency in Hz. InvalidArgument names what is out of range: sizes,
// or a sample that is not finite, "columns[1][5] inf".
absl::StatusOr<FunctionalPtr> MakeSinusoids(Observation observation);

// 2 .. kMaxSinusoids of them, one an axis, for searches on `grid` alone: each axis' correlations
// are made here, and a point of the grid needs but those of its coordinates. In float64 whatever
// the precision; there is no literal method. InvalidArgument as above, and where the axes' points,
// the samples and the columns are too many to prepare: kMaxTableBytes, kMaxTableOperations. That
// takes up to seconds; `may_continue` is asked for every 64 points, and ends it with what it says
// other than OK.
absl::StatusOr<FunctionalPtr> MakeManySinusoids(Observation observation, const Grid& grid,
                                                const ContinueCheck& may_continue = nullptr);
inline constexpr int64_t kMaxTableBytes = int64_t{8} << 20;       // 16 a point of an axis and row
inline constexpr int64_t kMaxTableOperations = int64_t{1} << 32;  // samples times those

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_SINUSOIDS_H_
