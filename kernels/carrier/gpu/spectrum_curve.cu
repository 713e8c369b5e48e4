// The curve of every method but the sweep: power of the transformed line over its mean, the
// greatest half bin of each interval (CurveOf, recover.cc).
#include "kernels/carrier/gpu/recover_launch.h"
#include "kernels/carrier/gpu/recover_task.cuh"

namespace baseband::carrier {
namespace {

constexpr unsigned kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    SpectrumCurveKernel(const __grid_constant__ RecoverTask task) {
  const uint32_t f = blockIdx.x;
  const FrameState& state = task.states[f];
  const int points = 1 << task.log2_line;
  if (state.bad != 0 || state.silent != 0) return;  // filled with zeros later
  const SpectrumCurve shape = SpectrumCurveOf(task.model, task.parameters, points);
  const int half_bins = 2 * shape.last_half_bin + 1;
  const HalfBin half = state.search.half;
  const float2* const line = task.line + (static_cast<size_t>(f) << task.log2_line);
  const auto over_mean = static_cast<float>(1.0 / state.line_energy);
  auto* const curve = reinterpret_cast<float*>(task.output + task.frames[f].curve_offset);
  const auto lane = static_cast<int>(threadIdx.x % 32);
  for (int point = static_cast<int>(threadIdx.x / 32); point < shape.num_points;
       point += static_cast<int>(kThreads / 32)) {
    float greatest = 0.0F;
    for (int i = point * shape.group + lane; i < min((point + 1) * shape.group, half_bins);
         i += 32) {
      const int half_bin = i - shape.last_half_bin;
      const int bin = half_bin >> 1;
      const float2 here = line[bin & (points - 1)];
      float power = fmaf(here.x, here.x, here.y * here.y);
      if ((half_bin & 1) != 0) {
        const float2 next = line[(bin + 1) & (points - 1)];
        const float re = here.x + fmaf(half.turn.c, next.x, -half.turn.s * next.y);
        const float im = here.y + fmaf(half.turn.c, next.y, half.turn.s * next.x);
        power = fmaf(re, re, im * im) * half.scale;
      }
      greatest = fmaxf(greatest, power);
    }
    for (int apart = 16; apart > 0; apart /= 2) {
      greatest = fmaxf(greatest, __shfl_xor_sync(0xffffffffU, greatest, apart));
    }
    if (lane == 0) curve[point] = greatest * over_mean;
  }
}

}  // namespace

absl::Status LaunchSpectrumCurve(const RecoverTask& task, cudaStream_t stream) {
  SpectrumCurveKernel<<<task.num_frames, kThreads, 0, stream>>>(task);
  return cuda::ToStatus(cudaGetLastError(), "SpectrumCurveKernel");
}

}  // namespace baseband::carrier
