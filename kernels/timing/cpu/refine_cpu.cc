// Stage 4 on the CPU device: slopes along soft decisions.
#include <algorithm>
#include <cstddef>

#include "kernels/base/simd_targets.h"
#include "kernels/timing/cpu/stages_cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/timing/cpu/refine_cpu.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/carrier/cpu/soft_cpu-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace baseband::timing::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
namespace soft = carrier::HWY_NAMESPACE;
using soft::df;
using soft::V;

static_assert(kMatchBlock == carrier::kBlock, "a block of symbols is one of the soft table's");
constexpr size_t kBlock = carrier::kBlock;

// Symbols and slopes of a block as planes, moved; zeros behind the frame's last.
struct Moved {
  HWY_ALIGN float re[kBlock];
  HWY_ALIGN float im[kBlock];
  HWY_ALIGN float slope_re[kBlock];
  HWY_ALIGN float slope_im[kBlock];
  HWY_ALIGN float known_re[kBlock];
  HWY_ALIGN float known_im[kBlock];
  HWY_ALIGN float place[kBlock];   // v
  HWY_ALIGN float weight[kBlock];  // 0 behind the frame's last
};

void MoveBlock(const RefineTask& task, const TimingStep& step, size_t first, size_t count,
               absl::Span<const carrier::Iq> known, const FrameArrays& arrays, Moved* moved) {
  const auto middle = static_cast<float>(step.middle);
  const auto slope = static_cast<float>(step.slope);
  for (size_t i = 0; i < count; ++i) {
    const Iq y = arrays.symbols[first + i];
    const Iq d = arrays.slopes[first + i];
    const float v = task.PlaceOf(static_cast<int>(first + i));
    const float move = middle + slope * v;
    const float bend = -move * task.bandwidth;
    moved->re[i] = y.i + move * d.i;
    moved->im[i] = y.q + move * d.q;
    moved->slope_re[i] = d.i + bend * y.i;
    moved->slope_im[i] = d.q + bend * y.q;
    moved->place[i] = v;
    moved->weight[i] = task.WeightOf(static_cast<int>(first + i));
    const Iq sent = known.empty() ? Iq() : known[first + i];
    moved->known_re[i] = sent.i;
    moved->known_im[i] = sent.q;
  }
  for (size_t i = count; i < kBlock; ++i) {
    moved->re[i] = moved->im[i] = moved->slope_re[i] = moved->slope_im[i] = 0.0f;
    moved->known_re[i] = moved->known_im[i] = moved->place[i] = moved->weight[i] = 0.0f;
  }
}

// In float over a block of symbols, above that in double.
HWY_INLINE double Sum(V v) { return static_cast<double>(hn::GetLane(hn::SumOfLanes(df, v))); }

RefineSums SumSlopesSimd(const carrier::ModelView& model, const RefineTask& task,
                         const TimingStep& step, absl::Span<const carrier::Iq> known,
                         const FrameArrays& arrays) {
  const size_t lanes = hn::Lanes(df);
  const auto num_symbols = static_cast<size_t>(task.num_symbols);
  const soft::Table table(model, task.carrier.table);
  soft::TurnBack turn(task.carrier, 0.5 * (task.num_symbols - 1), 1.0 / task.carrier.gain);
  Moved moved;
  soft::Block block;
  carrier::FrameCpu frame;
  frame.num_symbols = static_cast<int>(kBlock);
  frame.symbols = {moved.re, moved.im};
  RefineSums total;
  for (size_t first = 0; first < num_symbols; first += kBlock) {
    const size_t count = std::min(kBlock, num_symbols - first);
    MoveBlock(task, step, first, count, known, arrays, &moved);
    turn.Start(first);
    soft::PlaceBlock(table, frame, 0, kBlock, turn, &block);
    soft::ReadBlock<false>(table, kBlock, &block);
    V score = hn::Zero(df);
    V score_at = hn::Zero(df);
    V projection = hn::Zero(df);
    V variance = hn::Zero(df);
    for (size_t k = 0; k < kBlock; k += lanes) {
      const V re = hn::Load(df, block.z_re + k);
      const V im = hn::Load(df, block.z_im + k);
      V s_re, s_im, unused, energy;
      hn::LoadInterleaved4(df, block.read + 4 * k, s_re, s_im, unused, energy);
      s_re = hn::Xor(s_re, table.SignOf(re));
      s_im = hn::Xor(s_im, table.SignOf(im));
      const V known_re = hn::Load(df, moved.known_re + k);
      const V known_im = hn::Load(df, moved.known_im + k);
      const auto is_known =
          hn::Gt(hn::MulAdd(known_re, known_re, hn::Mul(known_im, known_im)), hn::Zero(df));
      const V weight = hn::Load(df, moved.weight + k);
      const auto unsure = hn::AndNot(is_known, hn::Gt(weight, hn::Zero(df)));
      variance = hn::Add(
          variance,
          hn::IfThenElseZero(unsure, hn::NegMulAdd(s_re, s_re, hn::NegMulAdd(s_im, s_im, energy))));
      s_re = hn::IfThenElse(is_known, known_re, s_re);
      s_im = hn::IfThenElse(is_known, known_im, s_im);
      V slope_re = hn::Load(df, moved.slope_re + k);
      V slope_im = hn::Load(df, moved.slope_im + k);
      turn.Apply(k, &slope_re, &slope_im);
      const V weighted = hn::Mul(weight, hn::MulAdd(s_re, slope_re, hn::Mul(s_im, slope_im)));
      score = hn::Add(score, weighted);
      score_at = hn::MulAdd(hn::Load(df, moved.place + k), weighted, score_at);
      projection = hn::MulAdd(s_re, re, hn::MulAdd(s_im, im, projection));
    }
    total.score[0] += Sum(score);
    total.score[1] += Sum(score_at);
    total.projection += Sum(projection);
    total.variance += Sum(variance);
  }
  return total;
}

}  // namespace
}  // namespace baseband::timing::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::timing {

HWY_EXPORT(SumSlopesSimd);

RefineSums SumSlopes(const carrier::ModelView& model, const RefineTask& task,
                     const TimingStep& step, absl::Span<const carrier::Iq> known,
                     const FrameArrays& arrays) {
  return HWY_DYNAMIC_DISPATCH(SumSlopesSimd)(model, task, step, known, arrays);
}

}  // namespace baseband::timing
#endif
