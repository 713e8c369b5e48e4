// Separable least squares on a GPU: images and launches.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/base/status_macros.h"
#include "kernels/cuda/load_kernel.h"
#include "kernels/cuda/status.h"
#include "kernels/minimize/functionals/sinusoids_data.h"
#include "kernels/minimize/gpu/gpu_launch.h"
#include "kernels/minimize/gpu/literal_kernels.cuh"
#include "kernels/minimize/gpu/sinusoids_kernels.cuh"

namespace baseband::minimize {
namespace {

// What kernels there are for a problem: rows or columns are rounded up, the added ones being zero.
template <typename T>
struct Launcher {
  const SearchTask& search;
  const SinusoidsTask& task;
  unsigned num_blocks;
  cudaStream_t stream;
  bool only_load;

  template <typename Functor>
  absl::Status Launch(const Functor& functor) const {
    return only_load ? LoadSearch<Functor>() : LaunchSearch(search, functor, num_blocks, stream);
  }
  template <int kFixed>
  absl::Status LaunchLiteral() const {
    if (only_load) return cuda::LoadKernel(LiteralKernel<T, kFixed>);
    LiteralKernel<T, kFixed>
        <<<num_blocks, kSearchThreads, 0, stream>>>(search, {task, PhaseCoefficients()});
    return cuda::ToStatus(cudaGetLastError(), "LiteralKernel");
  }
  absl::Status InLiteral(int columns) const {
    if (columns == 0) return LaunchLiteral<0>();
    if (columns == 2) return LaunchLiteral<2>();
    return LaunchLiteral<8>();
  }
  absl::Status InHoisted(int rows) const {
    constexpr int kTogether = sizeof(T) == 4 ? 4 : 2;
    // A thread that has fewer points would evaluate some in vain.
    if (only_load || search.block_points < kTogether * kSearchThreads) {
      if (only_load) BASEBAND_RETURN_IF_ERROR(Launch(Hoisted<T, 1, kTogether>{task}));
      if (only_load) BASEBAND_RETURN_IF_ERROR(Launch(Hoisted<T, 3, kTogether>{task}));
      if (rows == 1) return Launch(Hoisted<T, 1, 1>{task});
      if (rows == 3) return Launch(Hoisted<T, 3, 1>{task});
    }
    if (rows == 1) return Launch(Hoisted<T, 1, kTogether>{task});
    if (rows == 3) return Launch(Hoisted<T, 3, kTogether>{task});
    if (rows == 6) return Launch(Hoisted<T, 6, 1>{task});
    return Launch(Hoisted<T, 18, 1>{task});
  }
  absl::Status ByCells(int rows) const {
    if (rows == 1) return Launch(InCells<T, 1>{task});
    if (rows == 3) return Launch(InCells<T, 3>{task});
    if (rows == 6) return Launch(InCells<T, 6>{task});
    return Launch(InCells<T, 18>{task});
  }
};

const SinusoidsFunctional& Of(const Problem& problem) {
  return static_cast<const SinusoidsFunctional&>(problem.functional());
}

int KernelRows(const SinusoidsShape& shape) {
  const int rows = shape.num_rows();
  if (!shape.is_complex && rows <= 1) return 1;
  if (!shape.is_complex && rows <= 3) return 3;
  return rows <= 6 ? 6 : kMaxRows;
}
int KernelColumns(int columns) { return columns == 0 ? 0 : columns <= 2 ? 2 : kMaxFixedColumns; }

bool IsLiteral(const Problem& problem) { return problem.settings().method == Method::kLiteral; }

// How many values a sample has in the image, before padding.
int Interleaved(const Problem& problem) {
  const SinusoidsFunctional& functional = Of(problem);
  return IsLiteral(problem) ? LiteralRows(KernelColumns(functional.num_fixed()))
                            : KernelRows(functional.shape());
}

template <typename T>
int64_t InterleavedBytes(const Problem& problem) {
  const SinusoidsFunctional& functional = Of(problem);
  const int64_t padded = PaddedRows<T>(Interleaved(problem));
  const int64_t size = functional.shape().num_samples;
  if (!IsLiteral(problem)) return size * padded * static_cast<int64_t>(sizeof(T));
  return (LiteralSamples(static_cast<int>(size)) * padded + LiteralTable<T>() +
          LiteralSums(KernelColumns(functional.num_fixed()))) *
         static_cast<int64_t>(sizeof(T));
}

// What literal_kernels.cuh wants beside the signal and the fixed columns.
template <typename T>
void WriteLiteral(const SinusoidsFunctional& functional, size_t padded, T* image) {
  const auto size = static_cast<size_t>(functional.shape().num_samples);
  const auto end = static_cast<size_t>(LiteralSamples(static_cast<int>(size)));
  const int columns = KernelColumns(functional.num_fixed());
  std::fill(image + size * padded, image + end * padded, T(0));
  T* const table = image + end * padded;
  if constexpr (std::is_same_v<T, double>) WritePhaseTable(reinterpret_cast<SineCosine*>(table));
  T* const sums = table + LiteralTable<T>();
  std::fill_n(sums, LiteralSums(columns), T(0));
  for (size_t n = 0; n < size; ++n) {
    T* const x = image + n * padded;
    x[columns + 1] = static_cast<T>(n);
    T* sum = sums;
    for (int k = 0; k <= columns; ++k) *sum++ += x[k] * x[0];
    for (int k = 1; k <= columns; ++k) {
      for (int j = 1; j <= k; ++j) *sum++ += x[k] * x[j];
    }
  }
}

template <typename T>
void WriteInterleaved(const Problem& problem, uint8_t* image) {
  const SinusoidsFunctional& functional = Of(problem);
  const absl::Span<const T> from =
      IsLiteral(problem) ? functional.Literal<T>() : functional.Rows<T>();
  const auto size = static_cast<size_t>(functional.shape().num_samples);
  const auto padded = static_cast<size_t>(PaddedRows<T>(Interleaved(problem)));
  auto* const to = reinterpret_cast<T*>(image);
  for (size_t n = 0; n < size; ++n) {
    for (size_t r = 0; r < padded; ++r) {
      to[n * padded + r] = (r + 1) * size <= from.size() ? from[r * size + n] : T(0);
    }
  }
  if (IsLiteral(problem)) WriteLiteral(functional, padded, to);
}

bool UsesCells(const Problem& problem) {
  return Of(problem).UsesCells(problem.grid(), problem.settings().method);
}

template <typename T>
absl::Status LaunchAs(const Problem& problem, const SearchTask& search, const SinusoidsTask& task,
                      int64_t num_blocks, cudaStream_t stream) {
  const Launcher<T> launcher{search, task, static_cast<unsigned>(num_blocks), stream, false};
  const SinusoidsFunctional& functional = Of(problem);
  if (IsLiteral(problem)) {
    return launcher.InLiteral(KernelColumns(functional.num_fixed()));
  }
  const int rows = KernelRows(functional.shape());
  return UsesCells(problem) ? launcher.ByCells(rows) : launcher.InHoisted(rows);
}

template <typename T>
absl::Status LoadAll() {
  const SearchTask search{};
  const SinusoidsTask task;
  const Launcher<T> launcher{search, task, 0, nullptr, true};
  for (const int columns : {0, 2, 8}) BASEBAND_RETURN_IF_ERROR(launcher.InLiteral(columns));
  for (const int rows : {1, 3, 6, 18}) {
    BASEBAND_RETURN_IF_ERROR(launcher.InHoisted(rows));
    BASEBAND_RETURN_IF_ERROR(launcher.ByCells(rows));
  }
  return absl::OkStatus();
}

}  // namespace

int64_t SinusoidsImageBytes(const Problem& problem) {
  if (UsesCells(problem)) {
    return static_cast<int64_t>(Of(problem).Rows<double>().size() * sizeof(double));
  }
  return problem.settings().precision == Precision::kFloat32 ? InterleavedBytes<float>(problem)
                                                             : InterleavedBytes<double>(problem);
}

void WriteSinusoidsImage(const Problem& problem, uint8_t* image) {
  if (UsesCells(problem)) {
    const absl::Span<const double> rows = Of(problem).Rows<double>();
    std::memcpy(image, rows.data(), rows.size() * sizeof(double));
  } else if (problem.settings().precision == Precision::kFloat32) {
    WriteInterleaved<float>(problem, image);
  } else {
    WriteInterleaved<double>(problem, image);
  }
}

absl::Status LaunchSinusoids(const PieceLaunch& launch, const SearchTask& search,
                             int64_t num_blocks, cudaStream_t stream) {
  const Problem& problem = *launch.problem;
  const SinusoidsShape& shape = Of(problem).shape();
  SinusoidsTask task;
  task.samples = launch.image;
  task.num_samples = static_cast<int>(shape.num_samples);
  task.num_rows = shape.num_rows();
  task.is_complex = shape.is_complex;
  task.sampling_interval_s = shape.sampling_interval_s;
  task.energy = shape.energy;
  if (UsesCells(problem)) {
    const Axis& axis = problem.grid().axis(0);
    const Cells cells = CellsOf(shape, axis);
    const int64_t last = launch.piece.first + launch.piece.count - 1;
    task.sample_stride = task.num_samples;
    BASEBAND_RETURN_IF_ERROR(
        LaunchExpand(cells, axis, launch.piece.first / cells.points, last / cells.points,
                     reinterpret_cast<double2*>(launch.scratch), &task, stream));
  }
  return problem.settings().precision == Precision::kFloat32
             ? LaunchAs<float>(problem, search, task, num_blocks, stream)
             : LaunchAs<double>(problem, search, task, num_blocks, stream);
}

absl::Status PrepareSinusoids() {
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(ExpandKernel));
  BASEBAND_RETURN_IF_ERROR(LoadAll<float>());
  return LoadAll<double>();
}

}  // namespace baseband::minimize
