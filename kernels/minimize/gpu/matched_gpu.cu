// Matched filters on a GPU: the rows that a piece needs are made in its scratch memory, then points
// are made of them.
#include <cstring>

#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"
#include "kernels/minimize/functionals/matched_data.h"
#include "kernels/minimize/gpu/gpu_launch.h"
#include "kernels/minimize/gpu/matched_kernels.cuh"

namespace baseband::minimize {
namespace {

const MatchedFunctional& Of(const Problem& problem) {
  return static_cast<const MatchedFunctional&>(problem.functional());
}

template <typename T>
absl::Status LaunchRows(const SearchTask& search, const RowsTask& task, int64_t num_rows, void* out,
                        cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(num_rows),
                  static_cast<unsigned>((task.sample_stride + kRowsSamples - 1) / kRowsSamples));
  if (task.table == nullptr) {
    RowsKernel<T, true><<<grid, kRowsThreads, 0, stream>>>(search, task, static_cast<T*>(out));
  } else {
    RowsKernel<T, false><<<grid, kRowsThreads, 0, stream>>>(search, task, static_cast<T*>(out));
  }
  return cuda::ToStatus(cudaGetLastError(), "RowsKernel");
}

template <typename T, int kAxes>
absl::Status LaunchAs(const SearchTask& search, const SinusoidsTask& task, int64_t num_blocks,
                      cudaStream_t stream) {
  return task.coefficients != nullptr
             ? LaunchSearch(search, InCells<T, 2, kAxes>{task}, num_blocks, stream)
             : LaunchSearch(search, MatchedHoisted<T, kAxes>{task}, num_blocks, stream);
}

template <typename T>
absl::Status LaunchIn(int num_axes, const SearchTask& search, const SinusoidsTask& task,
                      int64_t num_blocks, cudaStream_t stream) {
  return num_axes == 2 ? LaunchAs<T, 2>(search, task, num_blocks, stream)
                       : LaunchAs<T, 3>(search, task, num_blocks, stream);
}

template <typename T>
absl::Status LoadAll() {
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(RowsKernel<T, true>));
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(RowsKernel<T, false>));
  BASEBAND_RETURN_IF_ERROR((LoadSearch<MatchedHoisted<T, 2>>()));
  BASEBAND_RETURN_IF_ERROR((LoadSearch<MatchedHoisted<T, 3>>()));
  BASEBAND_RETURN_IF_ERROR((LoadSearch<InCells<T, 2, 2>>()));
  return LoadSearch<InCells<T, 2, 3>>();
}

// The image: the signal, then the table.
size_t SignalNumbers(const MatchedFunctional& functional) {
  return static_cast<size_t>(2 * functional.shape().num_samples);
}

}  // namespace

int64_t MatchedImageBytes(const Problem& problem) {
  const MatchedFunctional& functional = Of(problem);
  return static_cast<int64_t>((SignalNumbers(functional) + functional.table().size()) *
                              sizeof(double));
}

void WriteMatchedImage(const Problem& problem, uint8_t* image) {
  const MatchedFunctional& functional = Of(problem);
  const size_t signal_bytes = SignalNumbers(functional) * sizeof(double);
  std::memcpy(image, functional.signal().data(), signal_bytes);
  if (functional.is_chirp()) return;
  std::memcpy(image + signal_bytes, functional.table().data(),
              functional.table().size() * sizeof(double));
}

absl::Status LaunchMatched(const PieceLaunch& launch, const SearchTask& search, int64_t num_blocks,
                           cudaStream_t stream) {
  const Problem& problem = *launch.problem;
  const MatchedFunctional& functional = Of(problem);
  const SinusoidsShape& shape = functional.shape();
  const int num_axes = problem.grid().num_axes();
  const Axis& frequencies = problem.grid().axis(num_axes - 1);
  const int64_t last_point = launch.piece.first + launch.piece.count - 1;
  const bool uses_cells = functional.UsesCells(problem.grid(), problem.settings().method);
  const bool is_float = problem.settings().precision == Precision::kFloat32;

  RowsTask rows;
  rows.signal = reinterpret_cast<const double*>(launch.image);
  if (!functional.is_chirp()) rows.table = rows.signal + SignalNumbers(functional);
  rows.table_stride = static_cast<int>(functional.table_stride());
  rows.num_samples = static_cast<int>(shape.num_samples);
  rows.sampling_interval_s = shape.sampling_interval_s;
  rows.first_row = launch.piece.first / frequencies.count;
  rows.sample_stride = static_cast<int>(functional.GpuStride());
  rows.upper_axes = num_axes - 1;
  const int64_t last_row = last_point / frequencies.count;
  const int64_t num_rows = last_row - rows.first_row + 1;
  BASEBAND_RETURN_IF_ERROR(
      is_float && !uses_cells ? LaunchRows<float>(search, rows, num_rows, launch.scratch, stream)
                              : LaunchRows<double>(search, rows, num_rows, launch.scratch, stream));

  SinusoidsTask task;
  task.samples = launch.scratch;
  task.num_samples = rows.num_samples;
  task.num_rows = shape.num_rows();
  task.is_complex = true;
  task.sampling_interval_s = shape.sampling_interval_s;
  task.energy = shape.energy;
  task.sample_stride = rows.sample_stride;
  task.first_row = rows.first_row;
  task.middle_count = problem.grid().axis(num_axes - 2).count;
  if (uses_cells) {
    const Cells cells = CellsOf(shape, frequencies);
    const auto cell_of = [&](int64_t point) {
      return point / frequencies.count * cells.count + point % frequencies.count / cells.points;
    };
    auto* const out =
        reinterpret_cast<double2*>(launch.scratch + num_rows * 2 * functional.GpuStride() *
                                                        static_cast<int64_t>(sizeof(double)));
    BASEBAND_RETURN_IF_ERROR(LaunchExpand(cells, frequencies, cell_of(launch.piece.first),
                                          cell_of(last_point), out, &task, stream));
  }
  return is_float ? LaunchIn<float>(num_axes, search, task, num_blocks, stream)
                  : LaunchIn<double>(num_axes, search, task, num_blocks, stream);
}

absl::Status PrepareMatched() {
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(ExpandKernel));
  BASEBAND_RETURN_IF_ERROR(LoadAll<float>());
  return LoadAll<double>();
}

}  // namespace baseband::minimize
