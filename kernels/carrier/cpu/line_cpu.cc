// Stages S2 and S3 on the CPU device: the line, its spectrum's peaks, and its sums over blocks.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/base/simd_targets.h"
#include "kernels/carrier/cpu/stages_cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/carrier/cpu/line_cpu.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/carrier/cpu/turn_cpu-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace baseband::carrier::HWY_NAMESPACE {
namespace {

// As UnitPower, on vectors.
HWY_INLINE void Raise(int power, V* re, V* im) {
  int bit = 1;
  while (2 * bit <= power) bit *= 2;
  const V u = *re;
  const V v = *im;
  V a = u;
  V b = v;
  for (bit /= 2; bit > 0; bit /= 2) {
    const V square = hn::NegMulAdd(b, b, hn::Mul(a, a));
    b = hn::Mul(hn::Add(a, a), b);
    a = square;
    if ((power & bit) != 0) {
      const V product = hn::NegMulAdd(b, v, hn::Mul(a, u));
      b = hn::MulAdd(b, u, hn::Mul(a, v));
      a = product;
    }
  }
  *re = a;
  *im = b;
}

// Weights of one table by linear interpolation; all are real for a constellation that is symmetric
// about an axis.
struct Weights {
  const float* table;  // i, q, i, q ..
  bool real;
  float nodes_per_unit;

  HWY_INLINE void At(V rho, V* re, V* im) const {
    const V node =
        hn::Min(hn::Mul(rho, hn::Set(df, nodes_per_unit)), hn::Set(df, kWeightNodes - 1.0f));
    const VI cell = hn::Min(hn::ConvertTo(di, node), hn::Set(di, kWeightNodes - 2));
    const V t = hn::Sub(node, hn::ConvertTo(df, cell));
    const VI at = hn::Add(cell, cell);
    const V low = hn::GatherIndex(df, table, at);
    const V high = hn::GatherIndex(df, table + 2, at);
    *re = hn::MulAdd(t, hn::Sub(high, low), low);
    *im = hn::Zero(df);
    if (real) return;
    const V low_im = hn::GatherIndex(df, table + 1, at);
    const V high_im = hn::GatherIndex(df, table + 3, at);
    *im = hn::MulAdd(t, hn::Sub(high_im, low_im), low_im);
  }
};

void ClearAfter(size_t from, size_t points, Split x) {
  if (from >= points) return;
  std::memset(x.re + from, 0, (points - from) * sizeof(float));
  std::memset(x.im + from, 0, (points - from) * sizeof(float));
}

double LineOfPowerSimd(const ModelView& view, int table, double gain, const FrameCpu& frame,
                       size_t points, Split x) {
  const size_t lanes = hn::Lanes(df);
  const Iq* const weight = view.weight + int64_t{table} * kWeightNodes;
  const bool real = std::all_of(weight, weight + kWeightNodes, [](const Iq& w) {
    return std::fabs(w.q) <= 1e-6F * std::fabs(w.i);
  });
  const Weights weights{&weight->i, real, view.weight_nodes_per_unit};
  const V inverse_gain = hn::Set(df, static_cast<float>(1.0 / gain));
  const V least = hn::Set(df, 1e-30f);
  const auto count = static_cast<size_t>(frame.num_symbols);
  double energy = 0.0;
  for (size_t first = 0; first < count; first += kBlock) {
    V sum = hn::Zero(df);
    for (size_t n = first; n < first + kBlock; n += lanes) {
      V re = hn::Mul(hn::Load(df, frame.symbols.re + n), inverse_gain);
      V im = hn::Mul(hn::Load(df, frame.symbols.im + n), inverse_gain);
      const V rho = hn::Sqrt(hn::MulAdd(re, re, hn::Mul(im, im)));
      const V inverse_rho = hn::Div(hn::Set(df, 1.0f), hn::Max(rho, least));  // 0 stays 0
      V weight_re;
      V weight_im;
      weights.At(rho, &weight_re, &weight_im);
      re = hn::Mul(re, inverse_rho);
      im = hn::Mul(im, inverse_rho);
      Raise(view.power, &re, &im);
      V x_re = hn::Mul(weight_re, re);
      V x_im = hn::Mul(weight_re, im);
      if (!real) {
        x_re = hn::NegMulAdd(weight_im, im, x_re);
        x_im = hn::MulAdd(weight_im, re, x_im);
      }
      hn::Store(x_re, df, x.re + n);
      hn::Store(x_im, df, x.im + n);
      sum = hn::MulAdd(x_re, x_re, hn::MulAdd(x_im, x_im, sum));
    }
    energy += static_cast<double>(Sum(sum));
  }
  ClearAfter(PaddedToBlock(count), points, x);
  return energy;
}

double LineOfKnownSimd(double gain, const FrameCpu& frame, size_t points, Split x) {
  const size_t lanes = hn::Lanes(df);
  const V inverse_gain = hn::Set(df, static_cast<float>(1.0 / gain));
  const auto count = static_cast<size_t>(frame.num_symbols);
  double energy = 0.0;
  for (size_t first = 0; first < count; first += kBlock) {
    V sum = hn::Zero(df);
    for (size_t n = first; n < first + kBlock; n += lanes) {
      const V re = hn::Mul(hn::Load(df, frame.symbols.re + n), inverse_gain);
      const V im = hn::Mul(hn::Load(df, frame.symbols.im + n), inverse_gain);
      const V known_re = hn::Load(df, frame.known.re + n);
      const V known_im = hn::Load(df, frame.known.im + n);
      const V x_re = hn::MulAdd(im, known_im, hn::Mul(re, known_re));
      const V x_im = hn::NegMulAdd(re, known_im, hn::Mul(im, known_re));
      hn::Store(x_re, df, x.re + n);
      hn::Store(x_im, df, x.im + n);
      sum = hn::MulAdd(x_re, x_re, hn::MulAdd(x_im, x_im, sum));
    }
    energy += static_cast<double>(Sum(sum));
  }
  ClearAfter(PaddedToBlock(count), points, x);
  return energy;
}

// Greatest half bin of each group of bins, whole groups only.
void GroupPowers(const HalfBin& half, int points, Split spectrum, float* greatest) {
  const size_t lanes = hn::Lanes(df);
  const V c = hn::Set(df, half.turn.c);
  const V s = hn::Set(df, half.turn.s);
  const V scale = hn::Set(df, half.scale);
  for (size_t group = 0; group < static_cast<size_t>(points / kPeakGroup); ++group) {
    V most = hn::Zero(df);
    const size_t end = (group + 1) * kPeakGroup;
    for (size_t k = group * kPeakGroup; k < end; k += lanes) {
      const V re = hn::Load(df, spectrum.re + k);
      const V im = hn::Load(df, spectrum.im + k);
      const V next_re = hn::LoadU(df, spectrum.re + k + 1);
      const V next_im = hn::LoadU(df, spectrum.im + k + 1);
      const V sum_re = hn::Add(re, hn::NegMulAdd(next_im, s, hn::Mul(next_re, c)));
      const V sum_im = hn::Add(im, hn::MulAdd(next_im, c, hn::Mul(next_re, s)));
      const V whole = hn::MulAdd(re, re, hn::Mul(im, im));
      const V between = hn::Mul(scale, hn::MulAdd(sum_re, sum_re, hn::Mul(sum_im, sum_im)));
      most = hn::Max(most, hn::Max(whole, between));
    }
    greatest[group] = hn::GetLane(hn::MaxOfLanes(df, most));
  }
}

int SumLineBlocksSimd(const FrameCpu& frame, Split x, double nu, int length, bool squares,
                      LineBlock* blocks) {
  constexpr size_t kStep = sizeof(LineBlock) / sizeof(float);
  const size_t lanes = hn::Lanes(df);
  const auto count = static_cast<size_t>(frame.num_symbols);
  const auto block_length = static_cast<size_t>(length);
  // A part of a block, or several blocks. Small blocks may begin behind the last symbol: there are
  // LineBlocksRoom of them.
  const size_t group = std::min(kBlock, block_length);
  std::fill(blocks, blocks + LineBlocksRoom(frame.num_symbols, length), LineBlock());
  Estimate estimate;
  estimate.frequency = nu;
  TurnBack turn(estimate, frame.centre(), 1.0);
  HWY_ALIGN float numbers[5][kBlock];
  for (size_t first = 0; first < count; first += kBlock) {
    turn.Start(first);
    for (size_t k = 0; k < kBlock; k += lanes) {
      V re = hn::Load(df, x.re + first + k);
      V im = hn::Load(df, x.im + first + k);
      turn.Apply(k, &re, &im);
      hn::Store(re, df, numbers[0] + k);
      hn::Store(im, df, numbers[1] + k);
      if (!squares) continue;
      const V product = hn::Mul(re, im);
      const V a = hn::Mul(re, re);
      const V b = hn::Mul(im, im);
      hn::Store(hn::Sub(a, b), df, numbers[2] + k);
      hn::Store(hn::Add(product, product), df, numbers[3] + k);
      hn::Store(hn::Add(a, b), df, numbers[4] + k);
    }
    LineBlock& block = blocks[first / block_length];
    SumGroups(numbers[0], kBlock, group, &block.sum.i, kStep);
    SumGroups(numbers[1], kBlock, group, &block.sum.q, kStep);
    if (!squares) continue;
    SumGroups(numbers[2], kBlock, group, &block.square.i, kStep);
    SumGroups(numbers[3], kBlock, group, &block.square.q, kStep);
    SumGroups(numbers[4], kBlock, group, &block.energy, kStep);
  }
  return NumLineBlocks(frame.num_symbols, length);
}

}  // namespace
}  // namespace baseband::carrier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::carrier {

HWY_EXPORT(LineOfPowerSimd);
HWY_EXPORT(LineOfKnownSimd);
HWY_EXPORT(GroupPowers);
HWY_EXPORT(SumLineBlocksSimd);

double LineOfPower(const ModelView& view, int table, double gain, const FrameCpu& frame,
                   size_t points, Split x) {
  return HWY_DYNAMIC_DISPATCH(LineOfPowerSimd)(view, table, gain, frame, points, x);
}

double LineOfKnown(double gain, const FrameCpu& frame, size_t points, Split x) {
  return HWY_DYNAMIC_DISPATCH(LineOfKnownSimd)(gain, frame, points, x);
}

int SumLineBlocks(const FrameCpu& frame, Split x, double nu, int length, bool squares,
                  LineBlock* blocks) {
  return HWY_DYNAMIC_DISPATCH(SumLineBlocksSimd)(frame, x, nu, length, squares, blocks);
}

void GroupPeaks(const HalfBin& half, int points, Split spectrum, float* greatest) {
  HWY_DYNAMIC_DISPATCH(GroupPowers)(half, points, spectrum, greatest);
}

}  // namespace baseband::carrier
#endif
