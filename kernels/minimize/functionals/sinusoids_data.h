// What separable least squares computes once from an observation. Internal to minimize/.
#ifndef BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_SINUSOIDS_DATA_H_
#define BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_SINUSOIDS_DATA_H_

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kernels/minimize/functional.h"
#include "kernels/minimize/sinusoids.h"

namespace baseband::minimize {

// Correlations are made with real rows: the signal and the basis, or both parts of each.
inline constexpr int kMaxRows = 2 * (1 + kMaxFixedColumns);
// A cell with fewer points is not worth its polynomials.
inline constexpr int64_t kMinCellPoints = 32;

struct SinusoidsShape {
  bool is_complex = false;
  int num_columns = 0;  // of the basis: linearly independent ones
  int64_t num_samples = 0;
  double sampling_interval_s = 1.0;
  double energy = 0.0;  // of the signal, the fixed columns projected out

  int num_rows() const { return (is_complex ? 2 : 1) * (1 + num_columns); }
};

// How the points of a one-dimensional grid fall into cells: cell c has points [c * points, (c + 1)
// * points), its centre is begin + step * (c * points + (points - 1) / 2).
struct Cells {
  int64_t points = 0;  // a power of two
  int64_t count = 0;   // of cells
  double scale = 0.0;  // x = scale * (point - centre), in points
  bool is_dense = false;

  double Centre(int64_t cell) const {  // in points; exact
    return static_cast<double>(cell * points) + 0.5 * static_cast<double>(points - 1);
  }
};
Cells CellsOf(const SinusoidsShape& shape, const Axis& axis);

// As MakeSinusoids.
absl::Status CheckObservation(const Observation& observation);
// InvalidArgument: `samples`, called `name`, are not `size`, or not all finite: names the first
// that is not, and its value.
absl::Status CheckSamples(absl::string_view name, absl::Span<const std::complex<double>> samples,
                          size_t size);

// Operations a point whose frequency is a coordinate of `axis`, the rows being given: by phasors,
// or by cells.
double HoistedCost(const SinusoidsShape& shape);
double CellsCost(const SinusoidsShape& shape, const Axis& axis);

class SinusoidsFunctional final : public Functional {
 public:
  explicit SinusoidsFunctional(const Observation& observation);

  FunctionalKind kind() const override { return FunctionalKind::kSinusoids; }
  absl::Status Check(const Grid& grid, Method method) const override;
  double Cost(const Grid& grid, Method method) const override;
  int64_t HostBytes() const override;
  int64_t GpuScratchBytes(const Grid& grid, Method method, int64_t count) const override;
  void Evaluate(const Run<float>& run, CpuWorkspace* workspace) const override;
  void Evaluate(const Run<double>& run, CpuWorkspace* workspace) const override;
  double At(const Coordinates& x) const override;
  int AtOnce() const override { return kMaxAtOnce; }
  void AtMany(const Coordinates* x, int count, double* values) const override;
  double Lobe(int axis) const override;
  absl::StatusOr<NoiseBound> Deviation(const Coordinates& x,
                                       const ContinueCheck& may_continue) const override;

  const SinusoidsShape& shape() const { return shape_; }
  // [num_rows][num_samples]: the signal and the basis, the fixed columns projected out.
  template <typename T>
  absl::Span<const T> Rows() const;
  // [1 + fixed columns][num_samples], as observed; real signals only.
  template <typename T>
  absl::Span<const T> Literal() const;
  int num_fixed() const { return num_fixed_; }
  bool UsesCells(const Grid& grid, Method method) const;

 private:
  template <typename T>
  void EvaluateAs(const Run<T>& run, CpuWorkspace* workspace) const;

  SinusoidsShape shape_;
  int num_fixed_ = 0;
  std::vector<double> rows_;
  std::vector<float> rows_float_;
  std::vector<double> literal_;
  std::vector<float> literal_float_;
};

// As published, for `count` points of a row: kernels of the table, not for speed.
template <typename T>
void EvaluateLiteral(const SinusoidsFunctional& functional, const Run<T>& run);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_SINUSOIDS_DATA_H_
