// The arithmetic of the sum-product decoders. Device code.
//
// LLRs are in units of ln 2, so that the hardware's powers and logarithms of 2 serve. With
// x = 2^-|q|, tanh of half the LLR is (1 - x) / (1 + x), and two bits' check node is
// x = (x1 + x2) / (1 + x1 x2). Numerator and denominator are carried apart, so that a message costs
// no division; both stay below 2^32. A power is off by at most 2^-21 of itself, a logarithm by
// 2^-22 or by 2^-21 of itself, whichever is more.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_ODDS_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_ODDS_CUH_

#include <cstdint>

#include "kernels/ldpc/decode.h"
#include "kernels/ldpc/decode_device.cuh"
#include "kernels/ldpc/unroll.cuh"

namespace baseband::ldpc::device {

inline constexpr float kLn2 = 0.693147180559945309f;
inline constexpr float kOddsLimit = kSumProductLimit / kLn2;

struct Odds {
  float numerator = 0.0f;
  float denominator = 1.0f;

  // Rounded alike where `other` knows nothing, its parts equal: then so are those of the result.
  __device__ __forceinline__ Odds And(const Odds& other) const {
    return {__fmaf_rn(numerator, other.denominator, denominator * other.numerator),
            __fmaf_rn(numerator, other.numerator, denominator * other.denominator)};
  }
  // The same with odds of denominator 1.
  __device__ __forceinline__ Odds And(float x) const {
    return {__fmaf_rn(denominator, x, numerator), __fmaf_rn(numerator, x, denominator)};
  }
  // log2 of the quotient: |message|, but for its limits.
  __device__ __forceinline__ float Logarithm() const {
    float above;
    float below;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(above) : "f"(denominator));
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(below) : "f"(numerator));
    return above - below;
  }
  // |message| / kOddsLimit: one instruction keeps it between 0 and 1.
  __device__ __forceinline__ float Fraction() const {
    return __saturatef(Logarithm() * (1.0f / kOddsLimit));
  }
  // |message|.
  __device__ __forceinline__ float Magnitude() const {
    return fminf(fmaxf(Logarithm(), 0.0f), kOddsLimit);
  }
};

// x of q.
__device__ __forceinline__ float ToOdds(float q) {
  float x;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(x) : "f"(-fminf(fabsf(q), kOddsLimit)));
  return x;
}

// LLRs as they are received, and as they are asked for. Of a product that is added to, no compiler
// chooses whether it is rounded: kernels for one code word and for several give the same results.
__device__ __forceinline__ float ToUnits(float llr, float llr_scale) {
  return __fmul_rn(__fdiv_rn(llr, llr_scale), 1.0f / kLn2);
}
__device__ __forceinline__ float OddsChannel(const DecodeShape& shape, const DecodeBlock& block,
                                             float llr_scale, uint32_t bit) {
  if (bit < shape.k && bit >= shape.k - block.num_filler) return kLlrMax / kLn2;
  return ToUnits(static_cast<float>(LoadChannel(shape, block, block.llr, bit)), llr_scale);
}
__device__ __forceinline__ int OddsToSoft(float app, float llr_scale) {
  const float limit = kLlrMax;
  return __float2int_rn(fmaxf(-limit, fminf(limit, app * kLn2 * llr_scale)));
}

// |magnitude| with the sign bit of `signs`.
__device__ __forceinline__ float WithSign(float magnitude, uint32_t signs) {
  return __uint_as_float((__float_as_uint(magnitude) & 0x7fffffffu) | (signs & 0x80000000u));
}

// Both of two bits.
__device__ __forceinline__ Odds And(float a, float b) { return {a + b, __fmaf_rn(a, b, 1.0f)}; }

// Calls with_each(e, odds of all x but x[e]) for every e.
template <int kBits, typename WithEach>
__device__ __forceinline__ void ForEachLeftOut(const float (&x)[kBits], const WithEach& with_each) {
  static_assert(kBits >= 3);
  constexpr int kLast = kBits - 1;
  Odds behind[kBits];  // all from x[e] on, e in 1 .. kLast - 1
  behind[kLast - 1] = And(x[kLast - 1], x[kLast]);
  Unroll<kBits - 3>([&](auto j) {
    constexpr int kE = kLast - 2 - j;
    behind[kE] = behind[kE + 1].And(x[kE]);
  });
  Odds before = And(x[0], x[1]);  // all before x[e], e in 2 .. kLast
  Unroll<kBits>([&](auto e) {
    if constexpr (e == 0) {
      with_each(e, behind[1]);
    } else if constexpr (e == 1 && kBits == 3) {
      with_each(e, And(x[0], x[2]));
    } else if constexpr (e == 1) {
      with_each(e, behind[2].And(x[0]));
    } else if constexpr (e == kLast) {
      with_each(e, before);
    } else {
      if constexpr (e == kLast - 1) {
        with_each(e, before.And(x[kLast]));
      } else {
        with_each(e, before.And(behind[e + 1]));
      }
      before = before.And(x[e]);
    }
  });
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_ODDS_CUH_
