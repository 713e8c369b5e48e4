// Signals correlated with sinusoids on the CPU device, along one axis of frequencies. Internal to
// minimize/. A value depends on the rows, the axis and its point alone.
#ifndef BASEBAND_KERNELS_MINIMIZE_CPU_SINUSOIDS_CPU_H_
#define BASEBAND_KERNELS_MINIMIZE_CPU_SINUSOIDS_CPU_H_

#include <cstddef>
#include <cstdint>

#include "kernels/minimize/cpu/workspace_cpu.h"
#include "kernels/minimize/functionals/sinusoids_data.h"

namespace baseband::minimize {

// Points first .. first + count - 1 of `axis`, and where their values go.
template <typename T>
struct RowRun {
  const Axis* axis = nullptr;
  int64_t first = 0;
  size_t count = 0;     // 1 .. kMaxRun
  T* values = nullptr;  // [count]
};

// At any frequencies, 1 .. kCorrelated of them, in cycles per sample; by phasors. rows: as below.
template <typename T>
void HoistedAt(const SinusoidsShape& shape, const T* rows, const double* turns, size_t count,
               T* values);

// By phasors. rows: [shape.num_rows()][shape.num_samples], see SinusoidsFunctional::Rows.
template <typename T>
void EvaluateHoisted(const SinusoidsShape& shape, const T* rows, const RowRun<T>& run);

// By the polynomials of cells. `row` numbers the rows: a workspace remembers of which rows and cell
// it has the polynomials. scratch: [CellScratch], of the workspace, the same for all runs of a
// piece.
template <typename T>
void EvaluateCells(const SinusoidsShape& shape, const double* rows, int64_t row,
                   const RowRun<T>& run, double* scratch, CpuWorkspace* workspace);
size_t CellScratch(const SinusoidsShape& shape);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_CPU_SINUSOIDS_CPU_H_
