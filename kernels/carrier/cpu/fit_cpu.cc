// Stages S4 and S5 on the CPU device: symbols against the soft table.
//
// A symbol's four nodes lie anywhere in the table, four numbers to a node. They are not gathered
// number by number: for each symbol they are loaded as vectors of four and interpolated there; a
// block of results is then read back number by number. So a node is one load, on any processor.
#include <algorithm>
#include <cstdint>

#include "kernels/carrier/cpu/stages_cpu.h"

#define HWY_BROKEN_EMU128 0  // as in kernels/ldpc/decode_minsum_cpu.cc
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/carrier/cpu/fit_cpu.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/carrier/cpu/turn_cpu-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace baseband::carrier {
namespace HWY_NAMESPACE {
namespace {

const hn::CappedTag<float, 4> d4;
using V4 = hn::Vec<decltype(d4)>;

HWY_INLINE V4 Lerp(V4 t, V4 a, V4 b) { return hn::MulAdd(t, hn::Sub(b, a), a); }

// A block of symbols on their way through the table.
struct Block {
  HWY_ALIGN float z_re[kBlock];
  HWY_ALIGN float z_im[kBlock];
  HWY_ALIGN int32_t node[kBlock];  // the lower left one
  HWY_ALIGN float t_i[kBlock];     // from there to the next along either axis
  HWY_ALIGN float t_q[kBlock];
  HWY_ALIGN float turn_i[kBlock];  // how a turn of z moves it along either axis, in nodes
  HWY_ALIGN float turn_q[kBlock];
  HWY_ALIGN float read[4 * kBlock];     // soft, fit, energy of the folded place
  HWY_ALIGN float turning[4 * kBlock];  // their derivatives to the angle of z
};

// One table of the model.
struct Table {
  const SoftNode* nodes;
  int side;
  bool folded;
  float origin;
  float nodes_per_unit;
  float two_over_noise;

  Table(const ModelView& view, int table)
      : nodes(view.soft + int64_t{table} * view.side * view.side),
        side(view.side),
        folded(view.folded != 0),
        origin(view.facts[table].origin),
        nodes_per_unit(view.facts[table].nodes_per_unit),
        two_over_noise(2.0f / view.facts[table].noise) {}

  // Coordinate in nodes, not yet held within the table.
  HWY_INLINE V NodeOf(V coordinate) const {
    const V c = folded ? hn::Abs(coordinate) : coordinate;
    return hn::Mul(hn::Sub(c, hn::Set(df, origin)), hn::Set(df, nodes_per_unit));
  }
  HWY_INLINE V Held(V node) const {
    return hn::Max(hn::Min(node, hn::Set(df, static_cast<float>(side - 1))), hn::Zero(df));
  }
  // The sign that folding took away.
  HWY_INLINE V SignOf(V coordinate) const {
    return folded ? hn::And(coordinate, hn::SignBit(df)) : hn::Zero(df);
  }
};

// PlaceOf along one axis: the cell, and to *t the part of it; to *turn the motion `angle` (of the
// unfolded coordinate) makes there.
HWY_INLINE VI PlaceAlong(const Table& table, V coordinate, V angle, float* t, float* turn) {
  const V node = table.NodeOf(coordinate);
  const V held = table.Held(node);
  const VI cell = hn::Min(hn::ConvertTo(di, held), hn::Set(di, table.side - 2));
  hn::Store(hn::Sub(held, hn::ConvertTo(df, cell)), df, t);
  const V motion =
      hn::Mul(hn::Xor(angle, table.SignOf(coordinate)), hn::Set(df, table.nodes_per_unit));
  hn::Store(hn::IfThenElseZero(hn::Eq(node, held), motion), df, turn);
  return cell;
}

// Symbols first .. first + count - 1 into the block.
HWY_INLINE void PlaceBlock(const Table& table, const FrameCpu& frame, size_t first, size_t count,
                           const TurnBack& turn, Block* block) {
  const size_t lanes = hn::Lanes(df);
  for (size_t k = 0; k < count; k += lanes) {
    V re = hn::Load(df, frame.symbols.re + first + k);
    V im = hn::Load(df, frame.symbols.im + first + k);
    turn.Apply(k, &re, &im);
    hn::Store(re, df, block->z_re + k);
    hn::Store(im, df, block->z_im + k);
    const VI column = PlaceAlong(table, re, hn::Neg(im), block->t_i + k, block->turn_i + k);
    const VI row = PlaceAlong(table, im, re, block->t_q + k, block->turn_q + k);
    hn::Store(hn::Add(hn::Mul(row, hn::Set(di, table.side)), column), di, block->node + k);
  }
}

template <bool kTurning>
HWY_INLINE void ReadBlock(const Table& table, size_t count, Block* block) {
  const auto row = static_cast<size_t>(table.side);
  for (size_t k = 0; k < count; ++k) {
    const float* const low = &table.nodes[block->node[k]].i;
    const float* const high = low + 4 * row;
    const V4 t_i = hn::Set(d4, block->t_i[k]);
    const V4 t_q = hn::Set(d4, block->t_q[k]);
    const V4 low_left = hn::Load(d4, low);
    const V4 low_right = hn::Load(d4, low + 4);
    const V4 up_left = hn::Sub(hn::Load(d4, high), low_left);
    const V4 up_right = hn::Sub(hn::Load(d4, high + 4), low_right);
    const V4 left = hn::MulAdd(t_q, up_left, low_left);
    const V4 along_i = hn::Sub(hn::MulAdd(t_q, up_right, low_right), left);
    hn::Store(hn::MulAdd(t_i, along_i, left), d4, block->read + 4 * k);
    if (!kTurning) continue;
    const V4 along_q = Lerp(t_i, up_left, up_right);
    hn::Store(hn::MulAdd(hn::Set(d4, block->turn_i[k]), along_i,
                         hn::Mul(hn::Set(d4, block->turn_q[k]), along_q)),
              d4, block->turning + 4 * k);
  }
}

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
  V energy;
  V power;
  V fit;

  HWY_INLINE VectorSums() {
    score[0] = score[1] = curvature[0] = curvature[1] = curvature[2] = hn::Zero(df);
    square[0] = square[1] = square[2] = projection = energy = power = fit = hn::Zero(df);
  }
  HWY_INLINE FitSums<float> Total() const {
    FitSums<float> sums;
    for (int k = 0; k < 2; ++k) sums.score[k] = Sum(score[k]);
    for (int k = 0; k < 3; ++k) sums.curvature[k] = Sum(curvature[k]);
    for (int k = 0; k < 3; ++k) sums.square[k] = Sum(square[k]);
    sums.projection = Sum(projection);
    sums.energy = Sum(energy);
    sums.power = Sum(power);
    sums.fit = Sum(fit);
    return sums;
  }
};

// AddSymbol for the symbols of a block, with what is known in place of what the table says.
template <bool kKnown>
HWY_INLINE FitSums<float> AddBlock(const Table& table, const FrameCpu& frame, size_t first,
                                   const Block& block) {
  const size_t lanes = hn::Lanes(df);
  const auto count = static_cast<size_t>(frame.num_symbols);
  const size_t end = std::min(kBlock, count - first);
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
    const V power = hn::MulAdd(re, re, hn::Mul(im, im));
    if (kKnown) {
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
    sums.energy = hn::Add(sums.energy, energy);
    sums.power = hn::Add(sums.power, power);
    sums.fit = hn::Add(sums.fit, fit);
  }
  return sums.Total();
}

template <bool kKnown>
FitSums<double> SumFitWith(const ModelView& view, const FrameCpu& frame, const Estimate& estimate) {
  const Table table(view, estimate.table);
  TurnBack turn(estimate, frame.centre(), 1.0 / estimate.gain);
  Block block;
  FitSums<double> sums;
  for (size_t first = 0; first < static_cast<size_t>(frame.num_symbols); first += kBlock) {
    turn.Start(first);
    PlaceBlock(table, frame, first, kBlock, turn, &block);
    ReadBlock<true>(table, kBlock, &block);
    sums.Add(AddBlock<kKnown>(table, frame, first, block));
  }
  return sums;
}

FitSums<double> SumFitSimd(const ModelView& view, const FrameCpu& frame, const Estimate& estimate) {
  return frame.known.re == nullptr ? SumFitWith<false>(view, frame, estimate)
                                   : SumFitWith<true>(view, frame, estimate);
}

double SumCoarseFitSimd(const ModelView& view, const FrameCpu& frame, const Estimate& estimate,
                        int pass) {
  const size_t lanes = hn::Lanes(df);
  const Table table(view, estimate.table);
  const V two_over_noise = hn::Set(df, table.two_over_noise);
  TurnBack turn(estimate, frame.centre(), 1.0 / estimate.gain);
  Block block;
  double total = 0.0;
  for (size_t first = static_cast<size_t>(pass) * kFitGroup;
       first < static_cast<size_t>(frame.num_symbols); first += kFitPasses * kFitGroup) {
    turn.Start(first);
    PlaceBlock(table, frame, first, kFitGroup, turn, &block);
    ReadBlock<false>(table, kFitGroup, &block);
    V sum = hn::Zero(df);
    for (size_t k = 0; k < kFitGroup; k += lanes) {
      V fit, unused;
      hn::LoadInterleaved4(df, block.read + 4 * k, unused, unused, fit, unused);
      if (frame.known.re != nullptr) {
        const V known_re = hn::Load(df, frame.known.re + first + k);
        const V known_im = hn::Load(df, frame.known.im + first + k);
        const V along = hn::MulAdd(hn::Load(df, block.z_re + k), known_re,
                                   hn::Mul(hn::Load(df, block.z_im + k), known_im));
        const M known =
            hn::Gt(hn::MulAdd(known_re, known_re, hn::Mul(known_im, known_im)), hn::Zero(df));
        fit = hn::IfThenElse(known, hn::Mul(two_over_noise, along), fit);
      }
      sum = hn::Add(sum, hn::IfThenElseZero(Exists(frame, first + k), fit));
    }
    total += static_cast<double>(Sum(sum));
  }
  return total;
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace baseband::carrier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::carrier {

HWY_EXPORT(SumFitSimd);
HWY_EXPORT(SumCoarseFitSimd);

FitSums<double> SumFit(const ModelView& view, const FrameCpu& frame, const Estimate& estimate) {
  return HWY_DYNAMIC_DISPATCH(SumFitSimd)(view, frame, estimate);
}

double SumCoarseFit(const ModelView& view, const FrameCpu& frame, const Estimate& estimate,
                    int pass) {
  return HWY_DYNAMIC_DISPATCH(SumCoarseFitSimd)(view, frame, estimate, pass);
}

}  // namespace baseband::carrier
#endif
