// By what the CRC24A of a piece of a transport block is multiplied for the bits that follow it.
// Device code.
#ifndef BASEBAND_KERNELS_NR_CRC_POWERS_CUH_
#define BASEBAND_KERNELS_NR_CRC_POWERS_CUH_

#include <cstdint>

#include "kernels/nr/crc_math.h"

namespace baseband::nr::device {

// x^n mod the generator of CRC24A, n in digits of 7 bits.
struct CrcPowers {
  static constexpr int kDigits = 3;
  static constexpr int kDigitBits = 7;
  uint32_t of[kDigits][1 << kDigitBits];
};
constexpr CrcPowers MakeCrcPowers() {
  constexpr CrcPolynomial p = PolynomialOf(Crc::kCrc24A);
  CrcPowers powers = {};
  uint32_t base = 2;  // x
  for (auto& digit : powers.of) {
    digit[0] = 1;
    for (int v = 1; v < 1 << CrcPowers::kDigitBits; ++v) {
      digit[v] = CrcMultiply(p, digit[v - 1], base);
    }
    base = CrcMultiply(p, digit[(1 << CrcPowers::kDigitBits) - 1], base);
  }
  return powers;
}
__device__ constexpr CrcPowers kCrcPowers = MakeCrcPowers();

// By this the CRC24A of a piece is multiplied that n bits of the transport block follow; n < 2^21.
__device__ __forceinline__ uint32_t CrcPower24A(uint32_t n) {
  constexpr CrcPolynomial p = PolynomialOf(Crc::kCrc24A);
  constexpr uint32_t kDigit = (1 << CrcPowers::kDigitBits) - 1;
  const uint32_t low = __ldg(&kCrcPowers.of[0][n & kDigit]);
  const uint32_t middle = __ldg(&kCrcPowers.of[1][n >> CrcPowers::kDigitBits & kDigit]);
  const uint32_t high = __ldg(&kCrcPowers.of[2][n >> 2 * CrcPowers::kDigitBits & kDigit]);
  return CrcMultiply(p, CrcMultiply(p, low, middle), high);
}

}  // namespace baseband::nr::device

#endif  // BASEBAND_KERNELS_NR_CRC_POWERS_CUH_
