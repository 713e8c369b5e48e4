// The inner loops of the CPU device, compiled for several instruction sets; the best one is chosen
// at run time. Arrays of points are aligned to 64 bytes and read and written as whole vectors: past
// `count` they have kVectorPadding elements that may be anything.
#ifndef BASEBAND_KERNELS_MINIMIZE_CPU_SEARCH_KERNELS_CPU_H_
#define BASEBAND_KERNELS_MINIMIZE_CPU_SEARCH_KERNELS_CPU_H_

#include <cstddef>
#include <cstdint>

#include "kernels/minimize/functionals/matched_math.h"
#include "kernels/minimize/functionals/sinusoids_data.h"
#include "kernels/minimize/grid.h"

namespace baseband::minimize {

template <typename T>
struct Least {
  T value = T{0};  // infinite if there is none
  bool has_nan = false;
};

// Points of correlations that are made at once.
inline constexpr size_t kCorrelated = 64;

// For each point i: c[r][i] = sum over n of rows[r][n] cos(2 pi turns[i] (n - (N - 1) / 2)), and s
// with the sine.
template <typename T>
struct CorrelateTask {
  const T* rows = nullptr;  // [num_rows][num_samples]
  size_t num_rows = 0;      // 1 .. kMaxRows
  size_t num_samples = 0;
  const double* turns = nullptr;  // [count], cycles per sample
  size_t count = 0;               // 1 .. kCorrelated
  T* c = nullptr;                 // [num_rows][kCorrelated]
  T* s = nullptr;                 // [num_rows][kCorrelated]
};

template <typename T>
struct CpuKernels {
  // axis.At(first + i), i < count.
  void (*coordinates)(const Axis& axis, int64_t first, size_t count, T* x);
  // Turns values into those of the goal "minimum", -0 into 0, and finds the least.
  Least<T> (*least)(bool is_maximum, T* values, size_t count);
  void (*schwefel)(const T* const* x, int num_axes, size_t count, T* values);
  void (*correlate)(const CorrelateTask<T>& task);
};
template <typename T>
const CpuKernels<T>& SearchKernelsOfThisProcessor();

struct CellKernels {
  // The polynomials of one cell around `turns` cycles per sample: coefficients[r][k][re, im].
  // `phasors`: scratch, [2][num_samples + kVectorPadding].
  void (*expand)(const double* rows, size_t num_rows, size_t num_samples, double turns,
                 double* phasors, double* coefficients);
  // Values at points whose distances from the cell's centre are x (sinusoids_math.h).
  void (*evaluate)(const SinusoidsShape& shape, const double* coefficients, const double* x,
                   const double* turns, size_t count, double* values);
};
const CellKernels& CellKernelsOfThisProcessor();

// The rows of matched filters: y conj(s), real parts, then imaginary ones. Arrays that are read and
// the rows have kVectorPadding elements more.
struct MatchedKernels {
  void (*chirp)(const ChirpRates& rates, const double* signal, size_t num_samples, double* rows);
  // weights: [kDelayTaps]; table: [4][table_stride], see MatchedFunctional.
  void (*delay)(const DelayPlace& place, const double* weights, const double* table,
                size_t table_stride, const double* signal, size_t num_samples, double* rows);
};
const MatchedKernels& MatchedKernelsOfThisProcessor();

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_CPU_SEARCH_KERNELS_CPU_H_
