// Least squares at one point, as well as it can be computed: columns made orthonormal one by one,
// the residual as a sum of squares. Internal to minimize/; nothing here is fast.
#ifndef BASEBAND_KERNELS_MINIMIZE_LEAST_SQUARES_H_
#define BASEBAND_KERNELS_MINIMIZE_LEAST_SQUARES_H_

#include <complex>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "kernels/minimize/sinusoids_data.h"

namespace baseband::minimize {

using Column = std::vector<std::complex<double>>;

double Energy(const Column& a);

// An orthonormal basis of columns.
class Basis {
 public:
  // Leaves out a column that depends on the others.
  void Add(Column column);
  // Already orthonormal.
  void AddUnit(Column unit) { units_.push_back(std::move(unit)); }
  // Takes from *x what is along the basis.
  void Remove(Column* x) const;
  const std::vector<Column>& units() const { return units_; }

 private:
  std::vector<Column> units_;
};

// What sinusoids of these frequencies, in Hz, leave of the signal in `rows` (sinusoids_data.h).
double LeastSquaresAt(const SinusoidsShape& shape, absl::Span<const double> rows,
                      absl::Span<const double> frequencies);

// The Cramer-Rao bounds of the frequencies there, all amplitudes being unknown as well. The Fisher
// information is Re(d_i' P d_j) / v, v the variance of one real observation, d_i the derivative of
// the model by frequency i, P projecting out all columns. For one sinusoid without fixed columns,
// far from 0 Hz, that is the textbook's 24 v / (A^2 N (N^2 - 1) (2 pi Ts)^2).
NoiseBound DeviationAt(const SinusoidsShape& shape, absl::Span<const double> rows,
                       absl::Span<const double> frequencies);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_LEAST_SQUARES_H_
