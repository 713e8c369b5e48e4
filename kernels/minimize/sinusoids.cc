#include "kernels/minimize/sinusoids.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/minimize/sinusoids_data.h"
#include "kernels/minimize/sinusoids_math.h"

namespace baseband::minimize {
namespace {

using Complex = std::complex<double>;
using Column = std::vector<Complex>;

absl::Status CheckColumn(const char* name, size_t index, const Column& column, size_t size) {
  if (column.size() != size) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " ", index, " has ", column.size(), " samples, the signal ", size));
  }
  for (const Complex& x : column) {
    if (!std::isfinite(x.real()) || !std::isfinite(x.imag())) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " ", index, " is not finite everywhere"));
    }
  }
  return absl::OkStatus();
}

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

double Energy(const Column& a) { return Dot(a, a).real(); }

// Takes from `x` what is along `unit`, and returns how much that was.
Complex Project(const Column& unit, Column* x) {
  const Complex along = Dot(unit, *x);
  for (size_t n = 0; n < x->size(); ++n) (*x)[n] -= along * unit[n];
  return along;
}

// An orthonormal basis of columns, and what each column was made of.
class Basis {
 public:
  // Leaves out a column that depends on the others; returns its index in the basis, or -1.
  int Add(Column column) {
    const double before = Energy(column);
    // Twice is enough (Kahan; Parlett 1980).
    for (int pass = 0; pass < 2; ++pass) {
      for (const Column& unit : units_) Project(unit, &column);
    }
    const double energy = Energy(column);
    if (!(energy > RankTolerance<double>::kValue * before)) return -1;
    const double scale = 1.0 / std::sqrt(energy);
    for (Complex& x : column) x *= scale;
    units_.push_back(std::move(column));
    return static_cast<int>(units_.size()) - 1;
  }
  // Already orthonormal.
  void AddUnit(Column unit) { units_.push_back(std::move(unit)); }
  void Remove(Column* x) const {
    for (int pass = 0; pass < 2; ++pass) {
      for (const Column& unit : units_) Project(unit, x);
    }
  }
  const std::vector<Column>& units() const { return units_; }

 private:
  std::vector<Column> units_;
};

// exp(j 2 pi turns t)
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

}  // namespace

absl::StatusOr<FunctionalPtr> MakeSinusoids(Observation observation) {
  const auto size = static_cast<int64_t>(observation.signal.size());
  if (size < kMinSamples || size > kMaxSamples) {
    return absl::InvalidArgumentError(absl::StrCat("number of samples ", size, " is not in [",
                                                   kMinSamples, ", ", kMaxSamples, "]"));
  }
  if (observation.columns.size() > kMaxFixedColumns) {
    return absl::InvalidArgumentError(absl::StrCat("number of columns ", observation.columns.size(),
                                                   " is not in [0, ", kMaxFixedColumns, "]"));
  }
  if (!(observation.sampling_interval_s > 0.0) || !std::isfinite(observation.sampling_interval_s)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sampling_interval_s ", observation.sampling_interval_s, " is not above 0 and finite"));
  }
  BASEBAND_RETURN_IF_ERROR(CheckColumn("signal", 0, observation.signal, observation.signal.size()));
  for (size_t i = 0; i < observation.columns.size(); ++i) {
    BASEBAND_RETURN_IF_ERROR(
        CheckColumn("column", i, observation.columns[i], observation.signal.size()));
  }
  return FunctionalPtr(std::make_shared<const SinusoidsFunctional>(observation));
}

Cells CellsOf(const SinusoidsShape& shape, const Axis& axis) {
  Cells cells;
  const double lobe = static_cast<double>(shape.num_samples) * shape.sampling_interval_s;
  const double width = 0.5 / (lobe * std::abs(axis.step));  // points
  cells.points = 1;
  while (cells.points * 2 <= axis.count * 2 && static_cast<double>(cells.points * 2) <= width) {
    cells.points *= 2;
  }
  cells.scale = 0.5 * kTwoPi * lobe * axis.step;
  cells.is_dense = cells.points >= kMinCellPoints;
  return cells;
}

SinusoidsFunctional::SinusoidsFunctional(const Observation& observation) {
  const size_t size = observation.signal.size();
  num_fixed_ = static_cast<int>(observation.columns.size());
  shape_.is_complex = observation.is_complex;
  shape_.num_samples = static_cast<int64_t>(size);
  shape_.sampling_interval_s = observation.sampling_interval_s;
  const auto clean = [&](Column column) {
    if (!observation.is_complex) {
      for (Complex& x : column) x = x.real();
    }
    return column;
  };
  Basis basis;
  for (const Column& column : observation.columns) basis.Add(clean(column));
  Column signal = clean(observation.signal);
  basis.Remove(&signal);
  shape_.num_columns = static_cast<int>(basis.units().size());
  shape_.energy = Energy(signal);

  const auto append = [&](const Column& column, bool both, std::vector<double>* to) {
    for (const Complex& x : column) to->push_back(x.real());
    if (!both) return;
    for (const Complex& x : column) to->push_back(x.imag());
  };
  append(signal, shape_.is_complex, &rows_);
  for (const Column& unit : basis.units()) append(unit, shape_.is_complex, &rows_);
  if (!shape_.is_complex) {
    append(observation.signal, false, &literal_);
    for (const Column& column : observation.columns) append(column, false, &literal_);
  }
  rows_float_.assign(rows_.begin(), rows_.end());
  literal_float_.assign(literal_.begin(), literal_.end());
}

template <>
absl::Span<const double> SinusoidsFunctional::Rows<double>() const {
  return rows_;
}
template <>
absl::Span<const float> SinusoidsFunctional::Rows<float>() const {
  return rows_float_;
}
template <>
absl::Span<const double> SinusoidsFunctional::Literal<double>() const {
  return literal_;
}
template <>
absl::Span<const float> SinusoidsFunctional::Literal<float>() const {
  return literal_float_;
}

absl::Status SinusoidsFunctional::Check(const Grid& grid, Method method) const {
  if (grid.num_axes() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("number of axes ", grid.num_axes(), " is not 1, the frequency"));
  }
  if (method == Method::kLiteral && shape_.is_complex) {
    return absl::InvalidArgumentError("the literal method is for real signals");
  }
  return absl::OkStatus();
}

bool SinusoidsFunctional::UsesCells(const Grid& grid, Method method) const {
  return method == Method::kFast && CellsOf(shape_, grid.axis(0)).is_dense;
}

double SinusoidsFunctional::Cost(const Grid& grid, Method method) const {
  const auto samples = static_cast<double>(shape_.num_samples);
  const double rows = shape_.num_rows();
  if (method == Method::kLiteral) {
    const double columns = num_fixed_ + 2;
    return samples * (30.0 + columns * (columns + 3.0) / 2.0);
  }
  if (UsesCells(grid, method)) {
    const double cell_points = static_cast<double>(CellsOf(shape_, grid.axis(0)).points);
    return 100.0 + 2.0 * kCellTerms * rows +
           samples * (20.0 + 4.0 * kCellTerms * rows) / cell_points;
  }
  return samples * (6.0 + 2.0 * rows);
}

int64_t SinusoidsFunctional::GpuScratchBytes(const Grid& grid, Method method, int64_t count) const {
  if (!UsesCells(grid, method)) return 0;
  const int64_t cells = count / CellsOf(shape_, grid.axis(0)).points + 2;
  return cells * shape_.num_rows() * kCellTerms * int64_t{2 * sizeof(double)};
}

double SinusoidsFunctional::Scale(int /*axis*/) const {
  return 1.0 / (static_cast<double>(shape_.num_samples) * shape_.sampling_interval_s);
}

namespace {

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

// The added columns of one sinusoid.
std::vector<Column> AddedColumns(const SinusoidsShape& shape, double frequency) {
  const double turns = frequency * shape.sampling_interval_s;
  const auto size = static_cast<size_t>(shape.num_samples);
  Column wave = Wave(size, turns);
  if (shape.is_complex) return {std::move(wave)};
  Column sine(size);
  for (size_t n = 0; n < size; ++n) {
    sine[n] = wave[n].imag();
    wave[n] = wave[n].real();
  }
  return {std::move(wave), std::move(sine)};
}

}  // namespace

double SinusoidsFunctional::At(const Coordinates& x) const {
  Column signal = FromRows(shape_, rows_, 0);
  Basis basis;
  for (int k = 1; k <= shape_.num_columns; ++k) basis.AddUnit(FromRows(shape_, rows_, k));
  for (Column& column : AddedColumns(shape_, x[0])) basis.Add(std::move(column));
  basis.Remove(&signal);
  return Energy(signal);
}

// The Fisher information of the frequency when the amplitudes are unknown as well is
// |P d|^2 / variance for real noise, twice that for complex noise of that variance (both parts),
// d = derivative of the model by the frequency, P projecting out all columns. Without fixed columns
// and far from 0 Hz that is the textbook's 24 variance / (A^2 N (N^2 - 1) (2 pi Ts)^2).
NoiseBound SinusoidsFunctional::Deviation(const Coordinates& x) const {
  NoiseBound bound;
  const std::vector<Column> added = AddedColumns(shape_, x[0]);
  const auto parameters = static_cast<double>(
      (shape_.is_complex ? 2 : 1) * (shape_.num_columns + static_cast<int>(added.size())) + 1);
  const double observations = static_cast<double>(shape_.num_samples) * (shape_.is_complex ? 2 : 1);
  if (!(observations > parameters)) return bound;
  Column rest = FromRows(shape_, rows_, 0);
  Basis basis;
  for (int k = 1; k <= shape_.num_columns; ++k) basis.AddUnit(FromRows(shape_, rows_, k));
  // Amplitudes: of each added column, what is left of it and of the signal without the others.
  Column derivative(rest.size());
  for (size_t i = 0; i < added.size(); ++i) {
    Basis others = basis;
    for (size_t j = 0; j < added.size(); ++j) {
      if (j != i) others.Add(added[j]);
    }
    Column column = added[i];
    others.Remove(&column);
    const double energy = Energy(column);
    if (!(energy > RankTolerance<double>::kValue * Energy(added[i]))) continue;
    const Complex amplitude = Dot(column, rest) / energy;
    for (size_t n = 0; n < rest.size(); ++n) {
      const double t = static_cast<double>(n) - 0.5 * static_cast<double>(rest.size() - 1);
      const double rate = kTwoPi * shape_.sampling_interval_s * t;
      // d cos = -sin, d sin = cos, d exp(j ..) = j exp(j ..)
      const Complex turned = added.size() == 1 ? Complex(0.0, 1.0) * added[0][n]
                             : i == 0          ? -added[1][n]
                                               : added[0][n];
      derivative[n] += amplitude * rate * turned;
    }
  }
  for (const Column& column : added) basis.Add(column);
  basis.Remove(&rest);
  basis.Remove(&derivative);
  // Of one real observation, times two for the sum over both parts.
  bound.noise_variance = Energy(rest) / (observations - parameters);
  const double information = Energy(derivative) / bound.noise_variance;
  bound.known = true;
  bound.deviation[0] = bound.noise_variance > 0.0 ? 1.0 / std::sqrt(information) : 0.0;
  if (shape_.is_complex) bound.noise_variance *= 2.0;
  return bound;
}

}  // namespace baseband::minimize
