// The arithmetic of the half-precision decoder kernels. Device code.
//
// The engine of decode.h in half precision. Two code words, a pair, ride in the halves of a 32-bit
// word: the first in the low half. Everything is exact, for a half holds every integer up to 2048:
//
//   app is stored as (app + 128) * 2^-14. |app| <= 1919, so app + 128 and app - r fit.
//   a message r is stored as the byte u = r + 128, or padded where it has a word alone. Padded to a
//   half's bit pattern 0x00uu it is the
//     denormal u * 2^-24, and one fused multiply-add takes it off again:
//       q = fma(u * 2^-24, -2^10, (app + 128) * 2^-14) = (app - r) * 2^-14
//   scaling and rounding of x = m * 2^-14 is one more, for denormals are 2^-24 apart:
//       y = fma(x, factor * 2^-21, 128 * 2^-24) = (128 + round(m * factor / 2048)) * 2^-24
//     rounded once, to the nearest integer; an odd factor has no ties. y's bit pattern is the new
//     message, padded.
//   an offset takes two more, for x cut to one unit is the sign or, if x is zero, zero:
//       y = fma(BoxPlus(x, 2^-14), -2^-10 * offset, y)
//     With a factor above 1/2 an m of 1 scales to 1, so that no maximum is needed.
//   then app + 128 = q + (r + 128):  fma(y, 2^10, q).
#ifndef BASEBAND_KERNELS_LDPC_DECODE_HALF_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_HALF_CUH_

#include <cstdint>

#include "kernels/base/host_device.h"

namespace baseband::ldpc::device {

// A number in both halves.
BASEBAND_HOST_DEVICE constexpr uint32_t Both(uint32_t half_bits) {
  return half_bits << 16 | half_bits;
}

inline constexpr uint32_t kHalf128 = Both(0x0080);       // 128 * 2^-24
inline constexpr uint32_t kHalfMinus128 = Both(0xa000);  // -128 * 2^-14
inline constexpr uint32_t kHalfMinus127 = Both(0x9ff0);  // -127 * 2^-14
inline constexpr uint32_t kHalfUnit = Both(0x0400);      // 2^-14
inline constexpr uint32_t kHalfTwoTo10 = Both(0x6400);
inline constexpr uint32_t kHalfTwoToMinus10 = Both(0x1400);
inline constexpr uint32_t kHalfMinusTwoTo10 = Both(0xe400);
inline constexpr uint32_t kSigns = Both(0x8000);
inline constexpr uint32_t kNoMessages = 0x80808080;  // r = 0 four times

__device__ __forceinline__ uint32_t Fma2(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t d;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

__device__ __forceinline__ uint32_t Add2(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

__device__ __forceinline__ uint32_t Max2(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("max.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

__device__ __forceinline__ uint32_t Min2(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("min.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// The check node of two bits: sign(a) * sign(b) * min(|a|, |b|). Associative, so a check of many
// bits is a chain of it; a limit on the magnitude is one more positive operand.
__device__ __forceinline__ uint32_t BoxPlus(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("min.xorsign.abs.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// What makes a message of a check's x: numbers in both halves.
struct MessageScale {
  uint32_t factor;  // * 2^-21
  uint32_t offset;  // * -2^-10

  // y = 128 + r, or r alone with a `bias` of 0.
  __device__ __forceinline__ uint32_t Of(uint32_t x, uint32_t bias = kHalf128) const {
    return Fma2(BoxPlus(x, kHalfUnit), offset, WithoutOffset(x, bias));
  }
  __device__ __forceinline__ uint32_t WithoutOffset(uint32_t x, uint32_t bias = kHalf128) const {
    return Fma2(x, factor, bias);
  }
};

// Messages 0 or 1 of a word (two edges of two code words) as denormals; and two edges' y packed.
//   word = u(edge 0, first), u(edge 0, second), u(edge 1, first), u(edge 1, second)
__device__ __forceinline__ uint32_t UnpackMessage(uint32_t word, int edge) {
  return __byte_perm(word, 0, edge == 0 ? 0x4140 : 0x4342);
}
__device__ __forceinline__ uint32_t PackMessages(uint32_t y0, uint32_t y1) {
  return __byte_perm(y0, y1, 0x6420);
}

// Where a check's bit lies in its column, in bytes of 4 a row: (row4 + shift4) mod zc4. Below zc4
// the subtraction wraps to a huge number, so the minimum picks the right one.
__device__ __forceinline__ uint32_t Rotate(uint32_t row4, uint32_t shift4, uint32_t minus_zc4) {
  const uint32_t sum = row4 + shift4;
  return __viaddmin_u32(sum, minus_zc4, sum);
}

// x, but the compiler does not know: keeps it from folding the making of x into every use, and
// what is made of x from moving out of a loop.
__device__ __forceinline__ uint32_t Opaque(uint32_t x) {
  asm volatile("" : "+r"(x));
  return x;
}

// x / zc by multiplication: magic = floor(2^32 / zc) + 1, 0 for zc = 1. Exact for x < 2^17.
__device__ __forceinline__ uint32_t Divide(uint32_t x, uint32_t magic) {
  return magic != 0 ? __umulhi(x, magic) : x;
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_HALF_CUH_
