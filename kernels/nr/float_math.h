// Single-precision arithmetic that gives the same bits on host and device: every operation is
// rounded by itself, to nearest, ties to even. Nothing here is fused, reassociated or flushed to
// zero.
//
// On the device these are intrinsics that nvcc leaves alone. Host files that use them are compiled
// with -ffp-contract=off, for GCC fuses otherwise where the processor can.
#ifndef BASEBAND_KERNELS_NR_FLOAT_MATH_H_
#define BASEBAND_KERNELS_NR_FLOAT_MATH_H_

#include <cstdint>

#include "kernels/base/host_device.h"

#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif
#ifndef __CUDA_ARCH__
#include <cmath>
#include <cstring>
#endif

namespace baseband::nr {

BASEBAND_HOST_DEVICE inline float MulRn(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

BASEBAND_HOST_DEVICE inline float AddRn(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

BASEBAND_HOST_DEVICE inline float SubRn(float a, float b) { return AddRn(a, -b); }

BASEBAND_HOST_DEVICE inline float DivRn(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}

// To the nearest integer, ties to even; as a float. Any finite value.
BASEBAND_HOST_DEVICE inline float RoundRn(float value) {
#ifdef __CUDA_ARCH__
  return rintf(value);
#else
  return std::nearbyint(value);  // nobody changes the rounding mode
#endif
}

// RoundRn of |value| <= 2^22 as an integer.
BASEBAND_HOST_DEVICE inline int RoundToInt(float value) {
#ifdef __CUDA_ARCH__
  // From 1.5 * 2^23 on, floats are integers. The instructions for it take four times as long.
  return __float_as_int(__fadd_rn(value, 12582912.0f)) - 0x4b400000;
#else
  return static_cast<int>(RoundRn(value));
#endif
}

// `low` for NaN.
BASEBAND_HOST_DEVICE inline float Clamp(float value, float low, float high) {
#ifdef __CUDA_ARCH__
  return fminf(fmaxf(value, low), high);
#else
  return value >= low ? (value <= high ? value : high) : low;
#endif
}

BASEBAND_HOST_DEVICE inline uint32_t BitsOf(float value) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(value);
#else
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
#endif
}

BASEBAND_HOST_DEVICE inline float FloatOfBits(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
#endif
}

// Neither NaN nor infinite.
BASEBAND_HOST_DEVICE inline bool IsFinite(float value) {
  return (BitsOf(value) & 0x7f800000u) != 0x7f800000u;
}

// IEEE binary16. Exact; a NaN stays one.
BASEBAND_HOST_DEVICE inline float FloatOfHalf(uint16_t half) {
#ifdef __CUDA_ARCH__
  return __half2float(__ushort_as_half(half));
#else
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00) return FloatOfBits(sign | 0x7f800000u | (magnitude & 0x3ff) << 13);
  if (magnitude >= 0x0400) return FloatOfBits(sign | ((magnitude << 13) + 0x38000000u));
  const float value = static_cast<float>(magnitude) * (1.0f / 16777216.0f);  // subnormal
  return sign != 0 ? -value : value;
#endif
}

// To the nearest, ties to even; infinite from 65520 on. `value` is not NaN.
BASEBAND_HOST_DEVICE inline uint16_t HalfOfFloat(float value) {
#ifdef __CUDA_ARCH__
  return __half_as_ushort(__float2half_rn(value));
#else
  const uint32_t bits = BitsOf(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  uint32_t half;
  if (magnitude < 0x38800000u) {  // subnormal or zero: below 2^-14
    // 2^-24 is the last place of the result and that of floats in [0.5, 1).
    half = BitsOf(FloatOfBits(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    const uint32_t odd = magnitude >> 13 & 1;
    half = (magnitude - 0x38000000u + 0xfff + odd) >> 13;
    if (half > 0x7c00) half = 0x7c00;
  }
  return static_cast<uint16_t>(sign | half);
#endif
}

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_FLOAT_MATH_H_
