// From one equalised symbol to the LLRs of its bits, to the bit the same on both devices.
//
// With noise of variance N0 (both parts together) on y, and t = y / unit on one axis, whose levels
// l are odd integers,
//   L_k = ln( sum over l with bit k = 0 of exp(-g (t - l)^2) ) - ln( the same with bit k = 1 ),
//   g = unit^2 / N0.
// Max-log keeps the nearest level of either sum: L_k = g ((t - l1)^2 - (t - l0)^2). For the sign of
// M levels, the nearest of the same sign as t is 2 j + 1, the nearest of the other is 1 off zero:
//   L_0 = 4 g sign(t) (j + 1) (|t| - j),  j = min(floor(|t| / 2), M / 2 - 1).
// The next bit says which half of the magnitudes it is. Its levels are the same on both sides of
// zero and symmetric about M / 2 on either, so that it is the sign of M / 2 levels seen from
// t' = M / 2 - |t|; and so on. No step of this is an approximation.
#ifndef BASEBAND_KERNELS_NR_DEMAP_MATH_H_
#define BASEBAND_KERNELS_NR_DEMAP_MATH_H_

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/nr/float_math.h"
#include "kernels/nr/modulation_math.h"

namespace baseband::nr {

// What holds for all symbols of a block; MakeDemapScale makes it on the host.
struct DemapScale {
  float to_level = 0.0f;   // a value of the buffer times this is t
  float numerator = 0.0f;  // over N0 it is the gain: 4 unit^2 llr_scale for max-log, else unit^2
  float llr_scale = 0.0f;
};

// Held inside these, no product below overflows, and no LLR changes that is not 0 or +-127 anyway.
inline constexpr float kMaxLevel = 1e18f;
inline constexpr float kMinGain = 1e-30f;
inline constexpr float kMaxGain = 1e18f;
// Beyond this, natural LLRs of the log-sum are those of max-log.
inline constexpr float kLogSumLimit = 80.0f;

// Whether a noise variance can be used.
BASEBAND_HOST_DEVICE inline bool IsVariance(float n0) { return IsFinite(n0) && n0 > 0.0f; }

BASEBAND_HOST_DEVICE inline float GainOf(const DemapScale& scale, float n0) {
  return Clamp(DivRn(scale.numerator, n0), kMinGain, kMaxGain);
}

BASEBAND_HOST_DEVICE inline float ToLevel(const DemapScale& scale, float value) {
  return Clamp(MulRn(value, scale.to_level), -kMaxLevel, kMaxLevel);
}

BASEBAND_HOST_DEVICE inline float Magnitude(float value) {
  return FloatOfBits(BitsOf(value) & 0x7fffffff);
}
BASEBAND_HOST_DEVICE inline float WithSignOf(float magnitude, float sign) {
  return FloatOfBits(BitsOf(magnitude) | (BitsOf(sign) & 0x80000000u));
}
// Rounded down. 0 <= value <= 2^22.
BASEBAND_HOST_DEVICE inline float Floor(float value) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(__fadd_rd(value, 8388608.0f), -8388608.0f);  // as RoundToInt
#else
  return std::floor(value);
#endif
}

// j above.
template <int kLevels>
BASEBAND_HOST_DEVICE inline float Segment(float magnitude) {
  return Floor(Clamp(MulRn(magnitude, 0.5f), 0.0f, static_cast<float>(kLevels / 2 - 1)));
}

// L_0 / 4 g of kLevels levels.
template <int kLevels>
BASEBAND_HOST_DEVICE inline float SignMetric(float t) {
  const float magnitude = Magnitude(t);
  if constexpr (kLevels == 2) return t;
  const float j = Segment<kLevels>(magnitude);
  return WithSignOf(MulRn(AddRn(j, 1.0f), SubRn(magnitude, j)), t);
}

// L_k / 4 g of the max-log, k = 0 .. kH - 1.
template <int kH>
BASEBAND_HOST_DEVICE inline void AxisMetrics(float t, float* metrics) {
  metrics[0] = SignMetric<1 << kH>(t);
  if constexpr (kH > 1) {
    AxisMetrics<kH - 1>(SubRn(static_cast<float>(1 << (kH - 1)), Magnitude(t)), metrics + 1);
  }
}

// A natural or scaled LLR in the output's format. Not NaN.
BASEBAND_HOST_DEVICE inline int8_t ToLlr(float llr) {
  return static_cast<int8_t>(RoundToInt(Clamp(llr, -127.0f, 127.0f)));
}

// exp(x) for x <= 0, zero below -87; within 4e-6 of it, relatively.
BASEBAND_HOST_DEVICE inline float ExpOfNegative(float x) {
  if (!(x >= -87.0f)) return 0.0f;
  const float n = RoundRn(MulRn(x, 1.44269504f));
  const float r = SubRn(SubRn(x, MulRn(n, 0.693359375f)), MulRn(n, -2.12194440e-4f));
  float e = AddRn(MulRn(r, 1.0f / 120.0f), 1.0f / 24.0f);
  e = AddRn(MulRn(r, e), 1.0f / 6.0f);
  e = AddRn(MulRn(r, e), 0.5f);
  e = AddRn(MulRn(r, e), 1.0f);
  e = AddRn(MulRn(r, e), 1.0f);
  const int exponent = static_cast<int>(n) + 127;  // 1 .. 127
  return MulRn(e, FloatOfBits(static_cast<uint32_t>(exponent) << 23));
}

// ln(x) for normal x > 0; within 4e-6 of it and of its 2^-22.
BASEBAND_HOST_DEVICE inline float LogOf(float x) {
  // x = 2^n m with m in [sqrt(1/2), sqrt(2)).
  const uint32_t shifted = BitsOf(x) - 0x3f3504f3u;
  const auto n = static_cast<float>(static_cast<int32_t>(shifted) >> 23);
  const float m = FloatOfBits((shifted & 0x007fffffu) + 0x3f3504f3u);
  // ln(m) = 2 artanh(s)
  const float s = DivRn(SubRn(m, 1.0f), AddRn(m, 1.0f));
  const float s2 = MulRn(s, s);
  float log = AddRn(MulRn(s2, 0.4f), 2.0f / 3.0f);
  log = AddRn(MulRn(s2, log), 2.0f);
  return AddRn(MulRn(n, 0.69314718f), MulRn(s, log));
}

// The natural LLRs of the exact sum, k = 0 .. kH - 1; those of max-log where these are beyond
// kLogSumLimit. `g` from GainOf.
template <int kH>
BASEBAND_HOST_DEVICE inline void AxisLogSums(float t, float g, float* llrs) {
  constexpr int kLevels = 1 << kH;
  if constexpr (kH == 1) {  // of one term
    llrs[0] = MulRn(MulRn(t, 4.0f), g);
    return;
  }
  // Terms relative to that of the nearest level: (t - l)^2 - (t - n)^2 = (n - l) (2 t - n - l).
  const float magnitude = Magnitude(t);
  const float nearest = WithSignOf(AddRn(MulRn(2.0f, Segment<kLevels>(magnitude)), 1.0f), t);
  const float from = SubRn(AddRn(t, t), nearest);
  float sums[kH][2] = {};
  for (uint32_t bits = 0; bits < kLevels; ++bits) {
    const auto level = static_cast<float>(PamLevel(kH, bits));
    const float further = MulRn(SubRn(nearest, level), SubRn(from, level));
    const float term = ExpOfNegative(-MulRn(g, further));
    for (int k = 0; k < kH; ++k) {
      float& sum = sums[k][bits >> (kH - 1 - k) & 1];
      sum = AddRn(sum, term);
    }
  }
  AxisMetrics<kH>(t, llrs);
  for (int k = 0; k < kH; ++k) {
    llrs[k] = MulRn(MulRn(llrs[k], 4.0f), g);
    if (Magnitude(llrs[k]) <= kLogSumLimit) {
      llrs[k] = SubRn(LogOf(sums[k][0]), LogOf(sums[k][1]));
    }
  }
}

// The sum of an axis' values that pi/2-BPSK decides by; `index` is the symbol's in the code word.
BASEBAND_HOST_DEVICE inline float BpskMetric(float t_i, float t_q, uint64_t index) {
  return AddRn(index % 2 != 0 ? -t_i : t_i, t_q);
}

// The kQm LLRs of one symbol in the order of its bits. t from ToLevel, gain from GainOf.
template <int kQm, bool kLogSum>
BASEBAND_HOST_DEVICE inline void DemapSymbol(const DemapScale& scale, float t_i, float t_q,
                                             float gain, uint64_t index, int8_t* llr) {
  if constexpr (kQm == 1) {
    // Two points, so that the sum has one term.
    float metric = MulRn(BpskMetric(t_i, t_q, index), gain);
    if (kLogSum) metric = MulRn(MulRn(metric, 4.0f), scale.llr_scale);
    llr[0] = ToLlr(metric);
  } else {
    constexpr int kH = kQm / 2;
    const float t[2] = {t_i, t_q};
    for (int axis = 0; axis < 2; ++axis) {
      float values[kH];
      if constexpr (kLogSum) {
        AxisLogSums<kH>(t[axis], gain, values);
      } else {
        AxisMetrics<kH>(t[axis], values);
      }
      for (int k = 0; k < kH; ++k) {
        llr[2 * k + axis] = ToLlr(MulRn(values[k], kLogSum ? scale.llr_scale : gain));
      }
    }
  }
}

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_DEMAP_MATH_H_
