// Schwefel's function on a GPU. Compiled with --fmad=false, as expressions are.
#include "kernels/base/status_macros.h"
#include "kernels/minimize/gpu/gpu_launch.h"
#include "kernels/minimize/gpu/search_launch.cuh"
#include "kernels/minimize/gpu/trigonometry.cuh"
#include "kernels/minimize/schwefel.h"

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

template <typename T>
absl::Status LaunchAs(int dimensions, const SearchTask& task, int64_t num_blocks,
                      cudaStream_t stream) {
  static_assert(kMaxAxes == 4, "one case each");
  switch (dimensions) {
    case 1:
      return LaunchSearch(task, Schwefel<T, 1>(), num_blocks, stream);
    case 2:
      return LaunchSearch(task, Schwefel<T, 2>(), num_blocks, stream);
    case 3:
      return LaunchSearch(task, Schwefel<T, 3>(), num_blocks, stream);
    default:
      return LaunchSearch(task, Schwefel<T, 4>(), num_blocks, stream);
  }
}

template <typename T>
absl::Status LoadAll() {
  BASEBAND_RETURN_IF_ERROR((LoadSearch<Schwefel<T, 1>>()));
  BASEBAND_RETURN_IF_ERROR((LoadSearch<Schwefel<T, 2>>()));
  BASEBAND_RETURN_IF_ERROR((LoadSearch<Schwefel<T, 3>>()));
  return LoadSearch<Schwefel<T, 4>>();
}

}  // namespace

absl::Status LaunchSchwefel(const Problem& problem, const SearchTask& task, int64_t num_blocks,
                            cudaStream_t stream) {
  const int dimensions = problem.grid().num_axes();
  return problem.settings().precision == Precision::kFloat32
             ? LaunchAs<float>(dimensions, task, num_blocks, stream)
             : LaunchAs<double>(dimensions, task, num_blocks, stream);
}

absl::Status PrepareSchwefel() {
  BASEBAND_RETURN_IF_ERROR(LoadAll<float>());
  return LoadAll<double>();
}

}  // namespace baseband::minimize
