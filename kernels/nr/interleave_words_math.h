// The interleaver of TS 38.212 clause 5.4.2.2 for 32 symbols at a time, for host and device: of Q_m
// rows of 32 bits, the bits of the first column come first, then those of the second, ..
//
//   rows   a0 a1 a2 ..      words   a0 b0 c0 d0 a1 b1 c1 d1 a2 ..
//          b0 b1 b2 ..
//          c0 c1 c2 ..
//          d0 d1 d2 ..
//
// Words hold their first bit at the top. Eight rows are transposed as 8 x 8 bits in every byte
// column; other numbers are put together from twos and eights.
#ifndef BASEBAND_KERNELS_NR_INTERLEAVE_WORDS_MATH_H_
#define BASEBAND_KERNELS_NR_INTERLEAVE_WORDS_MATH_H_

#include <cstdint>

#include "kernels/base/host_device.h"

namespace baseband::nr {

namespace internal {

// Bytes of high:low as nibbles of `order` name them, the most significant first: 7 .. 4 of `high`,
// 3 .. 0 of `low`, 7 and 3 being the first bytes.
BASEBAND_HOST_DEVICE inline uint32_t PickBytes(uint32_t high, uint32_t low, uint32_t order) {
#ifdef __CUDA_ARCH__
  return __byte_perm(low, high, order);
#else
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  uint32_t picked = 0;
  for (int i = 0; i < 4; ++i) {
    picked |= static_cast<uint32_t>(both >> 8 * (order >> 4 * i & 7) & 0xff) << 8 * i;
  }
  return picked;
#endif
}

// Exchanges the bits of `a` that `mask` names with those of `b`, `shift` places above it, which are
// all that it does not name.
BASEBAND_HOST_DEVICE inline void ExchangeBits(uint32_t& a, uint32_t& b, int shift, uint32_t mask) {
  const uint32_t lower = (a & ~mask) | (b >> shift & mask);
  b = (a << shift & ~mask) | (b & mask);
  a = lower;
}

// a's and b's bits in turns: the first halves in `a`, the others in `b`.
BASEBAND_HOST_DEVICE inline void InterleaveTwo(uint32_t& a, uint32_t& b) {
  uint32_t halves[2] = {PickBytes(a, b, 0x7362), PickBytes(a, b, 0x5140)};
  for (uint32_t& x : halves) {
    uint32_t t = (x ^ x >> 4) & 0x00f000f0u;
    x ^= t ^ t << 4;
    t = (x ^ x >> 2) & 0x0c0c0c0cu;
    x ^= t ^ t << 2;
    t = (x ^ x >> 1) & 0x22222222u;
    x ^= t ^ t << 1;
  }
  a = halves[0];
  b = halves[1];
}

// Transposes eight rows: then byte 3 - m of row k is column 8 m + k, rows 0 .. 7 from its top on.
BASEBAND_HOST_DEVICE inline void TransposeEight(uint32_t (&r)[8]) {
  for (int i = 0; i < 4; ++i) ExchangeBits(r[i], r[i + 4], 4, 0x0f0f0f0fu);
  for (int i = 0; i < 4; ++i) {  // rows 0, 1, 4, 5 with those two below
    const int upper = i + (i & 2);
    ExchangeBits(r[upper], r[upper + 2], 2, 0x33333333u);
  }
  for (int i = 0; i < 8; i += 2) ExchangeBits(r[i], r[i + 1], 1, 0x55555555u);
}

// The columns of four of the rows after that, 4 x 4 bytes: column 8 m + first_row + j is byte 3 - j
// of word m.
BASEBAND_HOST_DEVICE inline void TransposeBytes(const uint32_t (&r)[8], int first_row,
                                                uint32_t (&columns)[4]) {
  const uint32_t* const a = r + first_row;
  const uint32_t upper01 = PickBytes(a[0], a[1], 0x7362);  // a3 b3 a2 b2
  const uint32_t upper23 = PickBytes(a[2], a[3], 0x7362);
  const uint32_t lower01 = PickBytes(a[0], a[1], 0x5140);  // a1 b1 a0 b0
  const uint32_t lower23 = PickBytes(a[2], a[3], 0x5140);
  columns[0] = PickBytes(upper01, upper23, 0x7632);
  columns[1] = PickBytes(upper01, upper23, 0x5410);
  columns[2] = PickBytes(lower01, lower23, 0x7632);
  columns[3] = PickBytes(lower01, lower23, 0x5410);
}

// The bytes of 32 columns of eight rows, four to a word.
BASEBAND_HOST_DEVICE inline void ColumnsOfEight(uint32_t (&r)[8]) {
  TransposeEight(r);
  uint32_t even[4];
  uint32_t odd[4];
  TransposeBytes(r, 0, even);
  TransposeBytes(r, 4, odd);
  for (int m = 0; m < 4; ++m) {
    r[2 * m] = even[m];
    r[2 * m + 1] = odd[m];
  }
}

// The nibbles of 32 columns of four rows, eight to a word.
BASEBAND_HOST_DEVICE inline void ColumnsOfFour(uint32_t (&r)[4]) {
  for (int i = 0; i < 2; ++i) ExchangeBits(r[i], r[i + 2], 2, 0x33333333u);
  for (int i = 0; i < 4; i += 2) ExchangeBits(r[i], r[i + 1], 1, 0x55555555u);
  // Nibble m of row k is column 4 m + k now. Pairs of them: of even m, and of odd m.
  constexpr uint32_t kUpper = 0xf0f0f0f0;
  const uint32_t even01 = (r[0] & kUpper) | (r[1] >> 4 & ~kUpper);
  const uint32_t odd01 = (r[0] << 4 & kUpper) | (r[1] & ~kUpper);
  const uint32_t even23 = (r[2] & kUpper) | (r[3] >> 4 & ~kUpper);
  const uint32_t odd23 = (r[2] << 4 & kUpper) | (r[3] & ~kUpper);
  const uint32_t upper_even = PickBytes(even01, even23, 0x7362);
  const uint32_t upper_odd = PickBytes(odd01, odd23, 0x7362);
  const uint32_t lower_even = PickBytes(even01, even23, 0x5140);
  const uint32_t lower_odd = PickBytes(odd01, odd23, 0x5140);
  r[0] = PickBytes(upper_even, upper_odd, 0x7632);
  r[1] = PickBytes(upper_even, upper_odd, 0x5410);
  r[2] = PickBytes(lower_even, lower_odd, 0x7632);
  r[3] = PickBytes(lower_even, lower_odd, 0x5410);
}

// The upper six bits of four bytes, at the top of a word.
BASEBAND_HOST_DEVICE inline uint32_t PackSixes(uint32_t bytes) {
  const uint32_t pairs = (bytes & 0xfc00fc00u) | (bytes & 0x00fc00fcu) << 2;
  return (pairs & 0xfff00000u) | (pairs & 0x0000fff0u) << 4;
}

}  // namespace internal

template <int kQm>
BASEBAND_HOST_DEVICE inline void InterleaveWords(uint32_t (&rows)[kQm]) {
  static_assert(kQm == 1 || kQm == 2 || kQm == 4 || kQm == 6 || kQm == 8 || kQm == 10, "Q_m");
  if constexpr (kQm == 2) {
    internal::InterleaveTwo(rows[0], rows[1]);
  } else if constexpr (kQm == 4) {
    internal::ColumnsOfFour(rows);
  } else if constexpr (kQm == 6) {
    uint32_t r[8] = {rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], 0, 0};
    internal::ColumnsOfEight(r);
    for (int half = 0; half < 2; ++half) {  // 4 times 24 bits are 3 words
      uint32_t p[4];
      for (int i = 0; i < 4; ++i) p[i] = internal::PackSixes(r[4 * half + i]);
      rows[3 * half] = p[0] | p[1] >> 24;
      rows[3 * half + 1] = p[1] << 8 | p[2] >> 16;
      rows[3 * half + 2] = p[2] << 16 | p[3] >> 8;
    }
  } else if constexpr (kQm == 8) {
    internal::ColumnsOfEight(rows);
  } else if constexpr (kQm == 10) {
    uint32_t r[8];
    for (int i = 0; i < 8; ++i) r[i] = rows[i];
    uint32_t last[2] = {rows[8], rows[9]};
    internal::ColumnsOfEight(r);
    internal::InterleaveTwo(last[0], last[1]);
    // 16 columns of 8 and 2 bits are 5 words: 10 bits a column from the top of a 64-bit window on.
    for (int half = 0; half < 2; ++half) {
      uint64_t window = 0;
      int filled = 0;
      int out = 5 * half;
      for (int c = 0; c < 16; ++c) {
        const uint32_t eight = r[4 * half + c / 4] >> (24 - 8 * (c % 4)) & 0xff;
        const uint32_t two = last[half] >> (30 - 2 * c) & 3;
        window |= static_cast<uint64_t>(eight << 2 | two) << (54 - filled);
        filled += 10;
        if (filled >= 32) {
          rows[out++] = static_cast<uint32_t>(window >> 32);
          window <<= 32;
          filled -= 32;
        }
      }
    }
  }
}

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_INTERLEAVE_WORDS_MATH_H_
