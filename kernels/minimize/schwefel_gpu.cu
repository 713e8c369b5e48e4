// Schwefel's function on a GPU. Compiled with --fmad=false, as expressions are.
#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"
#include "kernels/minimize/gpu_launch.h"
#include "kernels/minimize/schwefel.h"
#include "kernels/minimize/search_kernel.cuh"
#include "kernels/minimize/trigonometry.cuh"

namespace baseband::minimize {
namespace {

__device__ __forceinline__ float Term(float x, float value) {
  return __fmaf_rn(-x, Sine(sqrtf(fabsf(x))), value);
}
__device__ __forceinline__ double Term(double x, double value) {
  return __fma_rn(-x, Sine(sqrt(fabs(x))), value);
}

template <typename T, int kDimensions>
struct Schwefel {
  using Real = T;
  static constexpr int kAxes = kDimensions;
  static constexpr int kPoints = kSearchCheapPoints / kAxes;
  __device__ __forceinline__ void operator()(const SearchPoint<kAxes>* points, Real* values) const {
#pragma unroll
    for (int u = 0; u < kPoints; ++u) {
      Real sum = static_cast<Real>(kAxes * kSchwefelConstant);
#pragma unroll
      for (int k = 0; k < kAxes; ++k) sum = Term(static_cast<Real>(points[u].x[k]), sum);
      values[u] = sum;
    }
  }
};

template <typename T, int kDimensions>
__global__ void __launch_bounds__(kSearchThreads)
    SchwefelKernel(const __grid_constant__ SearchTask task) {
  SearchBlock(task, Schwefel<T, kDimensions>());
}

using Kernel = void (*)(SearchTask);
constexpr Kernel kKernels[2][kMaxAxes] = {{SchwefelKernel<float, 1>, SchwefelKernel<float, 2>,
                                           SchwefelKernel<float, 3>, SchwefelKernel<float, 4>},
                                          {SchwefelKernel<double, 1>, SchwefelKernel<double, 2>,
                                           SchwefelKernel<double, 3>, SchwefelKernel<double, 4>}};

}  // namespace

absl::Status LaunchSchwefel(const Problem& problem, const SearchTask& task, int64_t num_blocks,
                            cudaStream_t stream) {
  const bool is_double = problem.settings().precision == Precision::kFloat64;
  const Kernel kernel = kKernels[is_double ? 1 : 0][problem.grid().num_axes() - 1];
  kernel<<<static_cast<unsigned>(num_blocks), kSearchThreads, 0, stream>>>(task);
  return cuda::ToStatus(cudaGetLastError(), "SchwefelKernel");
}

absl::Status PrepareSchwefel() {
  for (const auto& of_precision : kKernels) {
    for (const Kernel kernel : of_precision) {
      cudaFuncAttributes attributes;
      BASEBAND_RETURN_IF_ERROR(
          cuda::ToStatus(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)),
                         "cudaFuncGetAttributes"));
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::minimize
