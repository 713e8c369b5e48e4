// Separable least squares on the CPU device: runs of points.
#include "kernels/minimize/cpu/sinusoids_cpu.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/base/work_steps.h"
#include "kernels/minimize/cpu/search_kernels_cpu.h"
#include "kernels/minimize/cpu/workspace_cpu.h"
#include "kernels/minimize/functionals/sinusoids_data.h"
#include "kernels/minimize/functionals/sinusoids_math.h"

namespace baseband::minimize {
namespace {

// One point: every column at every sample. T's own phase, as published.
template <int kFixed, typename T>
T LiteralValue(const T* samples, size_t num_samples, T turns) {
  constexpr int kColumns = kFixed + 2;
  T gram[kColumns * (kColumns + 1) / 2] = {};
  T r[kColumns] = {};
  T energy = 0;
  T h[kColumns];
  for (size_t n = 0; n < num_samples; ++n) {
    const T y = samples[n];
    for (int k = 0; k < kFixed; ++k) h[k] = samples[static_cast<size_t>(k + 1) * num_samples + n];
    const T phase = static_cast<T>(kTwoPi) * turns * static_cast<T>(n);
    h[kFixed] = std::cos(phase);
    h[kFixed + 1] = std::sin(phase);
    int at = 0;
    for (int i = 0; i < kColumns; ++i) {
      r[i] += h[i] * y;
      for (int j = 0; j <= i && j < kFixed; ++j) gram[at + j] += h[i] * h[j];
      at += i + 1;
    }
    energy += y * y;
  }
  // The pair's own: closed forms.
  const auto size = static_cast<double>(num_samples);
  const double dirichlet = Dirichlet(size, static_cast<double>(turns));
  const double middle = 2.0 * (size - 1.0) * static_cast<double>(turns);  // half turns
  constexpr int kPair = kFixed * (kFixed + 1) / 2 + kFixed;
  gram[kPair] = static_cast<T>(0.5 * (size + dirichlet * SinOfHalfTurns(middle + 0.5)));
  gram[kPair + kFixed + 1] = static_cast<T>(0.5 * dirichlet * SinOfHalfTurns(middle));
  gram[kPair + kFixed + 2] =
      static_cast<T>(0.5 * (size - dirichlet * SinOfHalfTurns(middle + 0.5)));
  return ResidualOfGram<kColumns>(energy, gram, r);
}

template <typename T>
using LiteralFunction = T (*)(const T*, size_t, T);
template <typename T>
constexpr std::array<LiteralFunction<T>, kMaxFixedColumns + 1> kLiteral = {
    LiteralValue<0, T>, LiteralValue<1, T>, LiteralValue<2, T>,
    LiteralValue<3, T>, LiteralValue<4, T>, LiteralValue<5, T>,
    LiteralValue<6, T>, LiteralValue<7, T>, LiteralValue<8, T>};

}  // namespace

template <typename T>
void EvaluateLiteral(const SinusoidsFunctional& functional, const Run<T>& run) {
  const SinusoidsShape& shape = functional.shape();
  const Axis& axis = run.grid->axis(0);
  for (size_t i = 0; i < run.count && CountStep(); ++i) {
    const double x = axis.At(run.first + static_cast<int64_t>(i));
    run.values[i] = kLiteral<T>[static_cast<size_t>(functional.num_fixed())](
        functional.Literal<T>().data(), static_cast<size_t>(shape.num_samples),
        static_cast<T>(x * shape.sampling_interval_s));
  }
}

template <typename T>
void HoistedAt(const SinusoidsShape& shape, const T* rows, const double* turns, size_t count,
               T* values) {
  alignas(64) T c[static_cast<size_t>(kMaxRows) * kCorrelated];
  alignas(64) T s[static_cast<size_t>(kMaxRows) * kCorrelated];
  const auto samples = static_cast<double>(shape.num_samples);
  CorrelateTask<T> task;
  task.rows = rows;
  task.num_rows = static_cast<size_t>(shape.num_rows());
  task.num_samples = static_cast<size_t>(shape.num_samples);
  task.turns = turns;
  task.count = count;
  task.c = c;
  task.s = s;
  (void)CountStep();
  SearchKernelsOfThisProcessor<T>().correlate(task);
  for (size_t i = 0; i < count; ++i) {
    values[i] = ResidualOf<T>(
        shape.is_complex, shape.num_columns, static_cast<T>(samples), static_cast<T>(shape.energy),
        static_cast<T>(Dirichlet(samples, turns[i])), c + i, s + i, static_cast<int>(kCorrelated));
  }
}
template void HoistedAt(const SinusoidsShape&, const double*, const double*, size_t, double*);

template <typename T>
void EvaluateHoisted(const SinusoidsShape& shape, const T* rows, const RowRun<T>& run) {
  alignas(64) double turns[kCorrelated];
  for (size_t done = 0; done < run.count;) {
    const size_t count = std::min(kCorrelated, run.count - done);
    for (size_t i = 0; i < count; ++i) {
      turns[i] =
          run.axis->At(run.first + static_cast<int64_t>(done + i)) * shape.sampling_interval_s;
    }
    HoistedAt(shape, rows, turns, count, run.values + done);
    done += count;
  }
}
template void EvaluateHoisted(const SinusoidsShape&, const float*, const RowRun<float>&);
template void EvaluateHoisted(const SinusoidsShape&, const double*, const RowRun<double>&);

namespace {

constexpr size_t kRunArray = kMaxRun + kVectorPadding;
size_t NumCoefficients(const SinusoidsShape& shape) {
  return (static_cast<size_t>(shape.num_rows()) * kCellTerms * 2 + 15) / 16 * 16;
}

}  // namespace

size_t CellScratch(const SinusoidsShape& shape) {
  return 3 * kRunArray + NumCoefficients(shape) +
         2 * (static_cast<size_t>(shape.num_samples) + kVectorPadding);
}

template <typename T>
void EvaluateCells(const SinusoidsShape& shape, const double* rows, int64_t row,
                   const RowRun<T>& run, double* scratch, CpuWorkspace* workspace) {
  const CellKernels& kernels = CellKernelsOfThisProcessor();
  const Axis& axis = *run.axis;
  const Cells cells = CellsOf(shape, axis);
  double* const x = scratch;
  double* const turns = x + kRunArray;
  double* const values = turns + kRunArray;
  double* const coefficients = values + kRunArray;
  double* const phasors = coefficients + NumCoefficients(shape);
  for (size_t done = 0; done < run.count;) {
    const int64_t first = run.first + static_cast<int64_t>(done);
    const int64_t cell = first / cells.points;
    const double centre = cells.Centre(cell);
    if (workspace->cell() != row * cells.count + cell) {
      const double frequency = std::fma(centre, axis.step, axis.begin);
      kernels.expand(rows, static_cast<size_t>(shape.num_rows()),
                     static_cast<size_t>(shape.num_samples), frequency * shape.sampling_interval_s,
                     phasors, coefficients);
      workspace->set_cell(row * cells.count + cell);
    }
    const auto count = static_cast<size_t>(std::min<int64_t>(
        (cell + 1) * cells.points - first, static_cast<int64_t>(run.count - done)));
    for (size_t i = 0; i < count; ++i) {
      x[i] = cells.scale * ((static_cast<double>(first) - centre) + static_cast<double>(i));
    }
    SearchKernelsOfThisProcessor<double>().coordinates(axis, first, count, turns);
    for (size_t i = 0; i < count; ++i) turns[i] *= shape.sampling_interval_s;
    kernels.evaluate(shape, coefficients, x, turns, count, values);
    for (size_t i = 0; i < count; ++i) run.values[done + i] = static_cast<T>(values[i]);
    done += count;
  }
}
template void EvaluateCells(const SinusoidsShape&, const double*, int64_t, const RowRun<float>&,
                            double*, CpuWorkspace*);
template void EvaluateCells(const SinusoidsShape&, const double*, int64_t, const RowRun<double>&,
                            double*, CpuWorkspace*);

template <typename T>
void SinusoidsFunctional::EvaluateAs(const Run<T>& run, CpuWorkspace* workspace) const {
  const RowRun<T> row{&run.grid->axis(0), run.first, run.count, run.values};
  if (run.method == Method::kLiteral) {
    EvaluateLiteral(*this, run);
  } else if (UsesCells(*run.grid, run.method)) {
    EvaluateCells(shape_, rows_.data(), 0, row, workspace->Scratch(CellScratch(shape_)), workspace);
  } else {
    EvaluateHoisted(shape_, Rows<T>().data(), row);
  }
}

void SinusoidsFunctional::AtMany(const Coordinates* x, int count, double* values) const {
  alignas(64) double turns[kCorrelated];
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    turns[i] = x[i][0] * shape_.sampling_interval_s;
  }
  HoistedAt(shape_, rows_.data(), turns, static_cast<size_t>(count), values);
}

void SinusoidsFunctional::Evaluate(const Run<float>& run, CpuWorkspace* workspace) const {
  EvaluateAs(run, workspace);
}
void SinusoidsFunctional::Evaluate(const Run<double>& run, CpuWorkspace* workspace) const {
  EvaluateAs(run, workspace);
}

}  // namespace baseband::minimize
