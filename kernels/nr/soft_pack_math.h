// Soft bits in 6 or 4 bits each, for host and device: what HARQ may hold between transmissions.
//
// A code is a sign and the place of a magnitude in a list, 0 first; in two's complement. Magnitudes
// are closer to each other the smaller they are: of a block that needs further transmissions most
// soft bits are small, and the sum grows with each of them, so that no step and no limit suits all.
// A magnitude becomes the nearest of the list, of two the smaller one. 0, nothing received, stays
// 0.
//
// Sixteen codes at a time make 2 `size` bytes, the first in the lowest bits of the first byte, in
// words of 32 bits, little endian.
#ifndef BASEBAND_KERNELS_NR_SOFT_PACK_MATH_H_
#define BASEBAND_KERNELS_NR_SOFT_PACK_MATH_H_

#include <cstdint>

#include "kernels/base/host_device.h"

namespace baseband::nr {

inline constexpr int kSoftGroup = 16;  // soft bits that are packed together

struct SoftCodes {
  uint8_t code_of[128];  // of a magnitude
  int8_t value_of[64];   // of a code, all of its bits
};

template <int kSize>
constexpr SoftCodes MakeSoftCodes() {
  static_assert(kSize == 4 || kSize == 6);
  // As nr_harq_bench likes them best: of 4 bits each is 1.78 times the one before.
  constexpr int kMagnitudes4[] = {0, 2, 4, 6, 11, 20, 36, 64};
  constexpr int kMagnitudes6[] = {0,  1,  2,  3,  4,  5,  6,  7,   8,   10, 12,
                                  14, 16, 19, 22, 25, 28, 32, 36,  40,  44, 49,
                                  54, 60, 66, 73, 80, 88, 97, 106, 116, 127};
  constexpr int kCount = 1 << (kSize - 1);
  const int* const magnitudes = kSize == 4 ? kMagnitudes4 : kMagnitudes6;
  SoftCodes codes = {};
  for (int m = 0, best = 0; m < 128; ++m) {
    while (best + 1 < kCount && magnitudes[best + 1] - m < m - magnitudes[best]) ++best;
    codes.code_of[m] = static_cast<uint8_t>(best);
  }
  for (int i = 0; i < kCount; ++i) {
    codes.value_of[i] = static_cast<int8_t>(magnitudes[i]);
    codes.value_of[(2 * kCount - i) % (2 * kCount)] = static_cast<int8_t>(-magnitudes[i]);
  }
  codes.value_of[kCount] = static_cast<int8_t>(-magnitudes[kCount - 1]);  // the code of none
  return codes;
}

// Sixteen soft bits, four in a word, as `kSize` / 2 words, and back. `code_of(m)` and `value_of(c)`
// look into SoftCodes. -128 counts as -127.
template <int kSize, typename CodeOf>
BASEBAND_HOST_DEVICE inline void PackSoftGroup(const uint32_t (&soft)[4], const CodeOf& code_of,
                                               uint32_t (&packed)[kSize / 2]) {
  for (uint32_t& word : packed) word = 0;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  for (int i = 0; i < kSoftGroup; ++i) {
    const int value = static_cast<int8_t>(soft[i / 4] >> 8 * (i % 4) & 0xff);
    const int magnitude = value < 0 ? -value : value;
    const uint32_t code = code_of(magnitude < 127 ? magnitude : 127);
    const uint32_t bits = (value < 0 ? 0 - code : code) & ((1u << kSize) - 1);
    const int at = kSize * i;
    packed[at / 32] |= bits << at % 32;
    if (at % 32 > 32 - kSize) packed[at / 32 + 1] |= bits >> (32 - at % 32);
  }
}
template <int kSize, typename ValueOf>
BASEBAND_HOST_DEVICE inline void UnpackSoftGroup(const uint32_t (&packed)[kSize / 2],
                                                 const ValueOf& value_of, uint32_t (&soft)[4]) {
  for (uint32_t& word : soft) word = 0;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  for (int i = 0; i < kSoftGroup; ++i) {
    const int at = kSize * i;
    uint32_t bits = packed[at / 32] >> at % 32;
    if (at % 32 > 32 - kSize) bits |= packed[at / 32 + 1] << (32 - at % 32);
    const auto value = static_cast<uint8_t>(value_of(bits & ((1u << kSize) - 1)));
    soft[i / 4] |= static_cast<uint32_t>(value) << 8 * (i % 4);
  }
}

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_SOFT_PACK_MATH_H_
