// The CRCs of TS 38.212 clause 5.1 as polynomials over GF(2), for host and device.
//
// A remainder is kept in the low bits of a word: bit i is the coefficient of x^i, so that the
// parity bit p_0, which is sent first, is its highest. With m(x) the message, its first bit the
// highest power, the CRC is m(x) x^bits mod g(x). Everything is linear, and so the CRC of a long
// message follows from those of its pieces, made side by side:
//
//   crc(a | b) = CrcCombine(p, crc(a), crc(b), CrcPowerOfX(p, bits of b))
//
// Zeros before a message leave its CRC as it is; a message with its CRC appended has CRC 0.
#ifndef BASEBAND_KERNELS_CRC_CRC_MATH_H_
#define BASEBAND_KERNELS_CRC_CRC_MATH_H_

#include <cstdint>

#include "kernels/base/host_device.h"

namespace baseband {

enum class Crc : uint8_t { kCrc16, kCrc24A, kCrc24B };

struct CrcPolynomial {
  uint32_t generator = 0;  // without x^bits
  int bits = 0;
};

BASEBAND_HOST_DEVICE constexpr CrcPolynomial PolynomialOf(Crc crc) {
  return crc == Crc::kCrc16    ? CrcPolynomial{0x1021, 16}
         : crc == Crc::kCrc24A ? CrcPolynomial{0x864cfb, 24}
                               : CrcPolynomial{0x800063, 24};
}

// The remainder, followed by one zero bit: r x mod g.
BASEBAND_HOST_DEVICE constexpr uint32_t CrcTimesX(CrcPolynomial p, uint32_t r) {
  const uint32_t top = r >> (p.bits - 1) & 1;
  const uint32_t mask = (uint32_t{1} << p.bits) - 1;
  return ((r << 1) & mask) ^ (p.generator & (0u - top));
}

// a b mod g, of two remainders: one step a bit.
BASEBAND_HOST_DEVICE constexpr uint32_t CrcMultiply(CrcPolynomial p, uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (int i = p.bits - 1; i >= 0; --i) {
    product = CrcTimesX(p, product) ^ (a & (0u - (b >> i & 1)));
  }
  return product;
}

// x^n mod g: by this a remainder is multiplied when n zero bits follow it. n >= 0.
BASEBAND_HOST_DEVICE constexpr uint32_t CrcPowerOfX(CrcPolynomial p, int64_t n) {
  uint32_t power = 1;
  uint32_t square = 2;  // x^1, x^2, x^4, ..
  for (; n > 0; n >>= 1) {
    if ((n & 1) != 0) power = CrcMultiply(p, power, square);
    square = CrcMultiply(p, square, square);
  }
  return power;
}

// The CRC of a message from those of its two parts; `power` is CrcPowerOfX(bits of the second).
BASEBAND_HOST_DEVICE constexpr uint32_t CrcCombine(CrcPolynomial p, uint32_t first, uint32_t second,
                                                   uint32_t power) {
  return CrcMultiply(p, first, power) ^ second;
}

// The CRC of the `count` low bits of `word`, the highest of them first. count 0 .. 32.
BASEBAND_HOST_DEVICE constexpr uint32_t CrcOfWord(CrcPolynomial p, uint32_t word, int count) {
  uint32_t r = 0;
  for (int i = count - 1; i >= 0; --i) {
    r = CrcTimesX(p, r ^ (word >> i & 1) << (p.bits - 1));
  }
  return r;
}

}  // namespace baseband

#endif  // BASEBAND_KERNELS_CRC_CRC_MATH_H_
