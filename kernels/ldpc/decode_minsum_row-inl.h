// The integer engine of decode.h on the CPU device: one row of the base matrix.
//
// A row of circulants is walked in groups of G = 2 L rows, L being the int16 lanes of a vector:
// a-posteriori values are two int16 vectors, and all that a check compares (magnitudes up to 127
// and signs) is one int8 vector. Two int16 vectors narrow to one int8 vector in an order of lanes
// that InterleaveLower and InterleaveUpper undo; messages stay in that order ("packed order").
//
// Messages are stored as r + 128 and a-posteriori values as app + 128: widening an unsigned byte
// is one instruction, and q = (app + 128) - (r + 128) needs no correction.
//
// What bounds it is the number of vector operations, 17 for an edge and a group: a core of Intel's
// issues two of 64 bytes in a cycle. Where runs begin, and the caches, cost a tenth at most.
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/ldpc/decode_math.h"
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

// GCC would rather load twice what is used twice than keep it in a register.
HWY_INLINE VU8 LoadOnce(const uint8_t* from) {
  auto loaded = hn::Load(du8, from);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4
  asm("" : "+v"(loaded.raw));
#endif
  return loaded;
}

// max(0, round(magnitude * factor / 2048) - offset) + 128 of magnitudes up to 127.
class Scaler {
 public:
  static constexpr int kMaxMagnitude = 127;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
  // One instruction looks a byte up in two vectors.
  struct Kept {
    alignas(HWY_MAX_BYTES) uint8_t values[kMaxMagnitude + 1];
  };
  static void Keep(int factor, int offset, Kept* kept) {
    for (int m = 0; m <= kMaxMagnitude; ++m) {
      kept->values[m] = static_cast<uint8_t>(kBias + ScaleMagnitude(m, factor, offset));
    }
  }
  HWY_INLINE explicit Scaler(const Kept& kept)
      : low_(hn::Load(du8, kept.values)), high_(hn::Load(du8, kept.values + hn::Lanes(du8))) {}
  HWY_INLINE VU8 operator()(VU8 magnitude) const {
    return VU8{_mm512_permutex2var_epi8(low_.raw, magnitude.raw, high_.raw)};
  }

 private:
  VU8 low_;
  VU8 high_;
#else
  struct Kept {
    int16_t factor;
    uint8_t offset;
  };
  static void Keep(int factor, int offset, Kept* kept) {
    kept->factor = static_cast<int16_t>(factor << (15 - kFactorBits));
    kept->offset = static_cast<uint8_t>(offset);
  }
  HWY_INLINE explicit Scaler(const Kept& kept)
      : factor_(hn::Set(d16, kept.factor)), offset_(hn::Set(du8, kept.offset)) {}
  HWY_INLINE VU8 operator()(VU8 magnitude) const {
    const auto low = hn::MulFixedPoint15(WidenLow(magnitude), factor_);
    const auto high = hn::MulFixedPoint15(WidenHigh(magnitude), factor_);
    const auto scaled = hn::SaturatedSub(hn::BitCast(du8, Narrow(low, high)), offset_);
    return hn::Add(scaled, hn::Set(du8, kBias));
  }

 private:
  V16 factor_;
  VU8 offset_;
#endif
};

// Everything a code block is while it is being decoded.
struct Frame {
  const DecodePlan* plan;
  const uint16_t* runs;  // of DecodePlan::Runs
  size_t zc;
  size_t groups;  // of G rows each; the last one may be partly empty: its lanes hold anything
  size_t stride;  // int16 elements a column takes, with its mirrored tail of G
  uint8_t magnitude_limit;
  Scaler::Kept scaler;  // of checks that are not heavy
  Scaler::Kept heavy_scaler;

  int16_t* columns[kMaxColumns];    // app + 128
  int16_t* scratch[kMaxRowDegree];  // changes places with `columns` as rows write them
  int16_t* sums[kMaxColumns];       // flooding: the app being summed up
  int16_t* channel;                 // flooding: [num_shared][stride], ch + 128
  uint8_t* messages;                // r + 128, in the order in which they are visited
  int8_t* private_channel;          // [num_private][groups * G], packed order
  int8_t* private_app;              // the same, saturated
  bool keeps_private_app;           // whether they are wanted after this iteration
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
// Both begin at the limit of magnitudes. A bit whose magnitude is larger is then not told from the
// others, and need not be: both answers are those to the limit.
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

// r + 128, of the other sign where `sign` is negative: the negative of 128 + r is 256 less.
HWY_INLINE V8 NegateWhereNegative(V8 sign, V8 message) {
  return hn::IfNegativeThenElse(sign, hn::Neg(message), message);
}

// r' + 128 for bits whose q is not negative. The smallest magnitude of a check's other bits is
// `least`, but for the bit that it came from.
struct Answers {
  VU8 least;
  V8 to_others;
  V8 to_least;

  // For the bit that sent q.
  HWY_INLINE V8 To(V8 q) const {
    const auto is_least = hn::Eq(hn::BitCast(du8, hn::Abs(q)), least);
    return NegateWhereNegative(q,
                               hn::IfThenElse(hn::RebindMask(d8, is_least), to_least, to_others));
  }
};

HWY_INLINE Answers AnswersOf(const Minima& minima, const Scaler& scaler) {
  const auto to_others = hn::BitCast(d8, scaler(minima.least));
  const auto to_least = hn::BitCast(d8, scaler(minima.second));
  // Not without values: GCC compiles a constructor that nobody writes for no SIMD target.
  return Answers{minima.least, NegateWhereNegative(minima.signs, to_others),
                 NegateWhereNegative(minima.signs, to_least)};
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
  const size_t num_private_kept = frame.keeps_private_app ? num_private : 0;
  const auto limit = hn::Set(du8, frame.magnitude_limit);
  const bool heavy = degree + num_private >= kHeavyDegree;
  const Scaler scaler(heavy ? frame.heavy_scaler : frame.scaler);
  const auto bias = hn::Set(d16, kBias);
  uint8_t* messages = frame.messages + row.shared_begin * frame.groups * group;
  const uint16_t* runs = frame.runs + row.shared_begin * frame.groups;
  const size_t private_stride = frame.groups * group;
  const size_t private_begin = row.private_begin * private_stride;

  for (size_t t = 0; t < zc; t += group) {
    Minima minima{limit, limit, hn::Zero(d8)};
    V16 q_low[kArray];
    V16 q_high[kArray];
    V8 q[kArray];
#pragma GCC unroll 32
    for (size_t j = 0; j < degree; ++j) {
      const size_t run = kFlooding ? RunStart(t, edges[j].check, zc) : runs[j];
      const int16_t* const app = frame.columns[edges[j].column] + run;
      const auto message = LoadOnce(messages + j * group);
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

    const Answers answers = AnswersOf(minima, scaler);
#pragma GCC unroll 32
    for (size_t j = 0; j < degree; ++j) {
      const auto message = hn::BitCast(du8, answers.To(q[j]));
      int16_t* const out = frame.scratch[j] + t;
      auto low = WidenLow(message);
      auto high = WidenHigh(message);
      hn::Store(message, du8, messages + j * group);
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
    for (size_t j = 0; j < num_private_kept; ++j) {
      const auto channel = hn::Load(d8, private_channel + j * private_stride);
      const auto message = hn::Xor(answers.To(channel), hn::Set(d8, -kBias));
      hn::Store(hn::SaturatedAdd(channel, message), d8, private_app + j * private_stride);
    }
    messages += degree * group;
    runs += degree;
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
