// Receiving, for host and device: how the payload of a transport block is put together from the
// decided bits of its code blocks, and how soft bits are added.
#ifndef BASEBAND_KERNELS_NR_RECEIVE_MATH_H_
#define BASEBAND_KERNELS_NR_RECEIVE_MATH_H_

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/nr/packed_words_math.h"
#include "kernels/nr/transmit_math.h"

namespace baseband::nr {

// The words of a payload that begin in the slice of one code block; the last of them may end in the
// next block.
//
//   payload words   |0   |1   |2   |3   |4   |5   |
//   slices          aaaaaaaaaaaa bbbbbbbbbbbb ..       a: 0, 1, 2   b: 3, 4, 5
class PayloadReader {
 public:
  // `block_bits`: decided bits of the block, K'.
  BASEBAND_HOST_DEVICE PayloadReader(uint32_t block_bits, const PayloadSlice& slice)
      : words_((block_bits + 31) / 32), slice_(slice) {}

  BASEBAND_HOST_DEVICE uint32_t first_word() const { return (slice_.first + 31) / 32; }
  BASEBAND_HOST_DEVICE uint32_t end_word() const { return (slice_.first + slice_.bits + 31) / 32; }

  // Word w, its first bit at the top. `own(i)` and `next(i)` read word i of the decided bits of
  // this block and the one behind it as they lie in memory. Bits behind the payload are anything.
  template <typename Own, typename Next>
  BASEBAND_HOST_DEVICE uint32_t Word(uint32_t w, const Own& own, const Next& next) const {
    const uint32_t at = 32 * w - slice_.first;
    const uint32_t left = slice_.bits - at;  // at least 1
    uint32_t word = SwapWord(own(at >> 5));
    if ((at & 31) != 0) {
      const uint32_t behind = (at >> 5) + 1;
      word = FunnelLeft(word, behind < words_ ? SwapWord(own(behind)) : 0, at);
    }
    return left >= 32 ? word : FirstBits(word, left) | SwapWord(next(0)) >> left;
  }

 private:
  uint32_t words_;
  PayloadSlice slice_;
};

// Where the LLR of rank `rank` among the bits that are no fillers belongs in the soft bits.
BASEBAND_HOST_DEVICE inline uint32_t PlaceOfRank(const RateMatch& r, uint32_t rank) {
  return rank < r.filler_begin ? rank : rank + (r.filler_end - r.filler_begin);
}

// Four int8 in a word, the first in the lowest byte. What comes of old soft bits and a sum of LLRs,
// of -127 .. 127 each; -128 in `old` counts as -127.
BASEBAND_HOST_DEVICE inline uint32_t AddSoft(uint32_t old, uint32_t sums) {
#ifdef __CUDA_ARCH__
  constexpr uint32_t kLeast = 0x81818181;  // -127
  return __vmaxs4(__vaddss4(__vmaxs4(old, kLeast), sums), kLeast);
#else
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const auto value = static_cast<int8_t>(old >> 8 * i & 0xff);
    const int sum = (value == -128 ? -127 : value) + static_cast<int8_t>(sums >> 8 * i & 0xff);
    const int clipped = sum > 127 ? 127 : sum < -127 ? -127 : sum;
    result |= static_cast<uint32_t>(clipped & 0xff) << 8 * i;
  }
  return result;
#endif
}

// A byte of ones for every one of places first .. first + 3 that lies in [begin, end).
BASEBAND_HOST_DEVICE inline uint32_t BytesWithin(uint32_t first, uint32_t begin, uint32_t end) {
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    if (first + i >= begin && first + i < end) bytes |= 0xffu << 8 * i;
  }
  return bytes;
}

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_RECEIVE_MATH_H_
