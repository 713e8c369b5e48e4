#include "kernels/nr/scrambling.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/base/bits.h"
#include "kernels/base/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/nr/scrambling.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::nr::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

const hn::ScalableTag<uint32_t> du32;
const hn::ScalableTag<uint8_t> du8;
const hn::ScalableTag<int8_t> d8;

// Words that follow from those before without a look at the start.
constexpr size_t kPast = 31;
// Words made at a time: some that stay in the first cache.
constexpr size_t kChunk = 512;
constexpr int64_t kChunkBits = 32 * kChunk;
// Vectors of the last words of a chunk write past it.
constexpr size_t kSlack = HWY_MAX_BYTES / sizeof(uint32_t);
static_assert(kSlack <= 28, "a vector of words must follow from words before it");

uint32_t ReverseBitsOfBytes(uint32_t word) {
  word = (word >> 1 & 0x55555555) | (word & 0x55555555) << 1;
  word = (word >> 2 & 0x33333333) | (word & 0x33333333) << 2;
  return (word >> 4 & 0x0f0f0f0f) | (word & 0x0f0f0f0f) << 4;
}

// The sequence from some place on, in words of 32 bits, one chunk after the other.
class Words {
 public:
  // Bit i of a word is bit i of the sequence; with `packed`, the word's bytes in memory are the
  // sequence as packed bits.
  Words(uint32_t c_init, uint64_t first, bool packed) {
    GoldState state = GoldAt(c_init, first);
    for (size_t i = 0; i < kPast; ++i) {
      const auto x1 = static_cast<uint32_t>(ExtendX1(state.x1));
      const auto x2 = static_cast<uint32_t>(ExtendX2(state.x2));
      x1_[i] = packed ? ReverseBitsOfBytes(x1) : x1;
      x2_[i] = packed ? ReverseBitsOfBytes(x2) : x2;
      state = Next32(state);
    }
  }

  // The next words, at most kChunk, but for the last call always kChunk. Valid until the next call;
  // some vectors may be read past their end.
  const uint8_t* Take(size_t count) {
    if (used_) {
      std::memcpy(x1_, x1_ + kChunk, kPast * sizeof(uint32_t));
      std::memcpy(x2_, x2_ + kChunk, kPast * sizeof(uint32_t));
    }
    used_ = true;
    for (size_t i = 0; i < count; i += hn::Lanes(du32)) {
      const auto x1 = hn::LoadU(du32, x1_ + i);
      const auto x2 = hn::LoadU(du32, x2_ + i);
      hn::StoreU(hn::Xor(x1, x2), du32, words_ + i);
      hn::StoreU(hn::Xor(x1, hn::LoadU(du32, x1_ + i + 3)), du32, x1_ + i + kPast);
      const auto x2_next = hn::Xor(hn::LoadU(du32, x2_ + i + 1), hn::LoadU(du32, x2_ + i + 2));
      hn::StoreU(hn::Xor(hn::Xor(x2, x2_next), hn::LoadU(du32, x2_ + i + 3)), du32,
                 x2_ + i + kPast);
    }
    return reinterpret_cast<const uint8_t*>(words_);
  }

 private:
  bool used_ = false;
  uint32_t x1_[kPast + kChunk + kSlack];
  uint32_t x2_[kPast + kChunk + kSlack];
  uint32_t words_[kChunk + 2 * kSlack];
};

// The words that hold `bits` bits, kChunk at the most.
size_t WordsFor(int64_t bits) {
  return static_cast<size_t>((std::min(bits, kChunkBits) + 31) / 32);
}

void Scramble(uint32_t c_init, int64_t first, uint8_t* bits, int64_t begin, int64_t count) {
  if (count <= 0) return;
  // From the first bit of the byte that holds bit `begin`, up to seven places before `first`:
  // before place 0 are those that the standard skips.
  const int64_t before = begin % 8;
  Words words(c_init, static_cast<uint64_t>(first) - static_cast<uint64_t>(before), true);
  uint8_t* to = bits + begin / 8;
  const int64_t end = before + count;  // from `to` on
  for (int64_t done = 0; done < end; done += kChunkBits) {
    const int64_t left = end - done;
    const uint8_t* const from = words.Take(WordsFor(left));
    const int64_t bytes = std::min(BytesForBits(left), kChunkBits / 8);
    const auto skip = static_cast<uint8_t>(done == 0 ? 0xff << (8 - before) : 0);
    const auto keep =
        static_cast<uint8_t>(left % 8 != 0 && left < kChunkBits ? 0xff >> left % 8 : 0);
    const auto head = static_cast<uint8_t>(*to & skip);
    const auto tail = static_cast<uint8_t>(to[bytes - 1] & keep);
    int64_t i = 0;
    const auto lanes = static_cast<int64_t>(hn::Lanes(du8));
    for (; i + lanes <= bytes; i += lanes) {
      hn::StoreU(hn::Xor(hn::LoadU(du8, to + i), hn::LoadU(du8, from + i)), du8, to + i);
    }
    for (; i < bytes; ++i) to[i] = static_cast<uint8_t>(to[i] ^ from[i]);
    to[0] = static_cast<uint8_t>((to[0] & ~skip) | head);
    to[bytes - 1] = static_cast<uint8_t>((to[bytes - 1] & ~keep) | tail);
    to += bytes;
  }
}

void Descramble(uint32_t c_init, int64_t first, int8_t* llr, int64_t count) {
  if (count <= 0) return;
  Words words(c_init, static_cast<uint64_t>(first), false);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d8));
  const auto turn = [&](const uint8_t* mask, int8_t* values) HWY_ATTR {
    const auto value = hn::Max(hn::LoadU(d8, values), hn::Set(d8, -127));
    const auto set = hn::LoadMaskBits(d8, mask);
    hn::StoreU(hn::IfThenElse(set, hn::Neg(value), value), d8, values);
  };
  for (int64_t done = 0; done < count; done += kChunkBits) {
    const uint8_t* const masks = words.Take(WordsFor(count - done));
    const int64_t here = std::min(count - done, kChunkBits);
    int8_t* const to = llr + done;
    int64_t i = 0;
    for (; i + lanes <= here; i += lanes) turn(masks + i / 8, to + i);
    if (i < here) {
      HWY_ALIGN int8_t tail[HWY_MAX_BYTES] = {};
      std::memcpy(tail, to + i, static_cast<size_t>(here - i));
      turn(masks + i / 8, tail);
      std::memcpy(to + i, tail, static_cast<size_t>(here - i));
    }
  }
}

}  // namespace
}  // namespace baseband::nr::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::nr {

HWY_EXPORT(Scramble);
HWY_EXPORT(Descramble);

void GoldSequence(uint32_t c_init, int64_t first, int64_t count, absl::Span<uint8_t> bits) {
  std::memset(bits.data(), 0, static_cast<size_t>(BytesForBits(count)));
  HWY_DYNAMIC_DISPATCH(Scramble)(c_init, first, bits.data(), 0, count);
}

void ScrambleBits(uint32_t c_init, int64_t first, absl::Span<uint8_t> bits, int64_t begin,
                  int64_t count) {
  HWY_DYNAMIC_DISPATCH(Scramble)(c_init, first, bits.data(), begin, count);
}

void DescrambleLlrs(uint32_t c_init, int64_t first, absl::Span<int8_t> llr) {
  HWY_DYNAMIC_DISPATCH(Descramble)(c_init, first, llr.data(), static_cast<int64_t>(llr.size()));
}

}  // namespace baseband::nr
#endif
