// The integer engine of decode.h on the CPU device.
//
// A row of circulants is walked in groups of G = 2 L rows, L being the int16 lanes of a vector:
// a-posteriori values are two int16 vectors, and all that a check compares (magnitudes up to 127
// and signs) is one int8 vector. Two int16 vectors narrow to one int8 vector in an order of lanes
// that InterleaveLower and InterleaveUpper undo; messages stay in that order ("packed order").
//
// Messages are stored as r + 128 and a-posteriori values as app + 128: widening an unsigned byte
// is one instruction, and q = (app + 128) - (r + 128) needs no correction.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/base/bits.h"
#include "kernels/ldpc/decode_math.h"
#include "kernels/ldpc/decode_workspace_cpu.h"

// The fallback for processors below the x86 and Arm targets. Highway avoids it under GCC 12.2 and
// older for a compiler bug in high multiplications; the tests run this engine on every target.
#define HWY_BROKEN_EMU128 0
// Vectors of unknown length have another order of lanes; such machines use NEON.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ldpc/decode_minsum_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::ldpc {
namespace HWY_NAMESPACE {
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
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return V8{_mm512_packs_epi16(low.raw, high.raw)};
#elif HWY_TARGET == HWY_AVX2
  return V8{_mm256_packs_epi16(low.raw, high.raw)};
#elif HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
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
  uint8_t magnitude_limit;

  int16_t* columns[kMaxColumns];    // app + 128
  int16_t* scratch[kMaxRowDegree];  // changes places with `columns` as rows write them
  int16_t* sums[kMaxColumns];       // flooding: the app being summed up
  const int16_t* channel;           // flooding: [num_shared][stride], ch + 128
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

HWY_INLINE VU8 Scale(VU8 magnitude, V16 factor) {
  const auto low = hn::MulFixedPoint15(WidenLow(magnitude), factor);
  const auto high = hn::MulFixedPoint15(WidenHigh(magnitude), factor);
  return hn::BitCast(du8, Narrow(low, high));
}

HWY_INLINE Answers AnswersOf(const Minima& minima, VU8 limit, V16 factor) {
  const auto bias = hn::Set(du8, kBias);
  Answers answers;
  answers.least = minima.least;
  answers.signs = minima.signs;
  answers.to_others = hn::Add(Scale(hn::Min(minima.least, limit), factor), bias);
  answers.to_least = hn::Add(Scale(hn::Min(minima.second, limit), factor), bias);
  return answers;
}

// Updates one row of the base matrix.
template <bool kFlooding>
HWY_INLINE void UpdateRow(Frame& frame, const PlanRow& row) {
  const size_t lanes = hn::Lanes(d16);
  const size_t group = GroupRows();
  const size_t zc = frame.zc;
  const SharedEdge* const edges = frame.plan->edges().data() + row.shared_begin;
  const size_t degree = row.shared_count;
  const size_t num_private = row.private_count;
  const auto limit = hn::Set(du8, frame.magnitude_limit);
  const auto factor = hn::Set(d16, frame.factor);
  const auto bias = hn::Set(d16, kBias);
  HWY_ALIGN int8_t sent[kMaxRowDegree * HWY_MAX_BYTES];  // q, packed order
  uint8_t* messages = frame.messages + row.shared_begin * frame.groups * group;
  const size_t private_stride = frame.groups * group;
  const size_t private_begin = row.private_begin * private_stride;

  for (size_t t = 0; t < zc; t += group) {
    Minima minima{hn::Set(du8, 255), hn::Set(du8, 255), hn::Zero(d8)};
    for (size_t j = 0; j < degree; ++j) {
      const size_t start = kFlooding ? edges[j].check : edges[j].read;
      const int16_t* const app = frame.columns[edges[j].column] + RunStart(t, start, zc);
      const auto message = hn::Load(du8, messages + j * group);
      const auto low = hn::Sub(hn::LoadU(d16, app), WidenLow(message));
      const auto high = hn::Sub(hn::LoadU(d16, app + lanes), WidenHigh(message));
      if (!kFlooding) {
        hn::Store(low, d16, frame.scratch[j] + t);
        hn::Store(high, d16, frame.scratch[j] + t + lanes);
      }
      const auto q = Narrow(low, high);
      hn::Store(q, d8, sent + j * group);
      minima.Add(q);
    }
    const int8_t* const private_channel = frame.private_channel + private_begin + t;
    for (size_t j = 0; j < num_private; ++j) {
      minima.Add(hn::Load(d8, private_channel + j * private_stride));
    }

    const Answers answers = AnswersOf(minima, limit, factor);
    for (size_t j = 0; j < degree; ++j) {
      const auto message = hn::BitCast(du8, answers.To(hn::Load(d8, sent + j * group)));
      hn::Store(message, du8, messages + j * group);
      int16_t* const out = frame.scratch[j] + t;
      auto low = WidenLow(message);
      auto high = WidenHigh(message);
      if (kFlooding) {
        const int16_t* const sum =
            frame.sums[edges[j].column] + RunStart(t, edges[j].read, zc);
        low = hn::Add(hn::Sub(low, bias), hn::LoadU(d16, sum));
        high = hn::Add(hn::Sub(high, bias), hn::LoadU(d16, sum + lanes));
      } else {
        low = hn::Add(low, hn::Load(d16, out));
        high = hn::Add(high, hn::Load(d16, out + lanes));
      }
      hn::Store(low, d16, out);
      hn::Store(high, d16, out + lanes);
    }
    int8_t* const private_app = frame.private_app + private_begin + t;
    for (size_t j = 0; j < num_private; ++j) {
      const auto q = hn::Load(d8, private_channel + j * private_stride);
      const auto message = hn::Xor(answers.To(q), hn::Set(d8, -kBias));
      hn::Store(hn::SaturatedAdd(q, message), d8, private_app + j * private_stride);
    }
    messages += degree * group;
  }

  int16_t** const updated = kFlooding ? frame.sums : frame.columns;
  for (size_t j = 0; j < degree; ++j) {
    Mirror(frame.scratch[j], zc);
    std::swap(frame.scratch[j], updated[edges[j].column]);
  }
}

void Iterate(Frame& frame, Schedule schedule) {
  const DecodePlan& plan = *frame.plan;
  if (schedule == Schedule::kLayered) {
    for (const PlanRow& row : plan.rows()) UpdateRow<false>(frame, row);
    return;
  }
  for (int c = 0; c < plan.num_shared(); ++c) {
    std::memcpy(frame.sums[c], frame.channel + c * frame.stride, frame.stride * sizeof(int16_t));
  }
  for (const PlanRow& row : plan.rows()) UpdateRow<true>(frame, row);
  for (int c = 0; c < plan.num_shared(); ++c) std::swap(frame.sums[c], frame.columns[c]);
}

// Whether all parity checks hold for the signs of app. Stops at the first that does not.
bool ParityHolds(const Frame& frame) {
  const size_t lanes = hn::Lanes(d16);
  const size_t group = GroupRows();
  const auto bias = hn::Set(d16, kBias);
  const SharedEdge* edges = frame.plan->edges().data();
  for (const PlanRow& row : frame.plan->rows()) {
    for (size_t t = 0; t < frame.zc; t += group) {
      auto low = hn::Zero(d16);
      auto high = hn::Zero(d16);
      for (size_t j = 0; j < row.shared_count; ++j) {
        const int16_t* const app =
            frame.columns[edges[j].column] + RunStart(t, edges[j].check, frame.zc);
        low = hn::Xor(low, hn::Sub(hn::LoadU(d16, app), bias));
        high = hn::Xor(high, hn::Sub(hn::LoadU(d16, app + lanes), bias));
      }
      auto parity = Narrow(low, high);
      for (size_t j = 0; j < row.private_count; ++j) {
        const size_t at = (row.private_begin + j) * frame.groups * group + t;
        parity = hn::Xor(parity, hn::Load(d8, frame.private_app + at));
      }
      if (t + group > frame.zc) parity = hn::And(parity, hn::Load(d8, frame.valid));
      if (!hn::AllFalse(d8, hn::Lt(parity, hn::Zero(d8)))) return false;
    }
    edges += row.shared_count;
  }
  return true;
}

// column[i] = llr[(i + rotation) mod zc] + 128, with the mirrored tail. Writes up to L elements and
// reads up to L bytes further than it needs.
void LoadColumn(const int8_t* llr, size_t rotation, size_t zc, int16_t* column) {
  const size_t lanes = hn::Lanes(d16);
  const auto bias = hn::Set(d16, kBias);
  const auto copy = [&](const int8_t* from, size_t count, int16_t* to) {
    for (size_t i = 0; i < count; i += lanes) {
      const auto wide = hn::PromoteTo(d16, hn::LoadU(d8_half, from + i));
      hn::StoreU(hn::Add(wide, bias), d16, to + i);
    }
  };
  copy(llr + rotation, zc - rotation, column);
  copy(llr, rotation, column + zc - rotation);
  Mirror(column, zc);
}

void LoadChannel(const DecodeTask& task, Frame& frame) {
  const size_t lanes = hn::Lanes(d16);
  const size_t group = GroupRows();
  const auto bias = hn::Set(d16, kBias);
  for (size_t c = 0; c < task.plan->columns().size(); ++c) {
    const PlanColumn& column = task.plan->columns()[c];
    int16_t* const target = column.is_private ? frame.scratch[0] : frame.columns[column.index];
    LoadColumn(task.llr + c * frame.zc, column.rotation, frame.zc, target);
    if (!column.is_private) continue;
    int8_t* const packed = frame.private_channel + column.index * frame.groups * group;
    for (size_t t = 0; t < frame.zc; t += group) {
      const auto low = hn::Sub(hn::Load(d16, target + t), bias);
      const auto high = hn::Sub(hn::Load(d16, target + t + lanes), bias);
      hn::Store(Narrow(low, high), d8, packed + t);
    }
  }
}

// Block column `c` as a mirrored column of app + 128.
const int16_t* ColumnOf(const Frame& frame, const PlanColumn& column) {
  if (!column.is_private) return frame.columns[column.index];
  const size_t group = GroupRows();
  int16_t* const target = frame.scratch[0];
  const int8_t* const packed = frame.private_app + column.index * frame.groups * group;
  for (size_t t = 0; t < frame.zc; t += group) {
    const auto biased = hn::Xor(hn::Load(d8, packed + t), hn::Set(d8, -kBias));
    hn::Store(WidenLow(hn::BitCast(du8, biased)), d16, target + t);
    hn::Store(WidenHigh(hn::BitCast(du8, biased)), d16, target + t + hn::Lanes(d16));
  }
  Mirror(target, frame.zc);
  return target;
}

uint8_t ReverseBits(uint8_t byte) {
  return static_cast<uint8_t>(((byte * 0x0202020202ull) & 0x010884422010ull) % 1023);
}

void StoreBits(const DecodeTask& task, const Frame& frame) {
  const size_t lanes = hn::Lanes(d16);
  const auto bias = hn::Set(d16, kBias);
  const int zc = task.plan->zc();
  uint8_t packed[(kMaxZc + 2 * HWY_MAX_BYTES) / 8];
  task.bits.back() = 0;
  for (int c = 0; c * zc < task.num_bits; ++c) {
    const PlanColumn& column = task.plan->columns()[c];
    const int16_t* const app = ColumnOf(frame, column);
    const size_t start = column.rotation == 0 ? 0 : frame.zc - column.rotation;
    for (size_t t = 0; t < frame.zc; t += lanes) {
      const auto value = hn::LoadU(d16, app + RunStart(t, start, frame.zc));
      hn::StoreMaskBits(d16, hn::Lt(value, bias), packed + t / 8);
    }
    for (int i = 0; i < (zc + 7) / 8; ++i) packed[i] = ReverseBits(packed[i]);
    CopyBits(task.bits.data(), int64_t{c} * zc, packed, 0, std::min(zc, task.num_bits - c * zc));
  }
}

void StoreSoft(const DecodeTask& task, const Frame& frame) {
  const size_t lanes = hn::Lanes(d16);
  const auto bias = hn::Set(d16, kBias);
  HWY_ALIGN int8_t natural[kMaxZc + HWY_MAX_BYTES];
  for (size_t c = 0; c < task.plan->columns().size(); ++c) {
    const PlanColumn& column = task.plan->columns()[c];
    const int16_t* const app = ColumnOf(frame, column);
    const size_t start = column.rotation == 0 ? 0 : frame.zc - column.rotation;
    for (size_t t = 0; t < frame.zc; t += lanes) {
      const auto value = hn::LoadU(d16, app + RunStart(t, start, frame.zc));
      const auto clipped = hn::Max(hn::DemoteTo(d8_half, hn::Sub(value, bias)),
                                   hn::Set(d8_half, -kLlrMax));
      hn::StoreU(clipped, d8_half, natural + t);
    }
    std::memcpy(task.soft.data() + c * frame.zc, natural, frame.zc);
  }
}

// Lays the frame out in memory; with a null base, only counts the bytes.
size_t LayOut(const DecodeTask& task, uint8_t* base, Frame& frame) {
  const DecodePlan& plan = *task.plan;
  const size_t group = GroupRows();
  const bool flooding = task.parameters->schedule == Schedule::kFlooding;
  frame.plan = &plan;
  frame.zc = static_cast<size_t>(plan.zc());
  frame.groups = (frame.zc + group - 1) / group;
  frame.stride = (frame.groups + 1) * group;
  frame.factor = static_cast<int16_t>(task.engine.factor << (15 - kFactorBits));
  frame.magnitude_limit = static_cast<uint8_t>(task.engine.magnitude_limit);

  MemoryCutter cut(base);
  const auto num_shared = static_cast<size_t>(plan.num_shared());
  for (size_t c = 0; c < num_shared; ++c) frame.columns[c] = cut.Take<int16_t>(frame.stride);
  for (int j = 0; j < plan.max_row_degree(); ++j) {
    frame.scratch[j] = cut.Take<int16_t>(frame.stride);
  }
  if (flooding) {
    for (size_t c = 0; c < num_shared; ++c) frame.sums[c] = cut.Take<int16_t>(frame.stride);
    frame.channel = cut.Take<int16_t>(num_shared * frame.stride);
  }
  const size_t rows = frame.groups * group;
  frame.messages = cut.Take<uint8_t>(plan.edges().size() * rows);
  frame.private_channel = cut.Take<int8_t>(static_cast<size_t>(plan.num_private()) * rows);
  frame.private_app = cut.Take<int8_t>(static_cast<size_t>(plan.num_private()) * rows);
  frame.valid = cut.Take<int8_t>(group);
  return cut.used();
}

DecodeResult Decode(const DecodeTask& task) {
  const DecodePlan& plan = *task.plan;
  Frame frame;
  LayOut(task, DecodeWorkspace::OfThisThread().Memory(LayOut(task, nullptr, frame)), frame);
  LoadChannel(task, frame);
  const size_t group = GroupRows();
  std::memset(frame.messages, kBias, plan.edges().size() * frame.groups * group);
  if (task.parameters->schedule == Schedule::kFlooding) {
    auto* const channel = const_cast<int16_t*>(frame.channel);
    for (int c = 0; c < plan.num_shared(); ++c) {
      std::memcpy(channel + c * frame.stride, frame.columns[c], frame.stride * sizeof(int16_t));
    }
  }
  // The rows of the last group, in natural order, then in packed order.
  const size_t lanes = hn::Lanes(d16);
  HWY_ALIGN int16_t natural[HWY_MAX_BYTES];
  for (size_t i = 0; i < group; ++i) {
    natural[i] = (frame.groups - 1) * group + i < frame.zc ? -1 : 0;
  }
  hn::Store(Narrow(hn::Load(d16, natural), hn::Load(d16, natural + lanes)), d8, frame.valid);

  DecodeResult result;
  bool parity_holds = false;
  do {
    Iterate(frame, task.parameters->schedule);
    ++result.iterations;
    const bool last = result.iterations == task.parameters->max_iterations;
    if (last || task.parameters->early_termination) parity_holds = ParityHolds(frame);
    if (last) break;
  } while (!parity_holds);
  result.parity_ok = parity_holds ? 1 : 0;
  StoreBits(task, frame);
  if (!task.soft.empty()) StoreSoft(task, frame);
  return result;
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace baseband::ldpc
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::ldpc {

HWY_EXPORT(Decode);

DecodeResult DecodeMinSum(const DecodeTask& task) { return HWY_DYNAMIC_DISPATCH(Decode)(task); }

}  // namespace baseband::ldpc
#endif
