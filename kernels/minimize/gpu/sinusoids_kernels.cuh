// Signals correlated with sinusoids on a GPU: what sinusoids_gpu.cu and matched_gpu.cu launch.
#ifndef BASEBAND_KERNELS_MINIMIZE_GPU_SINUSOIDS_KERNELS_CUH_
#define BASEBAND_KERNELS_MINIMIZE_GPU_SINUSOIDS_KERNELS_CUH_

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/cuda/status.h"
#include "kernels/minimize/functionals/sinusoids_data.h"
#include "kernels/minimize/functionals/sinusoids_math.h"
#include "kernels/minimize/gpu/search_launch.cuh"

namespace baseband::minimize {
namespace {

struct SinusoidsTask {
  const void* samples = nullptr;  // the image
  int num_samples = 0;
  int num_rows = 0;
  bool is_complex = false;
  double sampling_interval_s = 0.0;
  double energy = 0.0;
  // Grids of more axes than the frequency: their rows, the points along the last axis, have samples
  // each, [row][num_rows][sample_stride].
  int sample_stride = 0;
  long long first_row = 0;
  long long middle_count = 1;  // of the second of three axes
  // Cells, numbered row after row.
  const double2* coefficients = nullptr;  // [cell][row][kCellTerms]
  long long first_cell = 0;
  long long row_cells = 1;
  int log2_points = 0;
  double scale = 0.0;
  double begin = 0.0;
  double step = 0.0;
};

__device__ __forceinline__ void SineAndCosine(double turns, double* sine, double* cosine) {
  sincospi(2.0 * turns, sine, cosine);
}

// The number of a point's row.
template <int kAxes>
__device__ __forceinline__ long long RowOf(const SinusoidsTask& task,
                                           const SearchPoint<kAxes>& point) {
  if constexpr (kAxes == 1) return 0;
  if constexpr (kAxes == 2) return point.upper[0];
  if constexpr (kAxes == 3) return point.upper[0] * task.middle_count + point.upper[1];
}

// As many of a sample's values as a thread reads at once.
template <typename T, int kCount>
__device__ __forceinline__ void LoadSample(const T* from, T* to) {
  if constexpr (kCount == 1) {
    to[0] = __ldg(from);
  } else {
    constexpr int kWide = 16 / sizeof(T);
    static_assert(kCount % kWide == 0, "the image is padded");
#pragma unroll
    for (int i = 0; i < kCount / kWide; ++i) {
      const float4 wide = __ldg(reinterpret_cast<const float4*>(from) + i);
      const T* const parts = reinterpret_cast<const T*>(&wide);
#pragma unroll
      for (int k = 0; k < kWide; ++k) to[i * kWide + k] = parts[k];
    }
  }
}

// Values of the image a sample: padded to whole 16-byte words.
template <typename T, int kRows>
constexpr int kPaddedRows = kRows == 1 ? 1
                                       : (kRows + 16 / int{sizeof(T)} - 1) / (16 / int{sizeof(T)}) *
                                             (16 / int{sizeof(T)});
template <typename T>
int PaddedRows(int rows) {
  constexpr int kWide = 16 / int{sizeof(T)};
  return rows == 1 ? 1 : (rows + kWide - 1) / kWide * kWide;
}

template <int kRows, typename Real>
__device__ __forceinline__ Real ValueOf(const SinusoidsTask& task, double turns, const Real* c,
                                        const Real* s) {
  const auto size = static_cast<double>(task.num_samples);
  if constexpr (kRows % 2 == 0) {
    if (task.is_complex) {
      return ResidualOf<Real>(true, kRows / 2 - 1, static_cast<Real>(size),
                              static_cast<Real>(task.energy), Real(0), c, s, 1);
    }
  }
  return ResidualOf<Real>(false, kRows - 1, static_cast<Real>(size), static_cast<Real>(task.energy),
                          static_cast<Real>(Dirichlet(size, turns)), c, s, 1);
}

// Phasors turn by products for so many samples.
constexpr int kPhasorBlock = 64;

template <typename T, int kRows, int kTogether>
struct Hoisted {
  using Real = T;
  static constexpr int kAxes = 1;
  static constexpr int kPoints = kTogether;
  SinusoidsTask task;

  __device__ __forceinline__ void operator()(const SearchPoint<1>* points, Real* values) const {
    const Real* const samples = static_cast<const Real*>(task.samples);
    double turns[kPoints];
    Real step_re[kPoints], step_im[kPoints];
    Real c[kPoints][kRows], s[kPoints][kRows];
#pragma unroll
    for (int u = 0; u < kPoints; ++u) {
      turns[u] = points[u].x[0] * task.sampling_interval_s;
      double sine, cosine;
      SineAndCosine(turns[u], &sine, &cosine);
      step_re[u] = static_cast<Real>(cosine);
      step_im[u] = static_cast<Real>(sine);
#pragma unroll
      for (int r = 0; r < kRows; ++r) c[u][r] = s[u][r] = Real(0);
    }
    const double middle = 0.5 * static_cast<double>(task.num_samples - 1);
    for (int begin = 0; begin < task.num_samples; begin += kPhasorBlock) {
      Real re[kPoints], im[kPoints];
#pragma unroll
      for (int u = 0; u < kPoints; ++u) {
        const double t = static_cast<double>(begin) - middle;
        const double phase = turns[u] * t;
        const double error = __fma_rn(turns[u], t, -phase);
        double sine, cosine;
        SineAndCosine((phase - rint(phase)) + error, &sine, &cosine);
        re[u] = static_cast<Real>(cosine);
        im[u] = static_cast<Real>(sine);
      }
      const int end = min(begin + kPhasorBlock, task.num_samples);
      for (int n = begin; n < end; ++n) {
        constexpr int kPadded = kPaddedRows<Real, kRows>;
        Real x[kPadded];
        LoadSample<Real, kPadded>(samples + static_cast<size_t>(n) * kPadded, x);
#pragma unroll
        for (int u = 0; u < kPoints; ++u) {
#pragma unroll
          for (int r = 0; r < kRows; ++r) {
            c[u][r] += x[r] * re[u];
            s[u][r] += x[r] * im[u];
          }
          const Real next = re[u] * step_re[u] - im[u] * step_im[u];
          im[u] = re[u] * step_im[u] + im[u] * step_re[u];
          re[u] = next;
        }
      }
    }
#pragma unroll
    for (int u = 0; u < kPoints; ++u) values[u] = ValueOf<kRows>(task, turns[u], c[u], s[u]);
  }
};

// Values of polynomials; always in double.
template <typename T, int kRows, int kGridAxes = 1>
struct InCells {
  using Real = T;
  static constexpr int kAxes = kGridAxes;
  static constexpr int kPoints = 1;
  SinusoidsTask task;

  __device__ __forceinline__ void operator()(const SearchPoint<kAxes>* point, Real* value) const {
    const long long i = kAxes == 1 ? point->index : point->On(kAxes - 1);
    const long long in_row = i >> task.log2_points;
    const double within = static_cast<double>(i - (in_row << task.log2_points));
    const double half = 0.5 * static_cast<double>((1ll << task.log2_points) - 1);
    const double x = task.scale * (within - half);
    const long long cell = RowOf<kAxes>(task, *point) * task.row_cells + in_row - task.first_cell;
    const double2* const from = task.coefficients + cell * task.num_rows * kCellTerms;
    double c[kRows], s[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      c[r] = s[r] = 0.0;
      if (r >= task.num_rows) continue;
      double2 at = __ldg(from + r * kCellTerms + kCellTerms - 1);
      double re = at.x;
      double im = at.y;
#pragma unroll
      for (int k = kCellTerms - 2; k >= 0; --k) {
        at = __ldg(from + r * kCellTerms + k);
        re = re * x + at.x;
        im = im * x + at.y;
      }
      c[r] = re;
      s[r] = -im;
    }
    *value = static_cast<Real>(
        ValueOf<kRows>(task, point->x[kAxes - 1] * task.sampling_interval_s, c, s));
  }
};

constexpr int kExpandThreads = 256;

// The coefficients of one row of samples in one cell; blockIdx.x is the cell, blockIdx.y the row.
__global__ void __launch_bounds__(kExpandThreads) ExpandKernel(SinusoidsTask task, double2* out) {
  const long long cell = task.first_cell + blockIdx.x;
  const long long grid_row = cell / task.row_cells;
  const double* const row =
      static_cast<const double*>(task.samples) +
      ((grid_row - task.first_row) * task.num_rows + blockIdx.y) * task.sample_stride;
  const double first = static_cast<double>((cell - grid_row * task.row_cells) << task.log2_points);
  const double centre = first + 0.5 * static_cast<double>((1ll << task.log2_points) - 1);
  const double turns = __fma_rn(centre, task.step, task.begin) * task.sampling_interval_s;
  const double middle = 0.5 * static_cast<double>(task.num_samples - 1);
  const double to_tau = 2.0 / static_cast<double>(task.num_samples);
  double re[kCellTerms], im[kCellTerms];
#pragma unroll
  for (int k = 0; k < kCellTerms; ++k) re[k] = im[k] = 0.0;
  for (int n = static_cast<int>(threadIdx.x); n < task.num_samples; n += kExpandThreads) {
    const double t = static_cast<double>(n) - middle;
    const double phase = turns * t;
    const double error = __fma_rn(turns, t, -phase);
    double sine, cosine;
    SineAndCosine((phase - rint(phase)) + error, &sine, &cosine);
    const double tau = t * to_tau;
    double p = __ldg(row + n) * cosine;
    double q = __ldg(row + n) * -sine;
#pragma unroll
    for (int k = 0; k < kCellTerms; ++k) {
      re[k] += p;
      im[k] += q;
      p *= tau;
      q *= tau;
    }
  }
  __shared__ double2 sums[kExpandThreads / 32][kCellTerms];
#pragma unroll
  for (int k = 0; k < kCellTerms; ++k) {
    for (int lane = 16; lane > 0; lane /= 2) {
      re[k] += __shfl_xor_sync(0xffffffffu, re[k], lane);
      im[k] += __shfl_xor_sync(0xffffffffu, im[k], lane);
    }
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32][k] = make_double2(re[k], im[k]);
  }
  __syncthreads();
  const int k = static_cast<int>(threadIdx.x);
  if (k >= kCellTerms) return;
  double a = 0.0;
  double b = 0.0;
  for (int warp = 0; warp < kExpandThreads / 32; ++warp) {
    a += sums[warp][k].x;
    b += sums[warp][k].y;
  }
  for (int i = 2; i <= k; ++i) {
    a /= i;
    b /= i;
  }
  // times (-j)^k
  double2 turned = make_double2(a, b);
  if (k % 4 == 1) turned = make_double2(b, -a);
  if (k % 4 == 2) turned = make_double2(-a, -b);
  if (k % 4 == 3) turned = make_double2(-b, a);
  out[(static_cast<size_t>(blockIdx.x) * gridDim.y + blockIdx.y) * kCellTerms + k] = turned;
}

// Makes the polynomials of cells first_cell .. last_cell of `axis` in `out`, and tells *task.
absl::Status LaunchExpand(const Cells& cells, const Axis& axis, int64_t first_cell,
                          int64_t last_cell, double2* out, SinusoidsTask* task,
                          cudaStream_t stream) {
  while (int64_t{1} << task->log2_points < cells.points) ++task->log2_points;
  task->scale = cells.scale;
  task->begin = axis.begin;
  task->step = axis.step;
  task->row_cells = cells.count;
  task->first_cell = first_cell;
  task->coefficients = out;
  const dim3 grid(static_cast<unsigned>(last_cell - first_cell + 1),
                  static_cast<unsigned>(task->num_rows));
  ExpandKernel<<<grid, kExpandThreads, 0, stream>>>(*task, out);
  return cuda::ToStatus(cudaGetLastError(), "ExpandKernel");
}

}  // namespace
}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_GPU_SINUSOIDS_KERNELS_CUH_
