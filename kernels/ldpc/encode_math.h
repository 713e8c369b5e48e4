// What the GPU encoder's host and device sides share: the table of a code, and cyclic reads.
//
// Bits are packed 32 to a word, bit 0 of a group of zc bits in the most significant bit of its
// first word. A group is kept cyclically extended, so that rotating it by any shift s is a read of
// consecutive bits from s on: two words and a funnel shift, without a modulo. For zc = 40, words
// of 32 bits, s = 37:
//
//   word          0               1                2             3        ExtendedWords(40) = 4
//   bits    [ 0 ..... 31 ][ 32..39 0..23 ][ 24..39 0..15 ][ 16..39 0..7 ]
//   word 0 of the rotated group  37.39 0 ........ 28: words 1 and 2, shifted left by 5
//
// Words that start at bit 32 w of a group, w < GroupWords(), are read at s + 32 w; a group that is
// extended while it is summed also needs word e of the extension, bits (32 e) mod zc and on. Both
// start below zc, so nothing past bit 2 zc - 2 + 31 is read.
//
// A table is:   EncodeTableHeader | EncodeTileHeader | starts | phases | sums | sources | of tiles
// All parts are 16-byte aligned; those of tiles are in encode_tile_math.h.
//   starts   one word for each word e of an extended group: (32 e) mod zc
//   phases   EncodePhase: sums that need no barrier between them
//   sums     EncodeTableSum
//   sources  one word each, an even number for each sum: byte offset of the word of the group that
//            holds bit `shift`, in the upper half; shift mod 32 in the lower
#ifndef BASEBAND_KERNELS_LDPC_ENCODE_MATH_H_
#define BASEBAND_KERNELS_LDPC_ENCODE_MATH_H_

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/ldpc/encode_tile_math.h"

namespace baseband::ldpc {

constexpr int GroupWords(int zc) { return (zc + 31) / 32; }
constexpr int ExtendedWords(int zc) { return (2 * zc - 2) / 32 + 2; }

inline constexpr uint32_t kNoDestination = 0xffffffff;

struct alignas(16) EncodeTableHeader {
  uint32_t zc;
  uint32_t k;  // information bits
  uint32_t parity_bits;
  uint32_t group_words;     // GroupWords(zc)
  uint32_t extended_words;  // ExtendedWords(zc)
  uint32_t group_magic;     // for Quotient(i, group_words)
  uint32_t extended_magic;  // for Quotient(i, extended_words)
  uint32_t num_phases;
  uint32_t phases_at;  // where the parts begin, in words from the table's start
  uint32_t sums_at;
  uint32_t sources_at;
  uint32_t staging_words;  // of shared memory, before the groups
  uint32_t shared_bytes;   // in all
  uint32_t copied_words;   // the length of phases, sums and sources if they are copied to shared
                           // memory, before the staging; else 0
  uint32_t whole_words;    // 1 if zc is a multiple of 32 and copied_words is not 0
  uint32_t reserved[1];
};

struct alignas(16) EncodePhase {
  uint32_t first_sum;
  uint32_t num_items;      // sums * items_per_sum: what is spread over the threads
  uint32_t items_per_sum;  // and the flags below
  uint32_t magic;          // for Quotient(item, items_per_sum)
};
inline constexpr uint32_t kPhaseItems = 0xffff;
inline constexpr uint32_t kPhaseBarrier = 1u << 16;  // a barrier comes first
// The sums are kept and an item is one word of the group; without header.whole_words, of the
// extended group. Without the flag an item is words w and w + items_per_sum of a group.
inline constexpr uint32_t kPhaseKeeps = 1u << 17;

struct alignas(16) EncodeTableSum {
  uint32_t first_pair;  // of sources, from sources_at, in pairs
  uint32_t num_pairs;
  uint32_t keep_at;  // the word, from the first group on, where the sum is kept extended, or
                     // kNoDestination
  uint32_t parity;   // the parity group it is, or kNoDestination
};

// Sources of a code whose sums are copied to shared memory; every code of the standards has fewer.
inline constexpr uint32_t kMaxCopiedSources = 1024;

inline constexpr int kTileHeaderAt = sizeof(EncodeTableHeader) / 4;
inline constexpr int kStartsAt = kTileHeaderAt + sizeof(EncodeTileHeader) / 4;

// i / n by a multiplication, for n <= 64 and i < 8192 with i * n < 2^18; magic is
// QuotientMagic(n).
constexpr uint32_t QuotientMagic(uint32_t n) { return ((1u << 18) + n - 1) / n; }
BASEBAND_HOST_DEVICE_INLINE uint32_t Quotient(uint32_t i, uint32_t magic) {
  return (i * magic) >> 18;
}

// 32 bits from `position` on.
BASEBAND_HOST_DEVICE_INLINE uint32_t ReadBits(const uint32_t* words, uint32_t position) {
  const uint32_t* at = words + (position >> 5);
#ifdef __CUDA_ARCH__
  return __funnelshift_l(at[1], at[0], position);
#else
  const uint32_t by = position & 31;
  return by == 0 ? at[0] : (at[0] << by) | (at[1] >> (32 - by));
#endif
}

// 32 bits of the group of zc bits at bit `base`, from its bit `start` on, cyclically.
BASEBAND_HOST_DEVICE_INLINE uint32_t ReadCyclic(const uint32_t* words, uint32_t base, uint32_t zc,
                                                uint32_t start) {
  uint32_t out = ReadBits(words, base + start);
  const uint32_t rest = zc - start;  // bits up to the group's end
  if (rest >= 32) return out;
  uint32_t from_begin = ReadBits(words, base);
  if (start < 32) from_begin &= ~(0xffffffffu >> start);
  out = (out & ~(0xffffffffu >> rest)) | from_begin >> rest;
  for (uint32_t have = zc; have < 32; have *= 2) out |= out >> have;
  return out;
}

// 32 bits from `position` on of groups of zc bits, group g beginning at word g * group_words;
// zero from bit `end` on.
BASEBAND_HOST_DEVICE_INLINE uint32_t ReadPacked(const uint32_t* words, uint32_t group_words,
                                                uint32_t zc, uint32_t position, uint32_t end) {
  uint32_t group = position / zc;
  uint32_t start = position - group * zc;
  uint32_t out = 0;
  for (uint32_t filled = 0; filled < 32 && position + filled < end;) {
    const uint32_t rest = zc - start;
    uint32_t bits = ReadBits(words, group * group_words * 32 + start);
    if (rest < 32) {
      bits &= ~(0xffffffffu >> rest);
    }
    out |= bits >> filled;
    filled += rest;
    ++group;
    start = 0;
  }
  return out;
}

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_ENCODE_MATH_H_
