#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/minimize/cpu/search_kernels_cpu.h"
#include "kernels/minimize/functionals/least_squares.h"
#include "kernels/minimize/functionals/many_sinusoids_data.h"

namespace baseband::minimize {

absl::StatusOr<FunctionalPtr> MakeManySinusoids(Observation observation, const Grid& grid,
                                                const ContinueCheck& may_continue) {
  BASEBAND_RETURN_IF_ERROR(CheckObservation(observation));
  if (grid.num_axes() < 2 || grid.num_axes() > kMaxSinusoids) {
    return absl::InvalidArgumentError(
        absl::StrCat("number of axes ", grid.num_axes(), " is not in [2, ", kMaxSinusoids, "]"));
  }
  const auto rows =
      static_cast<int64_t>((observation.columns.size() + 1) * (observation.is_complex ? 2 : 1));
  int64_t points = 0;  // of all axes; sums of counts up to 2^40 fit
  for (int k = 0; k < grid.num_axes(); ++k) points += grid.axis(k).count;
  if (points > kMaxTableBytes / (16 * rows)) {
    return absl::InvalidArgumentError(absl::StrCat("the axes have ", points, " points together, ",
                                                   rows, " correlations each: more than ",
                                                   kMaxTableBytes, " bytes"));
  }
  const auto samples = static_cast<int64_t>(observation.signal.size());
  if (points * rows > kMaxTableOperations / samples) {
    return absl::InvalidArgumentError(
        absl::StrCat("the axes have ", points, " points together, ", rows, " correlations of ",
                     samples, " samples each: more than ", kMaxTableOperations, " operations"));
  }
  auto functional = std::make_shared<ManySinusoidsFunctional>(observation, grid);
  BASEBAND_RETURN_IF_ERROR(functional->MakeTable(may_continue));
  return FunctionalPtr(std::move(functional));
}

ManySinusoidsFunctional::ManySinusoidsFunctional(const Observation& observation, const Grid& grid)
    : one_(observation), grid_(grid) {
  task_.num_columns = shape().num_columns;
  task_.is_complex = shape().is_complex;
  task_.num_samples = static_cast<double>(shape().num_samples);
  task_.energy = shape().energy;
}

absl::Status ManySinusoidsFunctional::MakeTable(const ContinueCheck& may_continue) {
  int64_t points = 0;
  for (int k = 0; k < grid_.num_axes(); ++k) points += grid_.axis(k).count;
  table_.reserve(static_cast<size_t>(points * RowStride()));
  alignas(64) double turns[kCorrelated];
  for (int k = 0; k < grid_.num_axes(); ++k) {
    task_.axis_offset[k] = static_cast<long long>(table_.size()) / RowStride();
    const Axis& axis = grid_.axis(k);
    for (int64_t first = 0; first < axis.count;) {
      BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
      const int64_t count = std::min(static_cast<int64_t>(kCorrelated), axis.count - first);
      for (int64_t i = 0; i < count; ++i) {
        turns[i] = axis.At(first + i) * shape().sampling_interval_s;
      }
      AppendCorrelations(turns, static_cast<size_t>(count), &table_);
      first += count;
    }
  }
  task_.table = table_.data();
  return absl::OkStatus();
}

void ManySinusoidsFunctional::AppendCorrelations(const double* turns, size_t count,
                                                 std::vector<double>* table) const {
  alignas(64) double c[static_cast<size_t>(kMaxRows) * kCorrelated];
  alignas(64) double s[static_cast<size_t>(kMaxRows) * kCorrelated];
  CorrelateTask<double> correlate;
  correlate.rows = one_.Rows<double>().data();
  correlate.num_rows = static_cast<size_t>(shape().num_rows());
  correlate.num_samples = static_cast<size_t>(shape().num_samples);
  correlate.turns = turns;
  correlate.count = count;
  correlate.c = c;
  correlate.s = s;
  SearchKernelsOfThisProcessor<double>().correlate(correlate);
  for (size_t i = 0; i < count; ++i) {
    for (size_t r = 0; r < correlate.num_rows; ++r) {
      table->push_back(c[r * kCorrelated + i]);
      table->push_back(s[r * kCorrelated + i]);
    }
  }
}

absl::Status ManySinusoidsFunctional::Check(const Grid& grid, Method method) const {
  bool same = grid.num_axes() == grid_.num_axes();
  for (int k = 0; same && k < grid.num_axes(); ++k) {
    same = grid.axis(k).begin == grid_.axis(k).begin && grid.axis(k).step == grid_.axis(k).step &&
           grid.axis(k).count == grid_.axis(k).count;
  }
  if (!same) return absl::InvalidArgumentError("several sinusoids were prepared for another grid");
  if (method == Method::kLiteral) {
    return absl::InvalidArgumentError("method: the literal one is for one sinusoid");
  }
  return absl::OkStatus();
}

double ManySinusoidsFunctional::Cost(const Grid& grid, Method /*method*/) const {
  const double pairs = 0.5 * grid.num_axes() * (grid.num_axes() + 1);
  return pairs * (200.0 + 8.0 * shape().num_columns);
}

template <typename T>
void ManySinusoidsFunctional::EvaluateAs(const Run<T>& run) const {
  const auto num_axes = static_cast<size_t>(grid_.num_axes());
  const long long stride = RowStride();
  Indices indices = grid_.IndicesOf(run.first);
  const double* at[kMaxSinusoids] = {};
  double turns[kMaxSinusoids] = {};
  const auto move = [&](size_t k) {
    at[k] = task_.table + (task_.axis_offset[k] + indices[k]) * stride;
    turns[k] = grid_.axis(static_cast<int>(k)).At(indices[k]) * shape().sampling_interval_s;
  };
  for (size_t k = 0; k < num_axes; ++k) move(k);
  for (size_t i = 0; i < run.count; ++i) {
    run.values[i] = static_cast<T>(ValueOf(at, turns));
    for (size_t k = num_axes; k-- > 0;) {
      const bool carry = ++indices[k] == grid_.axis(static_cast<int>(k)).count;
      if (carry) indices[k] = 0;
      move(k);
      if (!carry) break;
    }
  }
}

double ManySinusoidsFunctional::ValueOf(const double* const* at, const double* turns) const {
  return grid_.num_axes() == 2 ? ValueOfMany<2>(task_, at, turns)
                               : ValueOfMany<3>(task_, at, turns);
}

void ManySinusoidsFunctional::AtMany(const Coordinates* x, int count, double* values) const {
  static_assert(kMaxAtOnce * kMaxSinusoids <= kCorrelated, "all of them at once");
  const auto num_axes = static_cast<size_t>(grid_.num_axes());
  alignas(64) double turns[kCorrelated];
  for (size_t i = 0; i < static_cast<size_t>(count) * num_axes; ++i) {
    turns[i] = x[i / num_axes][i % num_axes] * shape().sampling_interval_s;
  }
  std::vector<double> table;
  AppendCorrelations(turns, static_cast<size_t>(count) * num_axes, &table);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const double* at[kMaxSinusoids] = {};
    for (size_t k = 0; k < num_axes; ++k) {
      at[k] = table.data() + static_cast<long long>(i * num_axes + k) * RowStride();
    }
    values[i] = ValueOf(at, turns + i * num_axes);
  }
}

void ManySinusoidsFunctional::Evaluate(const Run<float>& run, CpuWorkspace* /*workspace*/) const {
  EvaluateAs(run);
}
void ManySinusoidsFunctional::Evaluate(const Run<double>& run, CpuWorkspace* /*workspace*/) const {
  EvaluateAs(run);
}

double ManySinusoidsFunctional::At(const Coordinates& x) const {
  return LeastSquaresAt(shape(), one_.Rows<double>(),
                        absl::MakeSpan(x.data(), static_cast<size_t>(grid_.num_axes())));
}

absl::StatusOr<NoiseBound> ManySinusoidsFunctional::Deviation(
    const Coordinates& x, const ContinueCheck& may_continue) const {
  return DeviationAt(shape(), one_.Rows<double>(),
                     absl::MakeSpan(x.data(), static_cast<size_t>(grid_.num_axes())), may_continue);
}

}  // namespace baseband::minimize
