// The Gold sequence of TS 38.211 clause 5.2.1 from any place on, for both devices.
//
//   x1(n + 31) = x1(n + 3) + x1(n),                          x1(0) = 1, x1(1..30) = 0
//   x2(n + 31) = x2(n + 3) + x2(n + 2) + x2(n + 1) + x2(n),  x2(0..30) = c_init, bit 0 first
//   c(n) = x1(n + 1600) + x2(n + 1600)                       all modulo 2
//
// With D the shift by one place, D^31 = D^3 + 1 holds on x1, and D^31 = D^3 + D^2 + D + 1 on x2. So
// a jump by n places is the sum of as few shifts as D^n modulo that polynomial has terms, 31 at the
// most, and D^n takes log2(n) squarings.
//
// Squaring five times: D^(31*32) = D^(3*32) + 1. The sequence cut into words of 32 bits, at any
// place, follows the same rule word by word, whatever the order of bits in a word:
//   w1[i + 31] = w1[i + 3] ^ w1[i],    w2[i + 31] = w2[i + 3] ^ w2[i + 2] ^ w2[i + 1] ^ w2[i],
// so that 28 words at a time follow from the 31 before. Squared again, so do words of 64 bits.
#ifndef BASEBAND_KERNELS_NR_SCRAMBLING_MATH_H_
#define BASEBAND_KERNELS_NR_SCRAMBLING_MATH_H_

#include <cstdint>

#include "kernels/base/host_device.h"

namespace baseband::nr {

inline constexpr uint32_t kGoldSkip = 1600;                // N_C
inline constexpr uint32_t kGoldMask = 0x7fffffff;          // 31 bits
inline constexpr uint32_t kMaxScramblingInit = kGoldMask;  // of c_init

// Both registers at place n: bit i is x(n + 1600 + i), i = 0 .. 30.
struct GoldState {
  uint32_t x1 = 0;
  uint32_t x2 = 0;
};

// D^n as a polynomial on either: bit i is the coefficient of D^i.
struct GoldJump {
  uint32_t x1 = 1;
  uint32_t x2 = 1;
};

// D^31 and more replaced by less. Degrees up to 61.
BASEBAND_HOST_DEVICE constexpr uint32_t ReduceX1(uint64_t polynomial) {
  uint64_t high = polynomial >> 31;
  polynomial = (polynomial & kGoldMask) ^ high ^ high << 3;
  high = polynomial >> 31;
  return static_cast<uint32_t>((polynomial & kGoldMask) ^ high ^ high << 3);
}
BASEBAND_HOST_DEVICE constexpr uint32_t ReduceX2(uint64_t polynomial) {
  uint64_t high = polynomial >> 31;
  polynomial = (polynomial & kGoldMask) ^ high ^ high << 1 ^ high << 2 ^ high << 3;
  high = polynomial >> 31;
  return static_cast<uint32_t>((polynomial & kGoldMask) ^ high ^ high << 1 ^ high << 2 ^ high << 3);
}

// The square of a polynomial over GF(2), not reduced: a zero between any two bits.
BASEBAND_HOST_DEVICE constexpr uint64_t Square(uint32_t polynomial) {
  uint64_t spread = polynomial;
  spread = (spread | spread << 16) & 0x0000ffff0000ffffu;
  spread = (spread | spread << 8) & 0x00ff00ff00ff00ffu;
  spread = (spread | spread << 4) & 0x0f0f0f0f0f0f0f0fu;
  spread = (spread | spread << 2) & 0x3333333333333333u;
  return (spread | spread << 1) & 0x5555555555555555u;
}

// The jump by `n` places.
BASEBAND_HOST_DEVICE constexpr GoldJump JumpBy(uint64_t n) {
  GoldJump jump;
  int bit = 63;
  while (bit >= 0 && (n >> bit & 1) == 0) --bit;
  for (; bit >= 0; --bit) {
    const int one = static_cast<int>(n >> bit & 1);
    jump.x1 = ReduceX1(Square(jump.x1) << one);
    jump.x2 = ReduceX2(Square(jump.x2) << one);
  }
  return jump;
}

// Bits 0 .. 63 of the sequence whose bits 0 .. 30 are `state`.
BASEBAND_HOST_DEVICE constexpr uint64_t ExtendX1(uint32_t state) {
  uint64_t bits = state;
  bits |= ((bits ^ bits >> 3) & 0xfffffff) << 31;          // 31 .. 58
  return bits | ((bits >> 28 ^ bits >> 31) & 0x1f) << 59;  // 59 .. 63
}
BASEBAND_HOST_DEVICE constexpr uint64_t ExtendX2(uint32_t state) {
  uint64_t bits = state;
  bits |= ((bits ^ bits >> 1 ^ bits >> 2 ^ bits >> 3) & 0xfffffff) << 31;
  return bits | ((bits >> 28 ^ bits >> 29 ^ bits >> 30 ^ bits >> 31) & 0x1f) << 59;
}

// What `bits` (64 of a sequence) are after a jump, as a state.
BASEBAND_HOST_DEVICE constexpr uint32_t ApplyJump(uint64_t bits, uint32_t jump) {
  uint64_t sum = 0;
  for (int i = 0; i < 31; ++i) sum ^= bits >> i & (uint64_t{0} - (jump >> i & 1));
  return static_cast<uint32_t>(sum & kGoldMask);
}
BASEBAND_HOST_DEVICE constexpr GoldState Jump(GoldState state, GoldJump jump) {
  return {ApplyJump(ExtendX1(state.x1), jump.x1), ApplyJump(ExtendX2(state.x2), jump.x2)};
}

// The state at place n: c(n), c(n + 1), .. follow from it. c_init at most kMaxScramblingInit.
BASEBAND_HOST_DEVICE constexpr GoldState GoldAt(uint32_t c_init, uint64_t n) {
  return Jump({1, c_init & kGoldMask}, JumpBy(n + kGoldSkip));
}

// c(n) .. c(n + 63) from the state at n: bit i is c(n + i), the first the least significant.
BASEBAND_HOST_DEVICE constexpr uint64_t GoldBits(GoldState state) {
  return ExtendX1(state.x1) ^ ExtendX2(state.x2);
}

// The state 32 places on.
BASEBAND_HOST_DEVICE constexpr GoldState Next32(GoldState state) {
  return {static_cast<uint32_t>(ExtendX1(state.x1) >> 32 & kGoldMask),
          static_cast<uint32_t>(ExtendX2(state.x2) >> 32 & kGoldMask)};
}

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_SCRAMBLING_MATH_H_
