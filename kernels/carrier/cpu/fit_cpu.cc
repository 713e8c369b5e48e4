// Stage S5 on the CPU device: a round's sums over the symbols, by soft decisions.
#include <algorithm>
#include <cstdint>

#include "kernels/base/simd_targets.h"
#include "kernels/carrier/cpu/stages_cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/carrier/cpu/fit_cpu.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/carrier/cpu/soft_cpu-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace baseband::carrier::HWY_NAMESPACE {
namespace {

// As LnBesselI0.
HWY_INLINE V LnI0(V x) {
  const V knee = hn::Set(df, 3.75f);
  const V low = hn::Min(x, knee);
  const V y = hn::Mul(hn::Mul(low, low), hn::Set(df, 1.0f / 14.0625f));
  V s = hn::Set(df, 0.0045813f);
  for (const float c : {0.0360768f, 0.2659732f, 1.2067492f, 3.0899424f, 3.5156229f, 1.0f}) {
    s = hn::MulAdd(s, y, hn::Set(df, c));
  }
  const V high = hn::Max(x, knee);
  const V u = hn::Div(knee, high);
  V r = hn::Set(df, 0.00392377f);
  for (const float c : {-0.01647633f, 0.02635537f, -0.02057706f, 0.00916281f, -0.00157565f,
                        0.00225319f, 0.01328592f, 0.39894228f}) {
    r = hn::MulAdd(r, u, hn::Set(df, c));
  }
  const M is_low = hn::Lt(x, knee);
  const V ln = hn::Log(df, hn::IfThenElse(is_low, s, hn::Div(r, hn::Sqrt(high))));
  return hn::IfThenElse(is_low, ln, hn::Add(ln, high));
}

// FitSums of a block, a lane each.
struct VectorSums {
  V score[2];
  V curvature[3];
  V square[3];
  V projection;
  V residue;
  V excess;
  V fit;

  HWY_INLINE VectorSums() {
    score[0] = score[1] = curvature[0] = curvature[1] = curvature[2] = hn::Zero(df);
    square[0] = square[1] = square[2] = projection = residue = excess = fit = hn::Zero(df);
  }
  HWY_INLINE FitSums<float> Total() const {
    FitSums<float> sums;
    for (int k = 0; k < 2; ++k) sums.score[k] = Sum(score[k]);
    for (int k = 0; k < 3; ++k) sums.curvature[k] = Sum(curvature[k]);
    for (int k = 0; k < 3; ++k) sums.square[k] = Sum(square[k]);
    sums.projection = Sum(projection);
    sums.residue = Sum(residue);
    sums.excess = Sum(excess);
    sums.fit = Sum(fit);
    return sums;
  }
};

// What a stretch has the sums of, a number for each symbol of a block.
struct Scores {
  HWY_ALIGN float score[kBlock];
  HWY_ALIGN float curvature[kBlock];
  HWY_ALIGN float square[kBlock];
};

// AddSymbol for the symbols of a block, with what is known in place of what the table says. kShort:
// to `scores`, too, of the whole block.
template <bool kKnown, bool kShort>
HWY_INLINE FitSums<float> AddBlock(const Table& table, const FrameCpu& frame, size_t first,
                                   const Block& block, Scores* scores) {
  const size_t lanes = hn::Lanes(df);
  const auto count = static_cast<size_t>(frame.num_symbols);
  const size_t end = kShort ? kBlock : std::min(kBlock, count - first);
  const V two_over_noise = hn::Set(df, table.two_over_noise);
  const V inverse_count = hn::Set(df, 1.0f / static_cast<float>(frame.num_symbols));
  VectorSums sums;
  for (size_t k = 0; k < end; k += lanes) {
    const V re = hn::Load(df, block.z_re + k);
    const V im = hn::Load(df, block.z_im + k);
    V s_re, s_im, fit, energy, turning_re, turning_im, unused;
    hn::LoadInterleaved4(df, block.read + 4 * k, s_re, s_im, fit, energy);
    hn::LoadInterleaved4(df, block.turning + 4 * k, turning_re, turning_im, unused, unused);
    const V sign_re = table.SignOf(re);
    const V sign_im = table.SignOf(im);
    s_re = hn::Xor(s_re, sign_re);
    s_im = hn::Xor(s_im, sign_im);
    turning_re = hn::Xor(turning_re, sign_re);
    turning_im = hn::Xor(turning_im, sign_im);
    if (kKnown) {
      const V power = hn::MulAdd(re, re, hn::Mul(im, im));
      const V known_re = hn::Load(df, frame.known.re + first + k);
      const V known_im = hn::Load(df, frame.known.im + first + k);
      const V known_energy = hn::MulAdd(known_re, known_re, hn::Mul(known_im, known_im));
      const M known = hn::Gt(known_energy, hn::Zero(df));
      const V product = hn::Sqrt(hn::Mul(power, known_energy));
      const V along = hn::MulAdd(re, known_re, hn::Mul(im, known_im));
      const V known_fit =
          hn::Sub(hn::Mul(two_over_noise, along), LnI0(hn::Mul(two_over_noise, product)));
      s_re = hn::IfThenElse(known, known_re, s_re);
      s_im = hn::IfThenElse(known, known_im, s_im);
      turning_re = hn::IfThenZeroElse(known, turning_re);
      turning_im = hn::IfThenZeroElse(known, turning_im);
      energy = hn::IfThenElse(known, known_energy, energy);
      fit = hn::IfThenElse(known, known_fit, fit);
    }
    if (first + k + lanes > count) {  // z = 0 adds nothing but this
      const M exists = Exists(frame, first + k);
      energy = hn::IfThenElseZero(exists, energy);
      fit = hn::IfThenElseZero(exists, fit);
    }
    const V along = hn::MulAdd(re, s_re, hn::Mul(im, s_im));
    const V g = hn::Mul(two_over_noise, hn::NegMulAdd(re, s_im, hn::Mul(im, s_re)));
    const V h =
        hn::Mul(two_over_noise, hn::NegMulAdd(re, turning_im, hn::MulAdd(im, turning_re, along)));
    const V gg = hn::Mul(g, g);
    if (kShort) {
      hn::Store(g, df, scores->score + k);
      hn::Store(h, df, scores->curvature + k);
      hn::Store(gg, df, scores->square + k);
    }
    const V n = hn::ConvertTo(df, hn::Iota(di, static_cast<int32_t>(first + k)));
    const V t = hn::Mul(hn::Sub(n, hn::Set(df, static_cast<float>(frame.centre()))), inverse_count);
    const V tt = hn::Mul(t, t);
    sums.score[0] = hn::Add(sums.score[0], g);
    sums.score[1] = hn::MulAdd(t, g, sums.score[1]);
    sums.curvature[0] = hn::Add(sums.curvature[0], h);
    sums.curvature[1] = hn::MulAdd(t, h, sums.curvature[1]);
    sums.curvature[2] = hn::MulAdd(tt, h, sums.curvature[2]);
    sums.square[0] = hn::Add(sums.square[0], gg);
    sums.square[1] = hn::MulAdd(t, gg, sums.square[1]);
    sums.square[2] = hn::MulAdd(tt, gg, sums.square[2]);
    sums.projection = hn::Add(sums.projection, along);
    sums.residue =
        hn::MulAdd(re, hn::Sub(re, s_re), hn::MulAdd(im, hn::Sub(im, s_im), sums.residue));
    sums.excess = hn::Add(sums.excess, hn::Sub(energy, along));
    sums.fit = hn::Add(sums.fit, fit);
  }
  return sums.Total();
}

// Of stretches that are no longer than a block.
void AddScores(const Scores& scores, size_t first, size_t count, size_t length,
               Stretch* stretches) {
  float sums[3][kBlock] = {};
  SumGroups(scores.score, kBlock, length, sums[0], 1);
  SumGroups(scores.curvature, kBlock, length, sums[1], 1);
  SumGroups(scores.square, kBlock, length, sums[2], 1);
  for (size_t k = 0; k * length < std::min(kBlock, count - first); ++k) {
    Stretch& stretch = stretches[first / length + k];
    stretch.score += static_cast<double>(sums[0][k]);
    stretch.curvature += static_cast<double>(sums[1][k]);
    stretch.square += static_cast<double>(sums[2][k]);
  }
}

template <bool kKnown, bool kShort>
FitSums<double> SumFitWith(const ModelView& view, const FrameCpu& frame, const Estimate& estimate,
                           Stretch* stretches) {
  const Table table(view, estimate.table);
  TurnBack turn(estimate, frame.centre(), 1.0 / estimate.gain);
  const auto count = static_cast<size_t>(frame.num_symbols);
  const auto length = static_cast<size_t>(StretchLength(frame.num_symbols));
  std::fill(stretches, stretches + kMaxStretches, Stretch());
  Block block;
  Scores scores;
  FitSums<double> sums;
  for (size_t first = 0; first < count; first += kBlock) {
    turn.Start(first);
    PlaceBlock(table, frame, first, kBlock, turn, &block);
    ReadBlock<true>(table, kBlock, &block);
    const FitSums<float> of_block = AddBlock<kKnown, kShort>(table, frame, first, block, &scores);
    sums.Add(of_block);
    if (kShort) {
      AddScores(scores, first, count, length, stretches);
    } else {
      Stretch& stretch = stretches[first / length];
      stretch.score += static_cast<double>(of_block.score[0]);
      stretch.curvature += static_cast<double>(of_block.curvature[0]);
      stretch.square += static_cast<double>(of_block.square[0]);
    }
  }
  return sums;
}

FitSums<double> SumFitSimd(const ModelView& view, const FrameCpu& frame, const Estimate& estimate,
                           Stretch* stretches) {
  if (frame.num_symbols <= kShortFrame) {
    return frame.known.re == nullptr ? SumFitWith<false, true>(view, frame, estimate, stretches)
                                     : SumFitWith<true, true>(view, frame, estimate, stretches);
  }
  return frame.known.re == nullptr ? SumFitWith<false, false>(view, frame, estimate, stretches)
                                   : SumFitWith<true, false>(view, frame, estimate, stretches);
}

}  // namespace
}  // namespace baseband::carrier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::carrier {

HWY_EXPORT(SumFitSimd);

FitSums<double> SumFit(const ModelView& view, const FrameCpu& frame, const Estimate& estimate,
                       Stretch* stretches) {
  return HWY_DYNAMIC_DISPATCH(SumFitSimd)(view, frame, estimate, stretches);
}

}  // namespace baseband::carrier
#endif
