// Vectors and symmetric matrices of at most kMaxAxes rows. Internal to minimize/.
#ifndef BASEBAND_KERNELS_MINIMIZE_SEARCH_SMALL_MATRIX_H_
#define BASEBAND_KERNELS_MINIMIZE_SEARCH_SMALL_MATRIX_H_

#include <array>
#include <cmath>
#include <cstddef>

#include "kernels/minimize/grid.h"

namespace baseband::minimize {

using Vector = std::array<double, kMaxAxes>;
using Matrix = std::array<Vector, kMaxAxes>;

// a = l l' of the first n rows.
class Cholesky {
 public:
  Cholesky(Matrix a, size_t n) : l_(a), n_(n) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        double sum = l_[i][j];
        for (size_t k = 0; k < j; ++k) sum -= l_[i][k] * l_[j][k];
        if (i > j) {
          l_[i][j] = sum / l_[j][j];
        } else if (sum > 0.0) {
          l_[i][i] = std::sqrt(sum);
        } else {
          is_positive_ = false;
          return;
        }
      }
    }
  }

  // Whether `a` is positive definite; the rest is for those that are.
  bool is_positive() const { return is_positive_; }
  Vector Solve(Vector x) const {
    for (size_t i = 0; i < n_; ++i) {
      for (size_t k = 0; k < i; ++k) x[i] -= l_[i][k] * x[k];
      x[i] /= l_[i][i];
    }
    for (size_t i = n_; i-- > 0;) {
      for (size_t k = i + 1; k < n_; ++k) x[i] -= l_[k][i] * x[k];
      x[i] /= l_[i][i];
    }
    return x;
  }

 private:
  Matrix l_;
  size_t n_;
  bool is_positive_ = true;
};

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_SEARCH_SMALL_MATRIX_H_
