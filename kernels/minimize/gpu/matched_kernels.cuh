// Matched filters on a GPU: what matched_gpu.cu launches. Device code, included once.
#ifndef BASEBAND_KERNELS_MINIMIZE_GPU_MATCHED_KERNELS_CUH_
#define BASEBAND_KERNELS_MINIMIZE_GPU_MATCHED_KERNELS_CUH_

#include "kernels/minimize/functionals/matched_math.h"
#include "kernels/minimize/gpu/sinusoids_kernels.cuh"

namespace baseband::minimize {
namespace {

struct RowsTask {
  const double* signal = nullptr;  // [2][num_samples]
  const double* table = nullptr;   // MatchedFunctional::table; null: a chirp
  int table_stride = 0;
  int num_samples = 0;
  double sampling_interval_s = 0.0;
  long long first_row = 0;
  int sample_stride = 0;
  int upper_axes = 1;  // 1 or 2
};

constexpr int kRowsThreads = 256;
constexpr int kRowsSamples = 4 * kRowsThreads;

// y conj(s) of one row of the grid, out[row][2][sample_stride], zero past the end; blockIdx.x is
// the row, blockIdx.y a part of its samples.
template <typename T, bool kIsChirp>
__global__ void __launch_bounds__(kRowsThreads)
    RowsKernel(const __grid_constant__ SearchTask search, const __grid_constant__ RowsTask task,
               T* out) {
  const long long row = task.first_row + blockIdx.x;
  double u[2];
  if (task.upper_axes == 2) {
    u[0] = SearchPoint<1>::Coordinate(search, 0, static_cast<double>(row / search.count[1]));
    u[1] = SearchPoint<1>::Coordinate(search, 1, static_cast<double>(row % search.count[1]));
  } else {
    u[0] = SearchPoint<1>::Coordinate(search, 0, static_cast<double>(row));
  }
  ChirpRates rates;
  DelayPlace place;
  __shared__ double weights[kDelayTaps];
  if constexpr (kIsChirp) {
    rates = ChirpRatesOf(u, task.upper_axes, task.sampling_interval_s);
  } else {
    place = DelayPlaceOf(u[0], task.sampling_interval_s, task.num_samples);
    if (threadIdx.x < kDelayTaps) {
      weights[threadIdx.x] = DelayWeight(place, static_cast<int>(threadIdx.x));
    }
    __syncthreads();
  }
  T* const to = out + static_cast<size_t>(blockIdx.x) * 2 * task.sample_stride;
  const int begin = static_cast<int>(blockIdx.y) * kRowsSamples;
  const int end = min(begin + kRowsSamples, task.sample_stride);
  for (int n = begin + static_cast<int>(threadIdx.x); n < end; n += kRowsThreads) {
    double re = 0.0;
    double im = 0.0;
    if (n < task.num_samples) {
      if constexpr (kIsChirp) {
        const double m = 2.0 * n - static_cast<double>(task.num_samples - 1);
        SineAndCosine(ChirpTurns(rates, m), &im, &re);
      } else {
        const int passed = n + place.first_half >= task.num_samples ? task.num_samples : 0;
        const double* const whole = task.table + (place.first_whole + n - passed);
        const double* const half = task.table + 2 * static_cast<size_t>(task.table_stride) +
                                   (place.first_half + n - passed);
#pragma unroll
        for (int i = 0; i < kPhaseTaps; ++i) {
          re += weights[i] * __ldg(whole + i) + weights[kPhaseTaps + i] * __ldg(half + i);
          im += weights[i] * __ldg(whole + task.table_stride + i) +
                weights[kPhaseTaps + i] * __ldg(half + task.table_stride + i);
        }
      }
      const double y_re = __ldg(task.signal + n);
      const double y_im = __ldg(task.signal + task.num_samples + n);
      const double a = y_re * re + y_im * im;
      im = y_im * re - y_re * im;
      re = a;
    }
    to[n] = static_cast<T>(re);
    to[task.sample_stride + n] = static_cast<T>(im);
  }
}

// Blocks of a row by Horner's rule in exp(-j w), half the work of turning phasors; blocks by
// phasors of their own. The stride, a multiple of kTogether, is summed whole: past the end there
// are zeros.
template <typename T, int kGridAxes>
struct MatchedHoisted {
  using Real = T;
  static constexpr int kAxes = kGridAxes;
  static constexpr int kPoints = 1;
  SinusoidsTask task;

  __device__ __forceinline__ void operator()(const SearchPoint<kAxes>* point, Real* value) const {
    constexpr int kTogether = 4;
    const long long row = RowOf<kAxes>(task, *point) - task.first_row;
    const Real* const samples =
        static_cast<const Real*>(task.samples) + row * 2 * task.sample_stride;
    const double turns = point->x[kAxes - 1] * task.sampling_interval_s;
    const double middle = 0.5 * static_cast<double>(task.num_samples - 1);
    double sine, cosine;
    SineAndCosine(turns, &sine, &cosine);
    const auto step_re = static_cast<Real>(cosine);
    const auto step_im = static_cast<Real>(-sine);
    Real sum_re = Real(0);
    Real sum_im = Real(0);
    for (int begin = 0; begin < task.sample_stride; begin += kPhasorBlock) {
      Real re = Real(0);
      Real im = Real(0);
      for (int n = min(begin + kPhasorBlock, task.sample_stride) - kTogether; n >= begin;
           n -= kTogether) {
        Real x_re[kTogether], x_im[kTogether];
        LoadSample<Real, kTogether>(samples + n, x_re);
        LoadSample<Real, kTogether>(samples + task.sample_stride + n, x_im);
#pragma unroll
        for (int k = kTogether - 1; k >= 0; --k) {
          const Real next = (re * step_re + x_re[k]) - im * step_im;
          im = (re * step_im + x_im[k]) + im * step_re;
          re = next;
        }
      }
      const double t = static_cast<double>(begin) - middle;
      const double whole = rint(turns * t);
      SineAndCosine(__fma_rn(turns, t, -whole), &sine, &cosine);
      const auto at_re = static_cast<Real>(cosine);
      const auto at_im = static_cast<Real>(-sine);
      sum_re += re * at_re - im * at_im;
      sum_im += re * at_im + im * at_re;
    }
    const Real c[2] = {sum_re, sum_im};
    const Real s[2] = {Real(0), Real(0)};
    *value = ValueOf<2>(task, turns, c, s);
  }
};

}  // namespace
}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_GPU_MATCHED_KERNELS_CUH_
