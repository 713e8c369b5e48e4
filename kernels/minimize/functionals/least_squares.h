// Least squares at one point, as well as it can be computed: columns made orthonormal one by one,
// the residual as a sum of squares. Internal to minimize/; nothing here is fast.
#ifndef BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_LEAST_SQUARES_H_
#define BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_LEAST_SQUARES_H_

#include <complex>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "kernels/minimize/functionals/sinusoids_data.h"

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

// exp(j 2 pi turns t), t = n - (num_samples - 1) / 2.
Column Wave(size_t num_samples, double turns);

// What `column` leaves of `signal` at its best amplitude: |signal - a column|^2.
double RestOf(const Column& column, Column signal);

// The Cramer-Rao bounds of the parameters of a model whose derivatives by them, projected on what
// its columns do not span, are `derivatives`: the Fisher information is Re(d_i' d_j) / v. v, the
// variance of one real observation, is estimated from `rest`, what the model leaves of the signal,
// of which num_columns real or complex amplitudes were taken. Not known with too few observations.
NoiseBound BoundOf(bool is_complex, int num_columns, absl::Span<const Column> derivatives,
                   const Column& rest);

// What sinusoids of these frequencies, in Hz, leave of the signal in `rows` (sinusoids_data.h).
double LeastSquaresAt(const SinusoidsShape& shape, absl::Span<const double> rows,
                      absl::Span<const double> frequencies);

// The bounds of the frequencies there, all amplitudes being unknown as well. For one sinusoid
// without fixed columns, far from 0 Hz, that is the textbook's 24 v / (A^2 N (N^2 - 1) (2 pi
// Ts)^2).
absl::StatusOr<NoiseBound> DeviationAt(const SinusoidsShape& shape, absl::Span<const double> rows,
                                       absl::Span<const double> frequencies,
                                       const ContinueCheck& may_continue);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_LEAST_SQUARES_H_
