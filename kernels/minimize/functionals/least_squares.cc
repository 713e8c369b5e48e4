#include "kernels/minimize/functionals/least_squares.h"

#include <array>
#include <cmath>

#include "kernels/base/status_macros.h"
#include "kernels/minimize/functionals/sinusoids_math.h"

namespace baseband::minimize {
namespace {

using Complex = std::complex<double>;

// a' b
Complex Dot(const Column& a, const Column& b) {
  double re = 0.0;
  double im = 0.0;
  for (size_t n = 0; n < a.size(); ++n) {
    re += a[n].real() * b[n].real() + a[n].imag() * b[n].imag();
    im += a[n].real() * b[n].imag() - a[n].imag() * b[n].real();
  }
  return {re, im};
}

Column FromRows(const SinusoidsShape& shape, absl::Span<const double> rows, int column) {
  const auto size = static_cast<size_t>(shape.num_samples);
  const size_t stride = shape.is_complex ? 2 * size : size;
  Column out(size);
  for (size_t n = 0; n < size; ++n) {
    const size_t at = static_cast<size_t>(column) * stride + n;
    out[n] = {rows[at], shape.is_complex ? rows[at + size] : 0.0};
  }
  return out;
}

Basis FixedColumns(const SinusoidsShape& shape, absl::Span<const double> rows) {
  Basis basis;
  for (int k = 1; k <= shape.num_columns; ++k) basis.AddUnit(FromRows(shape, rows, k));
  return basis;
}

// The added columns of one sinusoid.
std::vector<Column> AddedColumns(const SinusoidsShape& shape, double frequency) {
  const auto size = static_cast<size_t>(shape.num_samples);
  Column wave = Wave(size, frequency * shape.sampling_interval_s);
  if (shape.is_complex) return {std::move(wave)};
  Column sine(size);
  for (size_t n = 0; n < size; ++n) {
    sine[n] = wave[n].imag();
    wave[n] = wave[n].real();
  }
  return {std::move(wave), std::move(sine)};
}

// Adds amplitude * (the derivative of added column i by the frequency) to *derivative.
void AddDerivative(const SinusoidsShape& shape, const std::vector<Column>& added, size_t i,
                   Complex amplitude, Column* derivative) {
  for (size_t n = 0; n < derivative->size(); ++n) {
    const double t = static_cast<double>(n) - 0.5 * static_cast<double>(derivative->size() - 1);
    const double rate = kTwoPi * shape.sampling_interval_s * t;
    // d cos = -sin, d sin = cos, d exp(j ..) = j exp(j ..)
    const Complex turned = added.size() == 1 ? Complex(0.0, 1.0) * added[0][n]
                           : i == 0          ? -added[1][n]
                                             : added[0][n];
    (*derivative)[n] += amplitude * rate * turned;
  }
}

using Matrix = std::array<std::array<double, kMaxAxes>, kMaxAxes>;

// The diagonal of the inverse of a positive definite matrix, by Gauss and Jordan. Infinite or not a
// number where it is singular.
Coordinates DiagonalOfInverse(Matrix a, size_t n) {
  Matrix inverse{};
  for (size_t i = 0; i < n; ++i) inverse[i][i] = 1.0;
  for (size_t i = 0; i < n; ++i) {
    const double scale = 1.0 / a[i][i];
    for (size_t k = 0; k < n; ++k) a[i][k] *= scale, inverse[i][k] *= scale;
    for (size_t j = 0; j < n; ++j) {
      if (j == i) continue;
      const double factor = a[j][i];
      for (size_t k = 0; k < n; ++k) {
        a[j][k] -= factor * a[i][k];
        inverse[j][k] -= factor * inverse[i][k];
      }
    }
  }
  Coordinates diagonal{};
  for (size_t i = 0; i < n; ++i) diagonal[i] = inverse[i][i];
  return diagonal;
}

}  // namespace

Column Wave(size_t num_samples, double turns) {
  Column wave(num_samples);
  for (size_t n = 0; n < num_samples; ++n) {
    const double t = static_cast<double>(n) - 0.5 * static_cast<double>(num_samples - 1);
    const double phase = turns * t;
    const double error = std::fma(turns, t, -phase);
    const double rest = kTwoPi * ((phase - std::nearbyint(phase)) + error);
    wave[n] = {std::cos(rest), std::sin(rest)};
  }
  return wave;
}

double Energy(const Column& a) { return Dot(a, a).real(); }

void Basis::Add(Column column) {
  const double before = Energy(column);
  Remove(&column);
  const double energy = Energy(column);
  if (!(energy > RankTolerance<double>::kValue * before)) return;
  const double scale = 1.0 / std::sqrt(energy);
  for (Complex& x : column) x *= scale;
  units_.push_back(std::move(column));
}

void Basis::Remove(Column* x) const {
  // Twice is enough (Kahan; Parlett 1980).
  for (int pass = 0; pass < 2; ++pass) {
    for (const Column& unit : units_) {
      const Complex along = Dot(unit, *x);
      for (size_t n = 0; n < x->size(); ++n) (*x)[n] -= along * unit[n];
    }
  }
}

double RestOf(const Column& column, Column signal) {
  Basis basis;
  basis.Add(column);
  basis.Remove(&signal);
  return Energy(signal);
}

NoiseBound BoundOf(bool is_complex, int num_columns, absl::Span<const Column> derivatives,
                   const Column& rest) {
  NoiseBound bound;
  const size_t count = derivatives.size();
  const double parts = is_complex ? 2.0 : 1.0;
  const double parameters = parts * num_columns + static_cast<double>(count);
  const double observations = parts * static_cast<double>(rest.size());
  if (!(observations > parameters)) return bound;
  Matrix products{};
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) products[i][j] = Dot(derivatives[i], derivatives[j]).real();
  }
  const Coordinates inverse = DiagonalOfInverse(products, count);
  const double variance = Energy(rest) / (observations - parameters);
  for (size_t i = 0; i < count; ++i) bound.deviation[i] = std::sqrt(inverse[i] * variance);
  bound.known = true;
  bound.noise_variance = parts * variance;
  return bound;
}

double LeastSquaresAt(const SinusoidsShape& shape, absl::Span<const double> rows,
                      absl::Span<const double> frequencies) {
  Column signal = FromRows(shape, rows, 0);
  Basis basis = FixedColumns(shape, rows);
  for (const double frequency : frequencies) {
    for (Column& column : AddedColumns(shape, frequency)) basis.Add(std::move(column));
  }
  basis.Remove(&signal);
  return Energy(signal);
}

absl::StatusOr<NoiseBound> DeviationAt(const SinusoidsShape& shape, absl::Span<const double> rows,
                                       absl::Span<const double> frequencies,
                                       const ContinueCheck& may_continue) {
  const size_t count = frequencies.size();
  Column rest = FromRows(shape, rows, 0);
  std::vector<std::vector<Column>> added;
  for (const double frequency : frequencies) added.push_back(AddedColumns(shape, frequency));
  Basis all = FixedColumns(shape, rows);
  for (const auto& of_one : added) {
    for (const Column& column : of_one) all.Add(column);
  }
  std::vector<Column> derivatives(count, Column(rest.size()));
  for (size_t f = 0; f < count; ++f) {
    for (size_t i = 0; i < added[f].size(); ++i) {
      BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
      // The amplitude: what is left of the column and of the signal without all others.
      Basis others = FixedColumns(shape, rows);
      for (size_t g = 0; g < count; ++g) {
        for (size_t j = 0; j < added[g].size(); ++j) {
          if (g != f || j != i) others.Add(added[g][j]);
        }
      }
      Column column = added[f][i];
      others.Remove(&column);
      const double energy = Energy(column);
      if (!(energy > RankTolerance<double>::kValue * Energy(added[f][i]))) continue;
      AddDerivative(shape, added[f], i, Dot(column, rest) / energy, &derivatives[f]);
    }
    all.Remove(&derivatives[f]);
  }
  all.Remove(&rest);
  const int added_columns = static_cast<int>(count) * (shape.is_complex ? 1 : 2);
  return BoundOf(shape.is_complex, shape.num_columns + added_columns, derivatives, rest);
}

}  // namespace baseband::minimize
