// Encoding on a CPU: the sums of an EncodeProgram, as wide as this processor's vectors are.
//
// Bits are packed 64 to a word, bit 0 of a group in the most significant bit of its first word;
// groups are cyclically extended, so that a rotated vector is two unaligned loads, one word apart,
// and a pair of shifts (encode_math.h draws the same for 32-bit words).
#define HWY_WANT_AVX3_DL  // has a shift over two words
#include "kernels/base/simd_targets.h"
#include "kernels/ldpc/encode.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ldpc/encode_cpu.cc"
#include "hwy/foreach_target.h"  // Compiles this file once for each target.
#include "hwy/highway.h"
#include "kernels/ldpc/encode_program.h"

#ifndef BASEBAND_KERNELS_LDPC_ENCODE_CPU_ARENA_
#define BASEBAND_KERNELS_LDPC_ENCODE_CPU_ARENA_

#include <algorithm>
#include <cstring>
#include <memory>

namespace baseband::ldpc {

constexpr int kMaxLanes = 8;  // 64-bit lanes of a vector; wider ones are not used
constexpr int kMaxWords = CpuWords(kMaxZc);
constexpr int kMaxGroups = kMaxColumns + kMaxRows;  // information, lambdas and parity
constexpr int kSlackBytes = 8 * kMaxLanes + 8;      // vectors may be read past the end

// What a thread works in.
struct EncodeArena {
  alignas(64) uint8_t info[kMaxColumns * kMaxZc / 8 + kSlackBytes];
  alignas(64) uint64_t groups[kMaxGroups * CpuGroupWords(kMaxZc) + 2 * kMaxLanes];
  alignas(64) uint64_t parity[kMaxRows * kMaxWords];  // [parity group][kMaxWords], not extended
};

// Continues the first zc bits at `group`, whatever follows them, cyclically to CpuGroupWords(zc).
// zc is not a multiple of 64.
inline void ExtendByShifts(int zc, uint64_t* group) {
  const int num_words = CpuWords(zc);
  const int gap = 64 * num_words - zc;  // bits of the last word past the group
  group[num_words - 1] &= ~uint64_t{0} << gap;
  if (num_words > 1) {
    group[num_words - 1] |= group[0] >> (64 - gap);
    for (int i = 0; i <= num_words; ++i) {
      group[num_words + i] = (group[i] << gap) | (group[i + 1] >> (64 - gap));
    }
    return;
  }
  for (int have = zc; have < 64; have *= 2) {
    group[0] |= group[0] >> have;
  }
  for (int word = 1; word < CpuGroupWords(zc); ++word) {
    const int start = 64 * word % zc;
    group[word] = (group[0] << start) | (group[0] >> (zc - start));
  }
}

// Writes runs of bits one after another.
class BitWriter {
 public:
  explicit BitWriter(uint8_t* out) : out_(out) {}

  // The first `count` bits of `word`, most significant first; 1 .. 64.
  void Put(uint64_t word, int count) {
    word &= ~uint64_t{0} << (64 - count);
    pending_ |= word >> num_pending_;
    num_pending_ += count;
    if (num_pending_ >= 64) {
      const uint64_t bytes = __builtin_bswap64(pending_);
      std::memcpy(out_, &bytes, 8);
      out_ += 8;
      num_pending_ -= 64;
      pending_ = num_pending_ == 0 ? 0 : word << (count - num_pending_);
    }
  }
  void Flush() {
    const uint64_t bytes = __builtin_bswap64(pending_);
    std::memcpy(out_, &bytes, static_cast<size_t>(num_pending_ + 7) / 8);
  }

 private:
  uint8_t* out_;
  uint64_t pending_ = 0;
  int num_pending_ = 0;
};

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_ENCODE_CPU_ARENA_

HWY_BEFORE_NAMESPACE();
namespace baseband::ldpc::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<uint64_t, kMaxLanes>;
using V = hn::Vec<D>;

#if HWY_TARGET == HWY_SCALAR
V SwapBytes(V v) { return hn::Set(D(), __builtin_bswap64(hn::GetLane(v))); }
V LoadBytes(const uint8_t* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  return SwapBytes(hn::Set(D(), word));
}
void StoreBytes(V v, uint8_t* to) {
  const uint64_t word = hn::GetLane(SwapBytes(v));
  std::memcpy(to, &word, sizeof(word));
}
#else
// Each lane's bytes in reverse order: from packed bits to words and back.
HWY_INLINE V SwapBytes(V v) {
  alignas(16) static constexpr uint8_t kOrder[16] = {7,  6,  5,  4,  3,  2,  1, 0,
                                                     15, 14, 13, 12, 11, 10, 9, 8};
  const hn::Repartition<uint8_t, D> d8;
  return hn::BitCast(D(), hn::TableLookupBytes(hn::BitCast(d8, v), hn::LoadDup128(d8, kOrder)));
}
HWY_INLINE V LoadBytes(const uint8_t* from) {
  const hn::Repartition<uint8_t, D> d8;
  return SwapBytes(hn::BitCast(D(), hn::LoadU(d8, from)));
}
HWY_INLINE void StoreBytes(V v, uint8_t* to) {
  const hn::Repartition<uint8_t, D> d8;
  hn::StoreU(hn::BitCast(d8, SwapBytes(v)), d8, to);
}
#endif

// Extends a group whose words are stored, whatever follows them.
HWY_INLINE void Extend(int zc, uint64_t* group) {
  const D d;
  if (zc % 64 != 0) {
    ExtendByShifts(zc, group);
    return;
  }
  const int num_words = CpuWords(zc);
  for (int word = 0; word < num_words; word += static_cast<int>(hn::Lanes(d))) {
    hn::StoreU(hn::LoadU(d, group + word), d, group + num_words + word);
  }
  group[2 * num_words] = group[0];
}

// The group of zc bits that begins at bit `position` of `bytes`, extended.
HWY_INLINE void LoadGroup(const uint8_t* bytes, int position, int zc, uint64_t* group) {
  const D d;
  const int num_words = CpuWords(zc);
  const int lanes = static_cast<int>(hn::Lanes(d));
  bytes += position / 8;
  const int by = position % 8;
  for (int word = 0; word < num_words; word += lanes) {
    V v = LoadBytes(bytes + 8 * word);
    if (by != 0) {
      v = hn::Or(hn::ShiftLeftSame(v, by),
                 hn::ShiftRightSame(LoadBytes(bytes + 8 * word + 1), 8 - by));
    }
    hn::StoreU(v, d, group + word);
  }
  Extend(zc, group);
}

// A vector of the group whose bit `position` counts as its first.
HWY_INLINE V Rotated(const uint64_t* groups, uint32_t position) {
  const D d;
  const uint64_t* at = groups + position / 64;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
  const __m512i by = _mm512_set1_epi32(static_cast<int>(position));  // counts modulo 64
  return V{_mm512_shldv_epi64(hn::LoadU(d, at).raw, hn::LoadU(d, at + 1).raw, by)};
#else
  const uint64_t by = position % 64;
  const V high = hn::LoadU(d, at) << hn::Set(d, by);
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Or(high, hn::LoadU(d, at + 1) >> hn::Set(d, 64 - by));  // A shift by 64 gives zero.
#else
  return hn::Or(high, hn::ShiftRight<1>(hn::LoadU(d, at + 1)) >> hn::Set(d, 63 - by));
#endif
#endif
}

HWY_INLINE void RunSums(const EncodeProgram& program, int zc, EncodeArena* arena) {
  const D d;
  const int num_words = CpuWords(zc);
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (const EncodeProgram::Sum& sum : program.sums) {
    const uint32_t* const first = program.cpu_positions.data() + sum.first_source;
    const uint32_t* const last = first + sum.num_sources;
    uint64_t* const group = sum.is_kept() ? arena->groups + sum.group * CpuGroupWords(zc) : nullptr;
    uint64_t* const parity =
        sum.parity != EncodeProgram::kNone ? arena->parity + sum.parity * kMaxWords : nullptr;
    for (int word = 0; word < num_words; word += lanes) {
      V total = hn::Zero(d);
      for (const uint32_t* position = first; position != last; ++position) {
        total = hn::Xor(total, Rotated(arena->groups + word, *position));
      }
      if (parity != nullptr) {
        hn::StoreU(total, d, parity + word);
      }
      if (sum.is_kept()) {
        hn::StoreU(total, d, group + word);
      }
    }
    if (sum.is_kept()) {
      Extend(zc, group);
    }
  }
}

// The parity groups, without the bits between them, as packed bits.
HWY_INLINE void PackParity(const uint64_t* parity, int rows, int zc, uint8_t* out) {
  const D d;
  if (zc % 8 != 0) {
    BitWriter writer(out);
    for (int row = 0; row < rows; ++row) {
      for (int bit = 0; bit < zc; bit += 64) {
        writer.Put(parity[row * kMaxWords + bit / 64], std::min(zc - bit, 64));
      }
    }
    writer.Flush();
    return;
  }
  const int vector_bytes = static_cast<int>(hn::Lanes(d)) * 8;
  const int group_bytes = zc / 8;
  for (int row = 0; row < rows; ++row) {
    for (int byte = 0; byte < group_bytes; byte += vector_bytes) {
      const V v = hn::LoadU(d, parity + row * kMaxWords + byte / 8);
      // A whole vector where there is room: the next group overwrites what is too much.
      const int at = row * group_bytes + byte;
      if (at + vector_bytes <= rows * group_bytes) {
        StoreBytes(v, out + at);
      } else {
        uint8_t last[8 * kMaxLanes];
        StoreBytes(v, last);
        std::memcpy(out + at, last,
                    static_cast<size_t>(std::min(group_bytes - byte, vector_bytes)));
      }
    }
  }
}

}  // namespace

void Encode(const Code& code, const EncodeProgram& program, EncodeArena* arena, uint8_t* parity) {
  // Vectors may write past their group, so groups are made in ascending order.
  for (int group = 0; group < code.kb(); ++group) {
    LoadGroup(arena->info, group * code.zc(), code.zc(),
              arena->groups + group * CpuGroupWords(code.zc()));
  }
  RunSums(program, code.zc(), arena);
  PackParity(arena->parity, code.rows(), code.zc(), parity);
}

}  // namespace baseband::ldpc::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::ldpc {
HWY_EXPORT(Encode);

void EncodeOnCpu(const Code& code, absl::Span<const uint8_t> info, int info_bits,
                 absl::Span<uint8_t> parity) {
  thread_local const std::unique_ptr<EncodeArena> arena = std::make_unique<EncodeArena>();
  // The information, then fillers and what vectors read past the end, as zeros.
  const auto num_bytes = static_cast<size_t>(info_bits + 7) / 8;
  const size_t all_bytes = static_cast<size_t>(code.k() + 7) / 8 + kSlackBytes;
  std::memcpy(arena->info, info.data(), num_bytes);
  std::memset(arena->info + num_bytes, 0, all_bytes - num_bytes);
  if (info_bits % 8 != 0) {
    arena->info[num_bytes - 1] &= static_cast<uint8_t>(0xff00 >> info_bits % 8);
  }
  HWY_DYNAMIC_DISPATCH(Encode)
  (code, (*code.encode_plan())->program(), arena.get(), parity.data());
}

}  // namespace baseband::ldpc
#endif  // HWY_ONCE
