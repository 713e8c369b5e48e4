// LLRs as they come, made the int8 LLRs of the decoder, to the bit the same on both devices.
#ifndef BASEBAND_KERNELS_NR_LLR_FORMAT_MATH_H_
#define BASEBAND_KERNELS_NR_LLR_FORMAT_MATH_H_

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/nr/float_math.h"

namespace baseband::nr {

// value * scale, rounded, held to +-127; `scale` is finite and positive. Infinities are +-127, a
// NaN is 0: IsNan finds it.
BASEBAND_HOST_DEVICE inline bool IsNan(float value) { return value != value; }
BASEBAND_HOST_DEVICE inline int8_t ScaledLlr(float value, float scale) {
  if (IsNan(value)) return 0;
  return static_cast<int8_t>(RoundToInt(Clamp(MulRn(value, scale), -127.0f, 127.0f)));
}

BASEBAND_HOST_DEVICE inline int8_t LlrOfInt8(int8_t value) {
  return value < -127 ? static_cast<int8_t>(-127) : value;
}

// LLR `index` of a packed row, two to an octet, the first in the upper nibble: -8 .. 7.
BASEBAND_HOST_DEVICE inline int UnpackInt4(const uint8_t* packed, uint64_t index) {
  const int nibble = packed[index / 2] >> (index % 2 != 0 ? 0 : 4) & 0xf;
  return (nibble ^ 8) - 8;
}

// Four to three octets, the first in the most significant bits: -32 .. 31. Reads only octets that
// hold bits of it.
BASEBAND_HOST_DEVICE inline int UnpackInt6(const uint8_t* packed, uint64_t index) {
  const uint8_t* const octet = packed + index / 4 * 3 + index % 4 * 3 / 4;
  int six = 0;
  switch (index % 4) {
    case 0:
      six = octet[0] >> 2;
      break;
    case 1:
      six = (octet[0] << 4 | octet[1] >> 4) & 0x3f;
      break;
    case 2:
      six = (octet[0] << 2 | octet[1] >> 6) & 0x3f;
      break;
    default:
      six = octet[0] & 0x3f;
      break;
  }
  return (six ^ 32) - 32;
}

// The scale that makes `mean_llr` (MeanLlrFor) of the mean magnitude of a block's `count` LLRs, of
// which `sum` (MagnitudeSumOnCpu) is the sum of magnitudes; 1 if all of them are zero. Zeros count:
// what was not received makes the code rate of the rest the higher, and its mean, too.
BASEBAND_HOST_DEVICE inline float ChosenScale(uint64_t sum, uint64_t count, float mean_llr) {
  if (sum == 0) return 1.0f;
#ifdef __CUDA_ARCH__
  return DivRn(MulRn(mean_llr, __ull2float_rn(count)), __ull2float_rn(sum));
#else
  return DivRn(MulRn(mean_llr, static_cast<float>(count)), static_cast<float>(sum));
#endif
}

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_LLR_FORMAT_MATH_H_
