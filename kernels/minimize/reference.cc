#include "kernels/minimize/reference.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

namespace baseband::minimize {
namespace {

using Complex = std::complex<long double>;

// x of a x = b, by elimination with the largest pivots.
std::vector<Complex> Solve(std::vector<std::vector<Complex>> a, std::vector<Complex> b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t j = i; j < n; ++j) {
      if (std::abs(a[j][i]) > std::abs(a[pivot][i])) pivot = j;
    }
    std::swap(a[i], a[pivot]);
    std::swap(b[i], b[pivot]);
    for (size_t j = i + 1; j < n; ++j) {
      const Complex factor = a[j][i] / a[i][i];
      for (size_t k = i; k < n; ++k) a[j][k] -= factor * a[i][k];
      b[j] -= factor * b[i];
    }
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

}  // namespace

long double ReferenceSinusoids(const Observation& observation,
                               absl::Span<const double> frequencies) {
  const size_t size = observation.signal.size();
  std::vector<std::vector<Complex>> columns;
  for (const auto& column : observation.columns) columns.emplace_back(column.begin(), column.end());
  for (const double frequency : frequencies) {
    std::vector<Complex> cosine(size);
    std::vector<Complex> sine(size);
    std::vector<Complex> both(size);
    for (size_t n = 0; n < size; ++n) {
      const long double phase =
          2.0L * 3.14159265358979323846264338327950288L * static_cast<long double>(frequency) *
          static_cast<long double>(observation.sampling_interval_s) * static_cast<long double>(n);
      cosine[n] = std::cos(phase);
      sine[n] = std::sin(phase);
      both[n] = {std::cos(phase), std::sin(phase)};
    }
    if (observation.is_complex) {
      columns.push_back(both);
    } else {
      columns.push_back(cosine);
      columns.push_back(sine);
    }
  }
  std::vector<std::vector<Complex>> gram(columns.size(), std::vector<Complex>(columns.size()));
  std::vector<Complex> r(columns.size());
  Complex energy = 0;
  for (size_t n = 0; n < size; ++n) {
    const Complex y = observation.signal[n];
    energy += std::conj(y) * y;
    for (size_t i = 0; i < columns.size(); ++i) {
      r[i] += std::conj(columns[i][n]) * y;
      for (size_t j = 0; j < columns.size(); ++j) {
        gram[i][j] += std::conj(columns[i][n]) * columns[j][n];
      }
    }
  }
  const std::vector<Complex> amplitudes = Solve(gram, r);
  Complex explained = 0;
  for (size_t i = 0; i < columns.size(); ++i) explained += std::conj(r[i]) * amplitudes[i];
  return (energy - explained).real();
}

}  // namespace baseband::minimize
