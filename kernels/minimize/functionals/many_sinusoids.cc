#include <algorithm>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/minimize/cpu/search_kernels_cpu.h"
#include "kernels/minimize/functionals/least_squares.h"
#include "kernels/minimize/functionals/many_sinusoids_data.h"

namespace baseband::minimize {

absl::StatusOr<FunctionalPtr> MakeManySinusoids(Observation observation, const Grid& grid) {
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
  return FunctionalPtr(std::make_shared<const ManySinusoidsFunctional>(observation, grid));
}

ManySinusoidsFunctional::ManySinusoidsFunctional(const Observation& observation, const Grid& grid)
    : one_(observation), grid_(grid) {
  const auto rows = static_cast<size_t>(shape().num_rows());
  alignas(64) double turns[kCorrelated];
  alignas(64) double c[static_cast<size_t>(kMaxRows) * kCorrelated];
  alignas(64) double s[static_cast<size_t>(kMaxRows) * kCorrelated];
  CorrelateTask<double> correlate;
  correlate.rows = one_.Rows<double>().data();
  correlate.num_rows = rows;
  correlate.num_samples = static_cast<size_t>(shape().num_samples);
  correlate.turns = turns;
  correlate.c = c;
  correlate.s = s;
  for (int k = 0; k < grid.num_axes(); ++k) {
    task_.axis_offset[k] = static_cast<long long>(table_.size() / (2 * rows));
    const Axis& axis = grid.axis(k);
    for (int64_t first = 0; first < axis.count; first += static_cast<int64_t>(correlate.count)) {
      correlate.count = static_cast<size_t>(
          std::min<int64_t>(static_cast<int64_t>(kCorrelated), axis.count - first));
      for (size_t i = 0; i < correlate.count; ++i) {
        turns[i] = axis.At(first + static_cast<int64_t>(i)) * shape().sampling_interval_s;
      }
      SearchKernelsOfThisProcessor<double>().correlate(correlate);
      for (size_t i = 0; i < correlate.count; ++i) {
        for (size_t r = 0; r < rows; ++r) {
          table_.push_back(c[r * kCorrelated + i]);
          table_.push_back(s[r * kCorrelated + i]);
        }
      }
    }
  }
  task_.table = table_.data();
  task_.num_columns = shape().num_columns;
  task_.is_complex = shape().is_complex;
  task_.num_samples = static_cast<double>(shape().num_samples);
  task_.energy = shape().energy;
}

absl::Status ManySinusoidsFunctional::Check(const Grid& grid, Method method) const {
  bool same = grid.num_axes() == grid_.num_axes();
  for (int k = 0; same && k < grid.num_axes(); ++k) {
    same = grid.axis(k).begin == grid_.axis(k).begin && grid.axis(k).step == grid_.axis(k).step &&
           grid.axis(k).count == grid_.axis(k).count;
  }
  if (!same) return absl::InvalidArgumentError("several sinusoids were prepared for another grid");
  if (method == Method::kLiteral) {
    return absl::InvalidArgumentError("the literal method is for one sinusoid");
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
  const auto stride = static_cast<long long>(2 * shape().num_rows());
  Indices indices = grid_.IndicesOf(run.first);
  const double* at[kMaxSinusoids] = {};
  double turns[kMaxSinusoids] = {};
  const auto move = [&](size_t k) {
    at[k] = task_.table + (task_.axis_offset[k] + indices[k]) * stride;
    turns[k] = grid_.axis(static_cast<int>(k)).At(indices[k]) * shape().sampling_interval_s;
  };
  for (size_t k = 0; k < num_axes; ++k) move(k);
  for (size_t i = 0; i < run.count; ++i) {
    run.values[i] = static_cast<T>(num_axes == 2 ? ValueOfMany<2>(task_, at, turns)
                                                 : ValueOfMany<3>(task_, at, turns));
    for (size_t k = num_axes; k-- > 0;) {
      const bool carry = ++indices[k] == grid_.axis(static_cast<int>(k)).count;
      if (carry) indices[k] = 0;
      move(k);
      if (!carry) break;
    }
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

NoiseBound ManySinusoidsFunctional::Deviation(const Coordinates& x) const {
  return DeviationAt(shape(), one_.Rows<double>(),
                     absl::MakeSpan(x.data(), static_cast<size_t>(grid_.num_axes())));
}

}  // namespace baseband::minimize
