// The integer engine of decode.h on the CPU device: one row of the base matrix.
//
// A row of circulants is walked in groups of G = 2 L rows, L being the int16 lanes of a vector:
// a-posteriori values are two int16 vectors, and all that a check compares (magnitudes up to 127
// and signs) is one int8 vector. Two int16 vectors narrow to one int8 vector in an order of lanes
// that InterleaveLower and InterleaveUpper undo; messages stay in that order ("packed order").
//
// Messages are stored as r + 128 and a-posteriori values as app + 128: widening an unsigned byte
// is one instruction, and q = (app + 128) - (r + 128) needs no correction.
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/ldpc/decode_workspace_cpu.h"

// Included once for every instruction set: the guard flips.
#if defined(BASEBAND_KERNELS_LDPC_DECODE_MINSUM_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BASEBAND_KERNELS_LDPC_DECODE_MINSUM_ROW_INL_H_
#undef BASEBAND_KERNELS_LDPC_DECODE_MINSUM_ROW_INL_H_
#else
#define BASEBAND_KERNELS_LDPC_DECODE_MINSUM_ROW_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::ldpc::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

const hn::ScalableTag<int16_t> d16;
const hn::Repartition<int8_t, decltype(d16)> d8;
const hn::Repartition<uint8_t, decltype(d16)> du8;
const hn::Rebind<int8_t, decltype(d16)> d8_half;
using V16 = hn::Vec<decltype(d16)>;
using V8 = hn::Vec<decltype(d8)>;
using VU8 = hn::Vec<decltype(du8)>;

constexpr int kBias = 128;

HWY_INLINE size_t GroupRows() { return 2 * hn::Lanes(d16); }

// Two vectors to one, saturated, in packed order.
HWY_INLINE V8 Narrow(V16 low, V16 high) {
#if HWY_ARCH_X86 && HWY_MAX_BYTES == 64
  return V8{_mm512_packs_epi16(low.raw, high.raw)};
#elif HWY_ARCH_X86 && HWY_MAX_BYTES == 32
  return V8{_mm256_packs_epi16(low.raw, high.raw)};
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4
  return V8{_mm_packs_epi16(low.raw, high.raw)};
#else
  static_assert(HWY_MAX_BYTES == 16, "packed order is the natural one only for one 16-byte block");
  return hn::Combine(d8, hn::DemoteTo(d8_half, high), hn::DemoteTo(d8_half, low));
#endif
}

// The inverse of Narrow for unsigned bytes.
HWY_INLINE V16 WidenLow(VU8 v) {
  return hn::BitCast(d16, hn::InterleaveLower(du8, v, hn::Zero(du8)));
}
HWY_INLINE V16 WidenHigh(VU8 v) {
  return hn::BitCast(d16, hn::InterleaveUpper(du8, v, hn::Zero(du8)));
}

// Everything a code block is while it is being decoded.
struct Frame {
  const DecodePlan* plan;
  size_t zc;
  size_t groups;  // of G rows each; the last one may be partly empty: its lanes hold anything
  size_t stride;  // int16 elements a column takes, with its mirrored tail of G
  int16_t factor;
  int16_t heavy_factor;
  uint8_t offset;
  uint8_t magnitude_limit;

  int16_t* columns[kMaxColumns];    // app + 128
  int16_t* scratch[kMaxRowDegree];  // changes places with `columns` as rows write them
  int16_t* sums[kMaxColumns];       // flooding: the app being summed up
  int16_t* channel;                 // flooding: [num_shared][stride], ch + 128
  uint8_t* messages;                // r + 128, in the order in which they are visited
  int8_t* private_channel;          // [num_private][groups * G], packed order
  int8_t* private_app;              // the same, saturated
  int8_t* valid;                    // [G] packed order: -1 for the rows of the last group
};

HWY_INLINE size_t RunStart(size_t row, size_t start, size_t zc) {
  const size_t at = row + start;
  return at >= zc ? at - zc : at;
}

// Repeats the first G elements after the end.
HWY_INLINE void Mirror(int16_t* column, size_t zc) {
  const size_t lanes = hn::Lanes(d16);
  const auto first = hn::Load(d16, column);
  const auto second = hn::Load(d16, column + lanes);
  hn::StoreU(first, d16, column + zc);
  hn::StoreU(second, d16, column + zc + lanes);
}

// What the rows of a group have seen so far: the two smallest magnitudes and the product of signs.
struct Minima {
  VU8 least;
  VU8 second;
  V8 signs;

  HWY_INLINE void Add(V8 q) {
    const auto magnitude = hn::BitCast(du8, hn::Abs(q));  // Abs(-128) is 128 as unsigned
    second = hn::Min(second, hn::Max(least, magnitude));
    least = hn::Min(least, magnitude);
    signs = hn::Xor(signs, q);
  }
};

// The answers to the two cases: the smallest magnitude of the other bits is `least` or `second`.
struct Answers {
  VU8 least;
  V8 signs;
  VU8 to_others;  // 128 + scaled least
  VU8 to_least;   // 128 + scaled second

  // r' + 128 for the bit that sent q. Its negative is 256 less 128 + |r'|.
  HWY_INLINE V8 To(V8 q) const {
    const auto magnitude = hn::BitCast(du8, hn::Abs(q));
    const auto answer =
        hn::BitCast(d8, hn::IfThenElse(hn::Eq(magnitude, least), to_least, to_others));
    return hn::IfNegativeThenElse(hn::Xor(signs, q), hn::Neg(answer), answer);
  }
};

HWY_INLINE VU8 Scale(VU8 magnitude, V16 factor, VU8 offset) {
  const auto low = hn::MulFixedPoint15(WidenLow(magnitude), factor);
  const auto high = hn::MulFixedPoint15(WidenHigh(magnitude), factor);
  return hn::SaturatedSub(hn::BitCast(du8, Narrow(low, high)), offset);
}

HWY_INLINE Answers AnswersOf(const Minima& minima, VU8 limit, V16 factor, VU8 offset) {
  const auto bias = hn::Set(du8, kBias);
  const auto to_others = hn::Add(Scale(hn::Min(minima.least, limit), factor, offset), bias);
  const auto to_least = hn::Add(Scale(hn::Min(minima.second, limit), factor, offset), bias);
  // Not without values: GCC compiles a constructor that nobody writes for no SIMD target.
  return Answers{minima.least, minima.signs, to_others, to_least};
}

// Updates one row of the base matrix. kDegree is its number of shared blocks, so that all of its q
// can stay in registers; 0: any.
template <bool kFlooding, size_t kDegree>
HWY_NOINLINE void UpdateRow(Frame& frame, const PlanRow& row) {
  const size_t lanes = hn::Lanes(d16);
  const size_t group = GroupRows();
  const size_t zc = frame.zc;
  const SharedEdge* const edges = frame.plan->edges().data() + row.shared_begin;
  constexpr size_t kArray = kDegree == 0 ? kMaxRowDegree : kDegree;
  const size_t degree = kDegree == 0 ? row.shared_count : kDegree;
  const size_t num_private = row.private_count;
  const auto limit = hn::Set(du8, frame.magnitude_limit);
  const bool heavy = degree + num_private >= kHeavyDegree;
  const auto factor = hn::Set(d16, heavy ? frame.heavy_factor : frame.factor);
  const auto offset = hn::Set(du8, heavy ? frame.offset : uint8_t{0});
  const auto bias = hn::Set(d16, kBias);
  uint8_t* messages = frame.messages + row.shared_begin * frame.groups * group;
  const size_t private_stride = frame.groups * group;
  const size_t private_begin = row.private_begin * private_stride;

  for (size_t t = 0; t < zc; t += group) {
    Minima minima{hn::Set(du8, 255), hn::Set(du8, 255), hn::Zero(d8)};
    V16 q_low[kArray];
    V16 q_high[kArray];
    V8 q[kArray];
#pragma GCC unroll 32
    for (size_t j = 0; j < degree; ++j) {
      const size_t start = kFlooding ? edges[j].check : edges[j].read;
      const int16_t* const app = frame.columns[edges[j].column] + RunStart(t, start, zc);
      const auto message = hn::Load(du8, messages + j * group);
      const auto low = hn::Sub(hn::LoadU(d16, app), WidenLow(message));
      const auto high = hn::Sub(hn::LoadU(d16, app + lanes), WidenHigh(message));
      q_low[j] = low;
      q_high[j] = high;
      q[j] = Narrow(low, high);
      minima.Add(q[j]);
    }
    const int8_t* const private_channel = frame.private_channel + private_begin + t;
    for (size_t j = 0; j < num_private; ++j) {
      minima.Add(hn::Load(d8, private_channel + j * private_stride));
    }

    const Answers answers = AnswersOf(minima, limit, factor, offset);
#pragma GCC unroll 32
    for (size_t j = 0; j < degree; ++j) {
      const auto message = hn::BitCast(du8, answers.To(q[j]));
      hn::Store(message, du8, messages + j * group);
      int16_t* const out = frame.scratch[j] + t;
      auto low = WidenLow(message);
      auto high = WidenHigh(message);
      if (kFlooding) {
        const int16_t* const sum = frame.sums[edges[j].column] + RunStart(t, edges[j].read, zc);
        low = hn::Add(hn::Sub(low, bias), hn::LoadU(d16, sum));
        high = hn::Add(hn::Sub(high, bias), hn::LoadU(d16, sum + lanes));
      } else {
        low = hn::Add(low, q_low[j]);
        high = hn::Add(high, q_high[j]);
      }
      hn::Store(low, d16, out);
      hn::Store(high, d16, out + lanes);
    }
    int8_t* const private_app = frame.private_app + private_begin + t;
    for (size_t j = 0; j < num_private; ++j) {
      const auto channel = hn::Load(d8, private_channel + j * private_stride);
      const auto message = hn::Xor(answers.To(channel), hn::Set(d8, -kBias));
      hn::Store(hn::SaturatedAdd(channel, message), d8, private_app + j * private_stride);
    }
    messages += degree * group;
  }

  int16_t** const updated = kFlooding ? frame.sums : frame.columns;
  for (size_t j = 0; j < degree; ++j) {
    Mirror(frame.scratch[j], zc);
    std::swap(frame.scratch[j], updated[edges[j].column]);
  }
}

using RowUpdate = void (*)(Frame&, const PlanRow&);

template <size_t... kDegrees>
constexpr std::array<RowUpdate, kMaxRowDegree + 1> LayeredUpdates(
    std::index_sequence<kDegrees...>) {
  std::array<RowUpdate, kMaxRowDegree + 1> updates{};
  for (int i = 0; i <= kMaxRowDegree; ++i) updates[i] = UpdateRow<false, 0>;
  ((updates[kDegrees] = UpdateRow<false, kDegrees>), ...);
  return updates;
}

// By number of shared blocks: those of the standards' matrices have code of their own, but not for
// processors too old to be worth its size.
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SSE4
constexpr auto kLayeredUpdates = LayeredUpdates(std::index_sequence<>());
#else
constexpr auto kLayeredUpdates =
    LayeredUpdates(std::index_sequence<2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15, 19, 20, 22>());
#endif

}  // namespace
}  // namespace baseband::ldpc::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BASEBAND_KERNELS_LDPC_DECODE_MINSUM_ROW_INL_H_
