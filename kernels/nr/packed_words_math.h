// Packed bits read as 32-bit words, for host and device: bit 0 is the most significant bit of the
// first byte, words are read as they lie in memory and turned around.
#ifndef BASEBAND_KERNELS_NR_PACKED_WORDS_MATH_H_
#define BASEBAND_KERNELS_NR_PACKED_WORDS_MATH_H_

#include <cstdint>

#include "kernels/base/host_device.h"

namespace baseband::nr {

// A word of memory as 32 bits, the first the most significant; and back.
BASEBAND_HOST_DEVICE inline uint32_t SwapWord(uint32_t word) {
#ifdef __CUDA_ARCH__
  return __byte_perm(word, 0, 0x0123);
#else
  return __builtin_bswap32(word);
#endif
}

// The upper word of high:low shifted left by `by` mod 32.
BASEBAND_HOST_DEVICE inline uint32_t FunnelLeft(uint32_t high, uint32_t low, uint32_t by) {
#ifdef __CUDA_ARCH__
  return __funnelshift_l(low, high, by);
#else
  by &= 31;
  return by == 0 ? high : high << by | low >> (32 - by);
#endif
}

// The lower word of high:low shifted right by `by` mod 32.
BASEBAND_HOST_DEVICE inline uint32_t FunnelRight(uint32_t high, uint32_t low, uint32_t by) {
#ifdef __CUDA_ARCH__
  return __funnelshift_r(low, high, by);
#else
  by &= 31;
  return by == 0 ? low : high << (32 - by) | low >> by;
#endif
}

// The first `count` bits of a word, 0 .. 32; the others 0.
BASEBAND_HOST_DEVICE inline uint32_t FirstBits(uint32_t word, uint32_t count) {
  return count >= 32 ? word : word & ~(0xffffffffu >> count);
}

// Bits bit, bit + 1, .. of packed bits; `load(i)` is word i of them as it lies in memory. No word
// is read that holds none of the 32.
template <typename Load>
BASEBAND_HOST_DEVICE inline uint32_t PackedBitsAt(const Load& load, uint32_t bit) {
  const uint32_t word = SwapWord(load(bit >> 5));
  if ((bit & 31) == 0) return word;
  return FunnelLeft(word, SwapWord(load((bit >> 5) + 1)), bit);
}

// The first multiple of 4 at or before `bytes`, and how many bits of that come before `bytes`.
struct WordsBefore {
  const uint32_t* words;
  uint32_t skip;
};
BASEBAND_HOST_DEVICE inline WordsBefore WordsOf(const void* bytes) {
  const auto address = reinterpret_cast<uintptr_t>(bytes);
  return {reinterpret_cast<const uint32_t*>(address & ~uintptr_t{3}),
          static_cast<uint32_t>(address & 3) * 8};
}

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_PACKED_WORDS_MATH_H_
