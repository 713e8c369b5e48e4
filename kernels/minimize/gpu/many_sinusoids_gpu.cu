// Several sinusoids on a GPU: a point reads the correlations of its coordinates.
#include <cstring>

#include "kernels/base/status_macros.h"
#include "kernels/minimize/functionals/many_sinusoids_data.h"
#include "kernels/minimize/functionals/many_sinusoids_math.h"
#include "kernels/minimize/gpu/gpu_launch.h"
#include "kernels/minimize/gpu/search_launch.cuh"

namespace baseband::minimize {
namespace {

template <typename T, int kSinusoids>
struct ManySinusoids {
  using Real = T;
  static constexpr int kAxes = kSinusoids;
  static constexpr int kPoints = 1;
  ManySinusoidsTask task;
  double sampling_interval_s;

  __device__ __forceinline__ void operator()(const SearchPoint<kAxes>* point, Real* value) const {
    const double* at[kAxes];
    double turns[kAxes];
    const long long stride = (task.is_complex ? 4 : 2) * (1 + task.num_columns);
#pragma unroll
    for (int k = 0; k < kAxes; ++k) {
      at[k] = task.table + (task.axis_offset[k] + point->On(k)) * stride;
      turns[k] = point->x[k] * sampling_interval_s;
    }
    *value = static_cast<Real>(ValueOfMany<kAxes>(task, at, turns));
  }
};

const ManySinusoidsFunctional& Of(const Problem& problem) {
  return static_cast<const ManySinusoidsFunctional&>(problem.functional());
}

template <typename T, int kSinusoids>
absl::Status Launch(const PieceLaunch& launch, const SearchTask& search, int64_t num_blocks,
                    cudaStream_t stream) {
  ManySinusoids<T, kSinusoids> functor{Of(*launch.problem).task(),
                                       Of(*launch.problem).shape().sampling_interval_s};
  functor.task.table = reinterpret_cast<const double*>(launch.image);
  return LaunchSearch(search, functor, num_blocks, stream);
}

template <typename T>
absl::Status LaunchAs(const PieceLaunch& launch, const SearchTask& search, int64_t num_blocks,
                      cudaStream_t stream) {
  return launch.problem->grid().num_axes() == 2 ? Launch<T, 2>(launch, search, num_blocks, stream)
                                                : Launch<T, 3>(launch, search, num_blocks, stream);
}

}  // namespace

int64_t ManySinusoidsImageBytes(const Problem& problem) {
  return static_cast<int64_t>(Of(problem).table().size() * sizeof(double));
}

void WriteManySinusoidsImage(const Problem& problem, uint8_t* image) {
  std::memcpy(image, Of(problem).table().data(),
              static_cast<size_t>(ManySinusoidsImageBytes(problem)));
}

absl::Status LaunchManySinusoids(const PieceLaunch& launch, const SearchTask& search,
                                 int64_t num_blocks, cudaStream_t stream) {
  return launch.problem->settings().precision == Precision::kFloat32
             ? LaunchAs<float>(launch, search, num_blocks, stream)
             : LaunchAs<double>(launch, search, num_blocks, stream);
}

absl::Status PrepareManySinusoids() {
  BASEBAND_RETURN_IF_ERROR((LoadSearch<ManySinusoids<float, 2>>()));
  BASEBAND_RETURN_IF_ERROR((LoadSearch<ManySinusoids<float, 3>>()));
  BASEBAND_RETURN_IF_ERROR((LoadSearch<ManySinusoids<double, 2>>()));
  return LoadSearch<ManySinusoids<double, 3>>();
}

}  // namespace baseband::minimize
