// Samples in and out of device memory: any input format to float32, float32 to any output format.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_SAMPLES_CUH_
#define BASEBAND_KERNELS_DOWNCONVERT_SAMPLES_CUH_

#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/downconvert/gpu_plan.h"
#include "kernels/downconvert/nco_math.h"

namespace baseband::downconvert::gpu {

// The last task with first_block <= block.
template <typename Task>
__device__ __forceinline__ const Task& TaskOf(const Task* tasks, uint32_t num_tasks,
                                              uint32_t block) {
  uint32_t first = 0;
  uint32_t end = num_tasks;
  while (end - first > 1) {
    const uint32_t middle = (first + end) / 2;
    if (tasks[middle].first_block <= block) {
      first = middle;
    } else {
      end = middle;
    }
  }
  return tasks[first];
}

// A sample as it lies in memory, as one number: of small structs the compiler waits for each load
// before it begins the next.
template <InputFormat kFormat>
struct RawOf;
template <>
struct RawOf<InputFormat::kInt8> {
  using Type = uint16_t;
};
template <>
struct RawOf<InputFormat::kInt16> {
  using Type = uint32_t;
};
template <>
struct RawOf<InputFormat::kFloat32> {
  using Type = float2;
};
template <>
struct RawOf<InputFormat::kRealInt8> {
  using Type = signed char;
};
template <>
struct RawOf<InputFormat::kRealInt16> {
  using Type = short;
};
template <>
struct RawOf<InputFormat::kRealFloat32> {
  using Type = float;
};

__device__ __forceinline__ float2 ToFloat(uint16_t v) {
  return make_float2(static_cast<signed char>(v & 0xff), static_cast<signed char>(v >> 8));
}
__device__ __forceinline__ float2 ToFloat(uint32_t v) {
  return make_float2(static_cast<short>(v & 0xffff), static_cast<short>(v >> 16));
}
__device__ __forceinline__ float2 ToFloat(float2 v) { return v; }
__device__ __forceinline__ float ToFloat(signed char v) { return v; }
__device__ __forceinline__ float ToFloat(short v) { return v; }
__device__ __forceinline__ float ToFloat(float v) { return v; }

// A channel's phase words.
struct Oscillator {
  const Anchor* anchors = nullptr;
  int64_t first_anchor = 0;
  uint64_t step = 0;

  // Of sample n, by the last anchor up to it.
  __device__ __forceinline__ uint64_t Word(int64_t n) const {
    const int64_t i = n / kAnchorSpacing - first_anchor;
    const longlong2 anchor = __ldg(reinterpret_cast<const longlong2*>(anchors) + i);
    return static_cast<uint64_t>(anchor.y) + static_cast<uint64_t>(n - anchor.x) * step;
  }

  // Of samples n <= last, n + stride, .., of which the first one's is known; those past `last` as
  // `last`'s or whatever: nobody uses them.
  __device__ __forceinline__ void Words(uint64_t first, int64_t n, uint32_t stride, int64_t last,
                                        uint64_t (&words)[kThreadOutputs]) const {
    const int64_t newest = n + (kThreadOutputs - 1) * stride;
    words[0] = first;
    if (n / kAnchorSpacing == newest / kAnchorSpacing) {
#pragma unroll
      for (uint32_t r = 1; r < kThreadOutputs; ++r) words[r] = words[r - 1] + stride * step;
    } else {
#pragma unroll
      for (uint32_t r = 1; r < kThreadOutputs; ++r) words[r] = Word(min(n + r * stride, last));
    }
  }
};
static_assert(sizeof(Anchor) == sizeof(longlong2));

// amplitude * value * exp(-j 2 pi word / 2^64), rounded the same wherever it is inlined.
__device__ __forceinline__ float2 Turn(float2 value, uint64_t word, float amplitude) {
  const Phasor phasor = PhasorOf(word);
  const float i = __fmul_rn(phasor.i, amplitude);
  const float q = __fmul_rn(phasor.q, amplitude);
  return make_float2(fmaf(value.x, i, __fmul_rn(value.y, q)),
                     fmaf(value.y, i, -__fmul_rn(value.x, q)));
}

// A component as int16; adds 1 to `saturated` if it does not fit, or is NaN.
__device__ __forceinline__ uint32_t ToInt16(float value, uint32_t* saturated) {
  const float scaled = __fmul_rn(value, 32767.0F);
  const int rounded = __float2int_rn(scaled);  // saturates; 0 for NaN
  const int clamped = min(max(rounded, -32768), 32767);
  *saturated += rounded != clamped || scaled != scaled ? 1 : 0;
  return static_cast<uint32_t>(clamped) & 0xffff;
}

__device__ __forceinline__ uint32_t OutputBytes(OutputFormat format) {
  return format == OutputFormat::kFloat32 ? 8 : 4;
}

// One output sample of 4 bytes.
__device__ __forceinline__ uint32_t Pack(OutputFormat format, float2 value, uint32_t* saturated) {
  if (format == OutputFormat::kFloat16) {
    const __half2 half = __floats2half2_rn(value.x, value.y);
    return *reinterpret_cast<const uint32_t*>(&half);
  }
  return ToInt16(value.x, saturated) | ToInt16(value.y, saturated) << 16;
}

// Writes outputs first, first + stride, .. of those of a thread that are below `end`, all at once
// if they lie side by side. `to` is output 0's place. Returns how many components were saturated.
template <uint32_t kCount>
__device__ __forceinline__ uint32_t WriteOutputs(OutputFormat format,
                                                 const float2 (&values)[kCount], int64_t first,
                                                 int64_t end, int64_t stride, uint8_t* to) {
  static_assert(kCount == 2 || kCount % 4 == 0);
  const uint32_t word_bytes = kCount == 2 && format != OutputFormat::kFloat32 ? 8 : sizeof(uint4);
  uint32_t saturated = 0;
  uint8_t* const at = to + first * stride * OutputBytes(format);
  const bool is_whole =
      stride == 1 && first + kCount <= end && reinterpret_cast<uintptr_t>(at) % word_bytes == 0;
  if (format == OutputFormat::kFloat32) {
    if (is_whole) {
#pragma unroll
      for (uint32_t i = 0; i < kCount; i += 2) {
        reinterpret_cast<float4*>(at)[i / 2] =
            make_float4(values[i].x, values[i].y, values[i + 1].x, values[i + 1].y);
      }
      return 0;
    }
#pragma unroll
    for (uint32_t i = 0; i < kCount; ++i) {
      if (first + i < end) reinterpret_cast<float2*>(at)[i * stride] = values[i];
    }
    return 0;
  }
  uint32_t packed[kCount];
#pragma unroll
  for (uint32_t i = 0; i < kCount; ++i) {
    uint32_t unfit = 0;
    packed[i] = Pack(format, values[i], &unfit);
    saturated += first + i < end ? unfit : 0;
  }
  if (is_whole) {
    if constexpr (kCount == 2) {
      *reinterpret_cast<uint2*>(at) = make_uint2(packed[0], packed[1]);
    } else {
#pragma unroll
      for (uint32_t i = 0; i < kCount; i += 4) {
        reinterpret_cast<uint4*>(at)[i / 4] =
            make_uint4(packed[i], packed[i + 1], packed[i + 2], packed[i + 3]);
      }
    }
    return saturated;
  }
#pragma unroll
  for (uint32_t i = 0; i < kCount; ++i) {
    if (first + i < end) reinterpret_cast<uint32_t*>(at)[i * stride] = packed[i];
  }
  return saturated;
}

}  // namespace baseband::downconvert::gpu

#endif  // BASEBAND_KERNELS_DOWNCONVERT_SAMPLES_CUH_
