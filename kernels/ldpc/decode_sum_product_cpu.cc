// Sum-product of decode.h on the CPU device, in float32; rows of a circulant side by side.
//
// A check is computed on x = exp(-|q|), for which tanh(|q| / 2) = (1 - x) / (1 + x) and the product
// of two hyperbolic tangents becomes
//   x # y = (x + y) / (1 + x y).
// All terms are positive, so nothing cancels and every x keeps its relative precision, that is, |r|
// its absolute one. Forward and backward products are kept as fractions n / d, which leaves one
// division, one exponential and one logarithm a message. d at most doubles with each factor.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/base/simd_targets.h"
#include "kernels/ldpc/decode_workspace_cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ldpc/decode_sum_product_cpu.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace baseband::ldpc::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

const hn::ScalableTag<float> df;
using V = hn::Vec<decltype(df)>;

constexpr size_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);

// A code block while it is being decoded. Columns are as in decode_plan_cpu.h.
struct Frame {
  const DecodePlan* plan;
  size_t zc;
  size_t groups;  // of as many rows as a vector has lanes
  size_t stride;  // elements a column takes, with its mirrored tail of one vector
  float* columns[kMaxColumns];
  float* scratch[kMaxRowDegree];
  float* sums[kMaxColumns];  // flooding
  float* channel;            // flooding: [num_shared][stride]
  float* messages;           // in the order in which they are visited
  float* private_channel;    // [num_private][groups * lanes]
  float* private_app;
};

// x # y # .. as a fraction. No member initialisers: they would be compiled for the base target.
struct Fraction {
  V n;
  V d;

  HWY_INLINE void Add(V x) {
    const auto sum = hn::MulAdd(x, d, n);
    d = hn::MulAdd(x, n, d);
    n = sum;
  }
};

HWY_INLINE Fraction Neutral() { return Fraction{hn::Zero(df), hn::Set(df, 1.0f)}; }

// |r| of the product of two fractions.
HWY_INLINE V Magnitude(const Fraction& a, const Fraction& b) {
  const auto n = hn::MulAdd(a.n, b.d, hn::Mul(a.d, b.n));
  const auto d = hn::MulAdd(a.n, b.n, hn::Mul(a.d, b.d));
  const auto magnitude = hn::Neg(hn::Log(df, hn::Div(n, d)));
  return hn::Min(hn::Max(magnitude, hn::Zero(df)), hn::Set(df, kSumProductLimit));
}

HWY_INLINE V SignOf(V q) { return hn::And(q, hn::SignBit(df)); }

// Turns the q of one group, [degree][lanes], into r.
HWY_INLINE void CheckRule(size_t degree, const float* HWY_RESTRICT q, float* HWY_RESTRICT r) {
  const size_t lanes = hn::Lanes(df);
  HWY_ALIGN float x[kMaxRowDegree * kMaxLanes];
  HWY_ALIGN float ahead_n[kMaxRowDegree * kMaxLanes];
  HWY_ALIGN float ahead_d[kMaxRowDegree * kMaxLanes];
  const auto limit = hn::Set(df, kSumProductLimit);
  auto signs = hn::Zero(df);
  Fraction forward = Neutral();
  for (size_t j = 0; j < degree; ++j) {
    const auto value = hn::Load(df, q + j * lanes);
    signs = hn::Xor(signs, SignOf(value));
    const auto odds = hn::Exp(df, hn::Neg(hn::Min(hn::Abs(value), limit)));
    hn::Store(odds, df, x + j * lanes);
    hn::Store(forward.n, df, ahead_n + j * lanes);
    hn::Store(forward.d, df, ahead_d + j * lanes);
    forward.Add(odds);
  }
  Fraction backward = Neutral();
  for (size_t j = degree; j-- > 0;) {
    const Fraction ahead{hn::Load(df, ahead_n + j * lanes), hn::Load(df, ahead_d + j * lanes)};
    const auto sign = hn::Xor(signs, SignOf(hn::Load(df, q + j * lanes)));
    hn::Store(hn::Or(Magnitude(ahead, backward), sign), df, r + j * lanes);
    backward.Add(hn::Load(df, x + j * lanes));
  }
}

HWY_INLINE size_t RunStart(size_t row, size_t start, size_t zc) {
  const size_t at = row + start;
  return at >= zc ? at - zc : at;
}

// Repeats the first vector after the end.
HWY_INLINE void Mirror(float* column, size_t zc) {
  hn::StoreU(hn::Load(df, column), df, column + zc);
}

template <bool kFlooding>
void UpdateRow(Frame& frame, const PlanRow& row) {
  const size_t lanes = hn::Lanes(df);
  const size_t zc = frame.zc;
  const SharedEdge* const edges = frame.plan->edges().data() + row.shared_begin;
  const size_t num_shared = row.shared_count;
  const size_t degree = num_shared + row.private_count;
  const size_t private_stride = frame.groups * lanes;
  const size_t private_begin = row.private_begin * private_stride;
  float* messages = frame.messages + row.shared_begin * frame.groups * lanes;
  HWY_ALIGN float q[kMaxRowDegree * kMaxLanes];
  HWY_ALIGN float r[kMaxRowDegree * kMaxLanes];

  for (size_t t = 0; t < zc; t += lanes) {
    for (size_t j = 0; j < num_shared; ++j) {
      const size_t start = kFlooding ? edges[j].check : edges[j].read;
      const float* const app = frame.columns[edges[j].column] + RunStart(t, start, zc);
      hn::Store(hn::Sub(hn::LoadU(df, app), hn::Load(df, messages + j * lanes)), df, q + j * lanes);
    }
    const float* const private_channel = frame.private_channel + private_begin + t;
    for (size_t j = num_shared; j < degree; ++j) {
      const float* const channel = private_channel + (j - num_shared) * private_stride;
      hn::Store(hn::Load(df, channel), df, q + j * lanes);
    }
    CheckRule(degree, q, r);
    for (size_t j = 0; j < num_shared; ++j) {
      const auto message = hn::Load(df, r + j * lanes);
      hn::Store(message, df, messages + j * lanes);
      const auto before =
          kFlooding ? hn::LoadU(df, frame.sums[edges[j].column] + RunStart(t, edges[j].read, zc))
                    : hn::Load(df, q + j * lanes);
      hn::Store(hn::Add(before, message), df, frame.scratch[j] + t);
    }
    float* const private_app = frame.private_app + private_begin + t;
    for (size_t j = num_shared; j < degree; ++j) {
      const auto app = hn::Add(hn::Load(df, q + j * lanes), hn::Load(df, r + j * lanes));
      hn::Store(app, df, private_app + (j - num_shared) * private_stride);
    }
    messages += num_shared * lanes;
  }
  float** const updated = kFlooding ? frame.sums : frame.columns;
  for (size_t j = 0; j < num_shared; ++j) {
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
    std::memcpy(frame.sums[c], frame.channel + c * frame.stride, frame.stride * sizeof(float));
  }
  for (const PlanRow& row : plan.rows()) UpdateRow<true>(frame, row);
  for (int c = 0; c < plan.num_shared(); ++c) std::swap(frame.sums[c], frame.columns[c]);
}

bool ParityHolds(const Frame& frame) {
  const size_t lanes = hn::Lanes(df);
  const SharedEdge* edges = frame.plan->edges().data();
  for (const PlanRow& row : frame.plan->rows()) {
    for (size_t t = 0; t < frame.zc; t += lanes) {
      auto parity = hn::Zero(df);
      for (size_t j = 0; j < row.shared_count; ++j) {
        const float* const app = frame.columns[edges[j].column];
        parity =
            hn::Xor(parity, SignOf(hn::LoadU(df, app + RunStart(t, edges[j].check, frame.zc))));
      }
      for (size_t j = 0; j < row.private_count; ++j) {
        const size_t at = (row.private_begin + j) * frame.groups * lanes + t;
        parity = hn::Xor(parity, SignOf(hn::Load(df, frame.private_app + at)));
      }
      const auto rows = hn::FirstN(df, frame.zc - t);
      const auto odd = hn::MaskFromVec(
          hn::BroadcastSignBit(hn::BitCast(hn::RebindToSigned<decltype(df)>(), parity)));
      if (!hn::AllFalse(df, hn::And(rows, hn::RebindMask(df, odd)))) return false;
    }
    edges += row.shared_count;
  }
  return true;
}

void LoadChannel(const DecodeTask& task, Frame& frame) {
  const float scale = 1.0f / task.parameters->llr_scale;
  const int zc = task.plan->zc();
  for (size_t c = 0; c < task.plan->columns().size(); ++c) {
    const PlanColumn& column = task.plan->columns()[c];
    const size_t at = column.index * frame.groups * hn::Lanes(df);
    float* const out = column.is_private ? frame.private_channel + at : frame.columns[column.index];
    for (int i = 0; i < zc; ++i) {
      const int offset = i + column.rotation;
      const int bit = static_cast<int>(c) * zc + (offset >= zc ? offset - zc : offset);
      const bool filler = bit >= task.first_filler && bit < task.end_filler;
      out[i] = filler ? kLlrMax : std::max<float>(task.llr[bit], -kLlrMax) * scale;
    }
    if (!column.is_private) Mirror(out, frame.zc);
  }
}

// The app of column `c`, turned by its rotation.
const float* AppOf(const DecodeTask& task, const Frame& frame, int c) {
  const PlanColumn& column = task.plan->columns()[static_cast<size_t>(c)];
  const size_t at = column.index * frame.groups * hn::Lanes(df);
  return column.is_private ? frame.private_app + at : frame.columns[column.index];
}

// Whether a filler was decided 1.
bool AnyFillerIsOne(const DecodeTask& task, const Frame& frame) {
  const int zc = task.plan->zc();
  for (int c = task.first_filler / zc; c * zc < task.end_filler; ++c) {
    const float* const app = AppOf(task, frame, c);
    const int rotation = task.plan->columns()[static_cast<size_t>(c)].rotation;
    for (int bit = std::max(task.first_filler, c * zc); bit < (c + 1) * zc; ++bit) {
      const int i = bit - c * zc - rotation;
      if (app[i < 0 ? i + zc : i] < 0.0f) return true;
    }
  }
  return false;
}

void StoreResult(const DecodeTask& task, const Frame& frame) {
  const int zc = task.plan->zc();
  std::fill(task.bits.begin(), task.bits.end(), uint8_t{0});
  for (size_t c = 0; c < task.plan->columns().size(); ++c) {
    const float* const app = AppOf(task, frame, static_cast<int>(c));
    const int rotation = task.plan->columns()[c].rotation;
    for (int i = 0; i < zc; ++i) {
      const int offset = i + rotation;
      const int bit = static_cast<int>(c) * zc + (offset >= zc ? offset - zc : offset);
      if (bit < task.num_bits && app[i] < 0.0f) {
        task.bits[bit / 8] = static_cast<uint8_t>(task.bits[bit / 8] | 0x80 >> bit % 8);
      }
      if (task.soft.empty()) continue;
      const float soft = std::nearbyint(app[i] * task.parameters->llr_scale);
      task.soft[bit] = static_cast<int8_t>(std::clamp<float>(soft, -kLlrMax, kLlrMax));
    }
  }
}

// Lays the frame out in memory; with a null base, only counts the bytes.
size_t LayOut(const DecodeTask& task, uint8_t* base, Frame& frame) {
  const DecodePlan& plan = *task.plan;
  const size_t lanes = hn::Lanes(df);
  frame.plan = &plan;
  frame.zc = static_cast<size_t>(plan.zc());
  frame.groups = (frame.zc + lanes - 1) / lanes;
  frame.stride = (frame.groups + 1) * lanes;
  const size_t rows = frame.groups * lanes;
  const auto num_shared = static_cast<size_t>(plan.num_shared());
  const auto num_private = static_cast<size_t>(plan.num_private());
  MemoryCutter cut(base);
  for (size_t c = 0; c < num_shared; ++c) frame.columns[c] = cut.Take<float>(frame.stride);
  for (int j = 0; j < plan.max_row_degree(); ++j) frame.scratch[j] = cut.Take<float>(frame.stride);
  frame.messages = cut.Take<float>(plan.edges().size() * rows);
  frame.private_channel = cut.Take<float>(num_private * rows);
  frame.private_app = cut.Take<float>(num_private * rows);
  if (task.parameters->schedule == Schedule::kFlooding) {
    for (size_t c = 0; c < num_shared; ++c) frame.sums[c] = cut.Take<float>(frame.stride);
    frame.channel = cut.Take<float>(num_shared * frame.stride);
  }
  return cut.used();
}

DecodeResult DecodeFloats(const DecodeTask& task) {
  const DecodePlan& plan = *task.plan;
  Frame frame;
  const size_t bytes = LayOut(task, nullptr, frame);
  uint8_t* const memory = DecodeWorkspace::OfThisThread().Memory(bytes);
  std::memset(memory, 0, bytes);  // lanes past the last row must hold numbers, too
  LayOut(task, memory, frame);
  LoadChannel(task, frame);
  if (task.parameters->schedule == Schedule::kFlooding) {
    for (int c = 0; c < plan.num_shared(); ++c) {
      std::memcpy(frame.channel + c * frame.stride, frame.columns[c], frame.stride * sizeof(float));
    }
  }
  DecodeResult result;
  bool holds = false;  // checks and fillers
  bool crc_stops = false;
  do {
    Iterate(frame, task.parameters->schedule);
    ++result.iterations;
    const bool last = result.iterations == task.parameters->max_iterations;
    if (last || task.parameters->early_termination) {
      holds = ParityHolds(frame) && !AnyFillerIsOne(task, frame);
    }
    if (last) break;
    if (!holds && LooksAtCrc(task)) {
      StoreResult(task, frame);
      crc_stops = StopsByCrc(task);
    }
  } while (!holds && !crc_stops);
  result.parity_ok = holds ? 1 : 0;
  StoreResult(task, frame);
  return result;
}

}  // namespace
}  // namespace baseband::ldpc::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::ldpc {

HWY_EXPORT(DecodeFloats);

DecodeResult DecodeSumProduct(const DecodeTask& task) {
  return HWY_DYNAMIC_DISPATCH(DecodeFloats)(task);
}

}  // namespace baseband::ldpc
#endif
