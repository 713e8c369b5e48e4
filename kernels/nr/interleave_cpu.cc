// Interleaving by vectors of 16 bytes, which every instruction set shuffles.
//
// Bits: two rows become one of twice the length by spreading each half byte to a byte (a table of
// 16) and joining the two. Three such steps make of eight rows whole columns, of a byte each:
//
//   r0 r4 -> r04      r04 r26 -> r0246
//   r2 r6 -> r26                         -> r0 r1 r2 r3 r4 r5 r6 r7
//   r1 r5 -> r15      r15 r37 -> r1357
//   r3 r7 -> r37
//
// Six rows are eight of which two are zero; the last two bits of every column are then squeezed
// out. Ten rows are eight and two, columns of 16 bits of which six are squeezed out.
#include "kernels/nr/interleave_cpu.h"

#include "kernels/base/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/nr/interleave_cpu.cc"
#include "hwy/foreach_target.h"  // Compiles this file once for each target.
#include "hwy/highway.h"

#ifndef BASEBAND_KERNELS_NR_INTERLEAVE_CPU_TABLES_
#define BASEBAND_KERNELS_NR_INTERLEAVE_CPU_TABLES_

#include <algorithm>
#include <cstring>

namespace baseband::nr {

constexpr int kLanes = 16;

// Half a byte with a zero behind every bit.
alignas(kLanes) constexpr uint8_t kSpread[kLanes] = {
    0x00, 0x02, 0x08, 0x0a, 0x20, 0x22, 0x28, 0x2a, 0x80, 0x82, 0x88, 0x8a, 0xa0, 0xa2, 0xa8, 0xaa};
// Orders of bytes: those of each half backwards; the highest 6, or 5, of each half so, then zeros.
alignas(kLanes) constexpr uint8_t kReversed[kLanes] = {7,  6,  5,  4,  3,  2,  1, 0,
                                                       15, 14, 13, 12, 11, 10, 9, 8};
alignas(kLanes) constexpr uint8_t kFirst6[kLanes] = {7,  6,  5,  4,  3,    2,    15,   14,
                                                     13, 12, 11, 10, 0x80, 0x80, 0x80, 0x80};
alignas(kLanes) constexpr uint8_t kFirst5[kLanes] = {7,  6,  5,    4,    3,    15,   14,   13,
                                                     12, 11, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};

// Row i of 16 columns of kQm LLRs is gathered from the kQm vectors they lie in: of each the bytes
// that [i][vector] names, where it names one.
template <int kQm>
struct GatherTable {
  alignas(kLanes) uint8_t of[kQm][kQm][kLanes] = {};
};
template <int kQm>
constexpr GatherTable<kQm> MakeGatherTable() {
  GatherTable<kQm> table;
  for (int row = 0; row < kQm; ++row) {
    for (int column = 0; column < kLanes; ++column) {
      const int at = row + column * kQm;
      for (int vector = 0; vector < kQm; ++vector) {
        table.of[row][vector][column] =
            at / kLanes == vector ? static_cast<uint8_t>(at % kLanes) : uint8_t{0x80};
      }
    }
  }
  return table;
}
template <int kQm>
inline constexpr GatherTable<kQm> kGatherTable = MakeGatherTable<kQm>();

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_INTERLEAVE_CPU_TABLES_

HWY_BEFORE_NAMESPACE();
namespace baseband::nr::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D8 = hn::Full128<uint8_t>;
using D64 = hn::Full128<uint64_t>;
using V8 = hn::Vec<D8>;
using V64 = hn::Vec<D64>;

// 128 bits from any bit on.
HWY_INLINE V8 LoadBits(const uint8_t* bits, int64_t begin) {
  const D8 d;
  const hn::Full128<uint16_t> d16;
  const uint8_t* const from = bits + begin / 8;
  const V8 high = hn::LoadU(d, from);
  const auto by = static_cast<int>(begin % 8);
  if (by == 0) return high;
  // Bytes are shifted in pairs, and cleared of what came over from their neighbours.
  const auto left = hn::BitCast(d, hn::ShiftLeftSame(hn::BitCast(d16, high), by));
  const auto right =
      hn::BitCast(d, hn::ShiftRightSame(hn::BitCast(d16, hn::LoadU(d, from + 1)), 8 - by));
  const V8 kept = hn::Set(d, static_cast<uint8_t>(0xff << by));
  return hn::Or(hn::And(left, kept), hn::AndNot(kept, right));
}

struct Pair {
  V8 first, second;
};

// The bits of two rows in turn.
HWY_INLINE Pair Join(V8 a, V8 b) {
  const D8 d;
  const V8 spread = hn::Load(d, kSpread);
  const V8 spread_behind = hn::ShiftRight<1>(spread);
  const V8 low = hn::Set(d, uint8_t{0x0f});
  const V8 upper = hn::Or(hn::TableLookupBytes(spread, hn::ShiftRight<4>(a)),
                          hn::TableLookupBytes(spread_behind, hn::ShiftRight<4>(b)));
  const V8 lower = hn::Or(hn::TableLookupBytes(spread, hn::And(a, low)),
                          hn::TableLookupBytes(spread_behind, hn::And(b, low)));
  return {hn::InterleaveLower(d, upper, lower), hn::InterleaveUpper(d, upper, lower)};
}

// 128 columns of kQm <= 8 rows; each column fills a byte (kQm > 4), the last bits of it with zeros,
// else kQm bits.
template <int kQm>
HWY_INLINE void JoinRows(const V8* row, V8* out) {
  const D8 d;
  const V8 zero = hn::Zero(d);
  if constexpr (kQm == 2) {
    const Pair p = Join(row[0], row[1]);
    out[0] = p.first;
    out[1] = p.second;
  } else if constexpr (kQm == 4) {
    const Pair even = Join(row[0], row[2]);
    const Pair odd = Join(row[1], row[3]);
    const Pair p = Join(even.first, odd.first);
    const Pair q = Join(even.second, odd.second);
    out[0] = p.first;
    out[1] = p.second;
    out[2] = q.first;
    out[3] = q.second;
  } else {
    V8 even[4];
    V8 odd[4];
    const V8 evens[4] = {row[0], row[2], row[4], kQm > 6 ? row[6] : zero};
    const V8 odds[4] = {row[1], row[3], row[5], kQm > 6 ? row[7] : zero};
    JoinRows<4>(evens, even);
    JoinRows<4>(odds, odd);
    for (int i = 0; i < 4; ++i) {
      const Pair p = Join(even[i], odd[i]);
      out[2 * i] = p.first;
      out[2 * i + 1] = p.second;
    }
  }
}

HWY_INLINE V64 Mask(uint64_t mask) { return hn::Set(D64(), mask); }

// Lanes as big-endian numbers: the first byte in memory is the highest of its lane.
HWY_INLINE V64 ToNumbers(V8 v) {
  return hn::BitCast(D64(), hn::TableLookupBytes(v, hn::Load(D8(), kReversed)));
}

// 16 columns of 6 bits in bytes, as 12 bytes and zeros.
HWY_INLINE V8 Squeeze6(V8 columns) {
  V64 v = ToNumbers(columns);
  v = hn::Or(hn::And(v, Mask(0xfc00fc00fc00fc00)),
             hn::ShiftLeft<2>(hn::And(v, Mask(0x00fc00fc00fc00fc))));
  v = hn::Or(hn::And(v, Mask(0xfff00000fff00000)),
             hn::ShiftLeft<4>(hn::And(v, Mask(0x0000fff00000fff0))));
  v = hn::Or(hn::And(v, Mask(0xffffff0000000000)),
             hn::ShiftLeft<8>(hn::And(v, Mask(0x00000000ffffff00))));
  return hn::TableLookupBytesOr0(hn::BitCast(D8(), v), hn::Load(D8(), kFirst6));
}

// 8 columns of 10 bits in pairs of bytes, as 10 bytes and zeros.
HWY_INLINE V8 Squeeze10(V8 columns) {
  V64 v = ToNumbers(columns);
  v = hn::Or(hn::And(v, Mask(0xffc00000ffc00000)),
             hn::ShiftLeft<6>(hn::And(v, Mask(0x0000ffc00000ffc0))));
  v = hn::Or(hn::And(v, Mask(0xfffff00000000000)),
             hn::ShiftLeft<12>(hn::And(v, Mask(0x00000000fffff000))));
  return hn::TableLookupBytesOr0(hn::BitCast(D8(), v), hn::Load(D8(), kFirst5));
}

template <int kQm>
void Interleave(const uint8_t* bits, const int64_t* row_begin, int columns, uint8_t* out) {
  const D8 d;
  for (int column = 0; column < columns; column += 8 * kLanes, out += kQm * kLanes) {
    V8 row[kQm];
    for (int i = 0; i < kQm; ++i) row[i] = LoadBits(bits, row_begin[i] + column);
    V8 joined[8];
    JoinRows<std::min(kQm, 8)>(row, joined);
    if constexpr (kQm == 6) {
      for (int i = 0; i < 8; ++i) hn::StoreU(Squeeze6(joined[i]), d, out + 12 * i);
    } else if constexpr (kQm == 10) {
      const V8 zero = hn::Zero(d);
      const V8 last[8] = {row[8], row[9], zero, zero, zero, zero, zero, zero};
      V8 behind[8];
      JoinRows<8>(last, behind);
      for (int i = 0; i < 8; ++i) {
        const V8 lower = hn::InterleaveLower(d, joined[i], behind[i]);
        const V8 upper = hn::InterleaveUpper(d, joined[i], behind[i]);
        hn::StoreU(Squeeze10(lower), d, out + 20 * i);
        hn::StoreU(Squeeze10(upper), d, out + 20 * i + 10);
      }
    } else {
      for (int i = 0; i < kQm; ++i) hn::StoreU(joined[i], d, out + kLanes * i);
    }
  }
}

template <int kQm>
HWY_INLINE void GatherRows(const uint8_t* llr, uint8_t* rows) {
  const D8 d;
  V8 v[kQm];
  for (int i = 0; i < kQm; ++i) v[i] = hn::LoadU(d, llr + kLanes * i);
  for (int row = 0; row < kQm; ++row) {
    V8 gathered = hn::Zero(d);
    for (int i = 0; i < kQm; ++i) {
      const V8 places = hn::Load(d, kGatherTable<kQm>.of[row][i]);
      gathered = hn::Or(gathered, hn::TableLookupBytesOr0(v[i], places));
    }
    hn::StoreU(gathered, d, rows + row * kLlrRowStride);
  }
}

template <int kQm>
void Deinterleave(const uint8_t* llr, int columns, uint8_t* rows) {
  int column = 0;
  for (; column + kLanes <= columns; column += kLanes) {
    GatherRows<kQm>(llr + column * kQm, rows + column);
  }
  if (column < columns) {
    uint8_t last[kQm * kLanes] = {};
    std::memcpy(last, llr + column * kQm, size_t{kQm} * static_cast<size_t>(columns - column));
    GatherRows<kQm>(last, rows + column);
  }
}

// Calls what is named with the number of rows as a template argument.
#define BASEBAND_NR_OF_QM(function, qm, ...) \
  switch (qm) {                              \
    case 2:                                  \
      return function<2>(__VA_ARGS__);       \
    case 4:                                  \
      return function<4>(__VA_ARGS__);       \
    case 6:                                  \
      return function<6>(__VA_ARGS__);       \
    case 8:                                  \
      return function<8>(__VA_ARGS__);       \
    default:                                 \
      return function<10>(__VA_ARGS__);      \
  }

void InterleaveAnyQm(int qm, const uint8_t* bits, const int64_t* row_begin, int columns,
                     uint8_t* out) {
  BASEBAND_NR_OF_QM(Interleave, qm, bits, row_begin, columns, out)
}

void DeinterleaveAnyQm(int qm, const uint8_t* llr, int columns, uint8_t* rows) {
  BASEBAND_NR_OF_QM(Deinterleave, qm, llr, columns, rows)
}
#undef BASEBAND_NR_OF_QM

int ReadLlr(int8_t llr) { return std::max<int>(llr, -127); }
int8_t Clip(int64_t sum) { return static_cast<int8_t>(std::clamp<int64_t>(sum, -127, 127)); }

void AddLlrsLoop(const int8_t* llr, int count, int8_t* soft) {
  const hn::ScalableTag<int8_t> d;
  const auto lanes = static_cast<int>(hn::Lanes(d));
  const auto least = hn::Set(d, int8_t{-127});
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto sum = hn::SaturatedAdd(hn::Max(hn::LoadU(d, llr + i), least),
                                      hn::Max(hn::LoadU(d, soft + i), least));
    hn::StoreU(hn::Max(sum, least), d, soft + i);
  }
  for (; i < count; ++i) soft[i] = Clip(ReadLlr(soft[i]) + ReadLlr(llr[i]));
}

void AddLlrsToSumsLoop(const int8_t* llr, int count, int32_t* sums) {
  const hn::ScalableTag<int32_t> d32;
  const hn::Rebind<int8_t, decltype(d32)> d8;
  const auto lanes = static_cast<int>(hn::Lanes(d32));
  const auto least = hn::Set(d8, int8_t{-127});
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto more = hn::PromoteTo(d32, hn::Max(hn::LoadU(d8, llr + i), least));
    hn::StoreU(hn::Add(hn::LoadU(d32, sums + i), more), d32, sums + i);
  }
  for (; i < count; ++i) sums[i] += ReadLlr(llr[i]);
}

void AddSumsLoop(const int32_t* sums, int count, int8_t* soft) {
  const hn::ScalableTag<int32_t> d32;
  const hn::Rebind<int8_t, decltype(d32)> d8;
  const auto lanes = static_cast<int>(hn::Lanes(d32));
  const auto least = hn::Set(d8, int8_t{-127});
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto old = hn::PromoteTo(d32, hn::Max(hn::LoadU(d8, soft + i), least));
    const auto sum = hn::Add(old, hn::LoadU(d32, sums + i));
    hn::StoreU(hn::Max(hn::DemoteTo(d8, sum), least), d8, soft + i);
  }
  for (; i < count; ++i) soft[i] = Clip(int64_t{ReadLlr(soft[i])} + sums[i]);
}

}  // namespace
}  // namespace baseband::nr::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::nr {

HWY_EXPORT(InterleaveAnyQm);
HWY_EXPORT(DeinterleaveAnyQm);
HWY_EXPORT(AddLlrsLoop);
HWY_EXPORT(AddLlrsToSumsLoop);
HWY_EXPORT(AddSumsLoop);

void InterleaveBits(int qm, const uint8_t* bits, const int64_t* row_begin, int columns,
                    uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(InterleaveAnyQm)(qm, bits, row_begin, columns, out);
}

void DeinterleaveLlrs(int qm, const int8_t* llr, int columns, int8_t* rows) {
  HWY_DYNAMIC_DISPATCH(DeinterleaveAnyQm)
  (qm, reinterpret_cast<const uint8_t*>(llr), columns, reinterpret_cast<uint8_t*>(rows));
}

void AddLlrs(const int8_t* llr, int count, int8_t* soft) {
  HWY_DYNAMIC_DISPATCH(AddLlrsLoop)(llr, count, soft);
}

void AddLlrsToSums(const int8_t* llr, int count, int32_t* sums) {
  HWY_DYNAMIC_DISPATCH(AddLlrsToSumsLoop)(llr, count, sums);
}

void AddSums(const int32_t* sums, int count, int8_t* soft) {
  HWY_DYNAMIC_DISPATCH(AddSumsLoop)(sums, count, soft);
}

}  // namespace baseband::nr
#endif  // HWY_ONCE
