// A stage's taps as integers, for sums of integer samples that are exact, and so the same to the
// bit in whatever order a device adds: product_fixed.cu.
//
//   T = round(2^exponent tap turn)     by component, |T| <= kMaxFixedTap, one exponent for a stage
//
// What that changes is told beforehand. A component of a turned tap is off by at most 2^-exponent /
// 2, and a component of an output adds up two for each tap:
//
//   |output - exact| <= scale gain largest |sample| num_taps 2^-exponent
//                    =  scale gain largest |sample| (sum of |taps|) error
//
// and the same `error` bounds how far the response moves at any frequency, in the stop band too. In
// float32, the form of all other plans, a component is rounded by up to 2^-24 of itself: at least
// 2^-24 by this measure. Integers are taken only where error <= 2^-25, so that no filter is worse
// off than with float32. A shared exponent loses bits where most taps are far smaller than the
// largest; such stages fail by themselves. Host and device.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_FIXED_TAPS_H_
#define BASEBAND_KERNELS_DOWNCONVERT_FIXED_TAPS_H_

#include <cmath>
#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/downconvert/filter.h"

namespace baseband::downconvert {

// Four digits of [-128, 127], 256 apart, hold it and its negative: 127 (1 + 256 + 256^2 + 256^3).
inline constexpr int32_t kMaxFixedTap = 0x7f7f7f7f;
inline constexpr size_t kMaxFixedTaps = 4096;  // 4 bytes' products a tap, each below 2^15: in int32
inline constexpr double kMaxFixedError = 0x1p-25;

struct FixedTaps {
  bool is_usable = false;  // what follows holds only then
  int exponent = 0;
  double error = 0.0;  // see above; at most kMaxFixedError
};

// Not usable: stages that interpolate, more than kMaxFixedTaps taps, an error above kMaxFixedError,
// taps so large or small that float32 could not hold sums and exponents (beyond 2^+-60).
FixedTaps FixedTapsOf(const Stage& stage);

// A component of a turned tap; `turn` is that of the phasor, |turn| <= 1 + 2^-22. The product of
// two float32 is exact in double, and so is the shift: rounded once.
BASEBAND_HOST_DEVICE inline int32_t FixedTap(float tap, float turn, int exponent) {
  return static_cast<int32_t>(
      rint(ldexp(static_cast<double>(tap) * static_cast<double>(turn), exponent)));
}

// Its digits as bytes, the lowest first. 128 more in each makes them the bytes of a number, whose
// carries come by themselves.
BASEBAND_HOST_DEVICE inline uint32_t FixedDigits(int32_t tap) {
  return (static_cast<uint32_t>(tap) + 0x80808080U) ^ 0x80808080U;
}

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_FIXED_TAPS_H_
