// Inside of planning: how what a plan holds is measured and placed.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_GPU_PLAN_SIZES_H_
#define BASEBAND_KERNELS_DOWNCONVERT_GPU_PLAN_SIZES_H_

#include <cstdint>

#include "kernels/downconvert/gpu_plan.h"

namespace baseband::downconvert::gpu {

inline constexpr uint32_t kAlignment = 16;  // bytes, of whatever a kernel reads as vectors
inline constexpr uint64_t kComplexBytes = 2 * sizeof(float);

template <typename T>
constexpr T RoundUp(T value, T multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Of the samples that `warps` have side by side, computed exactly, in shared memory: fixed_shape.h.
uint32_t FixedBytes(const TapWalk& walk, InputFormat format, uint32_t warps);

constexpr uint32_t CeilDiv(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

}  // namespace baseband::downconvert::gpu

#endif  // BASEBAND_KERNELS_DOWNCONVERT_GPU_PLAN_SIZES_H_
