// Matched filters on the CPU device: a row is made when its first point is, then kept.
#include <algorithm>
#include <type_traits>

#include "kernels/minimize/cpu/search_kernels_cpu.h"
#include "kernels/minimize/cpu/sinusoids_cpu.h"
#include "kernels/minimize/cpu/workspace_cpu.h"
#include "kernels/minimize/functionals/matched_data.h"

namespace baseband::minimize {

void MatchedFunctional::WriteRows(const Coordinates& x, const double* signal, double* rows) const {
  const MatchedKernels& kernels = MatchedKernelsOfThisProcessor();
  const auto size = static_cast<size_t>(shape_.num_samples);
  const double interval = shape_.sampling_interval_s;
  if (is_chirp()) {
    kernels.chirp(ChirpRatesOf(x.data(), num_axes_ - 1, interval), signal, size, rows);
    return;
  }
  const DelayPlace place = DelayPlaceOf(x[0], interval, static_cast<int>(size));
  double weights[kDelayTaps];
  for (int k = 0; k < kDelayTaps; ++k) weights[k] = DelayWeight(place, k);
  kernels.delay(place, weights, table_.data(), table_stride(), signal, size, rows);
}

template <typename T>
void MatchedFunctional::EvaluateAs(const Run<T>& run, CpuWorkspace* workspace) const {
  const Axis& frequencies = run.grid->axis(num_axes_ - 1);
  const bool uses_cells = UsesCells(*run.grid, run.method);
  const auto size = static_cast<size_t>(shape_.num_samples);
  const size_t row_doubles = (2 * size + 2 * kVectorPadding) / kVectorPadding * kVectorPadding;
  // In float64, in T, and what cells need.
  double* const rows = workspace->Scratch(2 * row_doubles + CellScratch(shape_));
  T* const as_real = reinterpret_cast<T*>(std::is_same_v<T, float> ? rows + row_doubles : rows);
  for (size_t done = 0; done < run.count;) {
    const int64_t index = run.first + static_cast<int64_t>(done);
    const int64_t row = index / frequencies.count;
    RowRun<T> points;
    points.axis = &frequencies;
    points.first = index % frequencies.count;
    points.count = static_cast<size_t>(std::min<int64_t>(frequencies.count - points.first,
                                                         static_cast<int64_t>(run.count - done)));
    points.values = run.values + done;
    if (workspace->row() != row) {
      WriteRows(run.grid->CoordinatesOf(index), signal_.data(), rows);
      if constexpr (std::is_same_v<T, float>) std::copy_n(rows, 2 * size, as_real);
      workspace->set_row(row);
    }
    if (uses_cells) {
      EvaluateCells(shape_, rows, row, points, rows + 2 * row_doubles, workspace);
    } else {
      EvaluateHoisted(shape_, as_real, points);
    }
    done += points.count;
  }
}

void MatchedFunctional::AtMany(const Coordinates* x, int count, double* values) const {
  double* const rows = CpuWorkspace::OfThisThread().Scratch(
      2 * static_cast<size_t>(shape_.num_samples) + 2 * kVectorPadding);
  for (int i = 0; i < count; ++i) {
    WriteRows(x[i], signal_.data(), rows);
    const double turns = x[i][static_cast<size_t>(num_axes_ - 1)] * shape_.sampling_interval_s;
    HoistedAt(shape_, rows, &turns, 1, values + i);
  }
}

void MatchedFunctional::Evaluate(const Run<float>& run, CpuWorkspace* workspace) const {
  EvaluateAs(run, workspace);
}
void MatchedFunctional::Evaluate(const Run<double>& run, CpuWorkspace* workspace) const {
  EvaluateAs(run, workspace);
}

}  // namespace baseband::minimize
