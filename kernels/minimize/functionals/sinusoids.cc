#include "kernels/minimize/sinusoids.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/minimize/functionals/least_squares.h"
#include "kernels/minimize/functionals/sinusoids_data.h"
#include "kernels/minimize/functionals/sinusoids_math.h"

namespace baseband::minimize {
namespace {

using Complex = std::complex<double>;

}  // namespace

absl::Status CheckSamples(absl::string_view name, absl::Span<const Complex> samples, size_t size) {
  if (samples.size() != size) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has ", samples.size(), " samples, the signal ", size));
  }
  for (size_t n = 0; n < size; ++n) {
    const Complex x = samples[n];
    if (std::isfinite(x.real()) && std::isfinite(x.imag())) continue;
    const std::string value =
        x.imag() == 0.0 ? absl::StrCat(x.real()) : absl::StrCat("(", x.real(), ", ", x.imag(), ")");
    return absl::InvalidArgumentError(absl::StrCat(name, "[", n, "] ", value, " is not finite"));
  }
  return absl::OkStatus();
}

absl::Status CheckObservation(const Observation& observation) {
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
  const size_t all = observation.signal.size();
  BASEBAND_RETURN_IF_ERROR(CheckSamples("signal", observation.signal, all));
  for (size_t i = 0; i < observation.columns.size(); ++i) {
    BASEBAND_RETURN_IF_ERROR(
        CheckSamples(absl::StrCat("columns[", i, "]"), observation.columns[i], all));
  }
  return absl::OkStatus();
}

absl::StatusOr<FunctionalPtr> MakeSinusoids(Observation observation) {
  BASEBAND_RETURN_IF_ERROR(CheckObservation(observation));
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
  cells.count = (axis.count + cells.points - 1) / cells.points;
  cells.scale = 0.5 * kTwoPi * lobe * axis.step;
  cells.is_dense = cells.points >= kMinCellPoints;
  return cells;
}

double HoistedCost(const SinusoidsShape& shape) {
  return static_cast<double>(shape.num_samples) * (6.0 + 2.0 * shape.num_rows());
}

double CellsCost(const SinusoidsShape& shape, const Axis& axis) {
  const double rows = shape.num_rows();
  return 100.0 + 2.0 * kCellTerms * rows +
         static_cast<double>(shape.num_samples) * (20.0 + 4.0 * kCellTerms * rows) /
             static_cast<double>(CellsOf(shape, axis).points);
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
    return absl::InvalidArgumentError("method: the literal one is for real signals");
  }
  return absl::OkStatus();
}

bool SinusoidsFunctional::UsesCells(const Grid& grid, Method method) const {
  return method == Method::kFast && CellsOf(shape_, grid.axis(0)).is_dense;
}

double SinusoidsFunctional::Cost(const Grid& grid, Method method) const {
  if (method == Method::kLiteral) {
    const double columns = num_fixed_ + 2;
    return static_cast<double>(shape_.num_samples) * (30.0 + columns * (columns + 3.0) / 2.0);
  }
  return UsesCells(grid, method) ? CellsCost(shape_, grid.axis(0)) : HoistedCost(shape_);
}

int64_t SinusoidsFunctional::HostBytes() const {
  return static_cast<int64_t>((rows_.size() + literal_.size()) * (sizeof(double) + sizeof(float)));
}

int64_t SinusoidsFunctional::GpuScratchBytes(const Grid& grid, Method method, int64_t count) const {
  if (!UsesCells(grid, method)) return 0;
  const int64_t cells = count / CellsOf(shape_, grid.axis(0)).points + 2;
  return cells * shape_.num_rows() * kCellTerms * int64_t{2 * sizeof(double)};
}

double SinusoidsFunctional::Lobe(int /*axis*/) const {
  return kFrequencyLobe / (static_cast<double>(shape_.num_samples) * shape_.sampling_interval_s);
}

double SinusoidsFunctional::At(const Coordinates& x) const {
  return LeastSquaresAt(shape_, rows_, absl::MakeSpan(x.data(), 1));
}

absl::StatusOr<NoiseBound> SinusoidsFunctional::Deviation(const Coordinates& x,
                                                          const ContinueCheck& may_continue) const {
  return DeviationAt(shape_, rows_, absl::MakeSpan(x.data(), 1), may_continue);
}

}  // namespace baseband::minimize
