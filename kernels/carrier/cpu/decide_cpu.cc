// Stage S6 and the sweep on the CPU device: symbols against the nearest point.
#include <algorithm>
#include <cstdint>

#include "kernels/base/simd_targets.h"
#include "kernels/carrier/constellation/nearest.h"
#include "kernels/carrier/cpu/stages_cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/carrier/cpu/decide_cpu.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/carrier/cpu/turn_cpu-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace baseband::carrier::HWY_NAMESPACE {
namespace {

const hn::CappedTag<float, 4> d4;

// The nearest points of a block of symbols, as [kBlock] SearchPoints.
struct Block {
  HWY_ALIGN float i[kBlock];  // folded, if the view is
  HWY_ALIGN float q[kBlock];
  HWY_ALIGN int32_t place[kBlock];  // cell, or point of a square QAM
  HWY_ALIGN float points[3][4 * kBlock];
};

HWY_INLINE VI HeldFloorOf(V x, int last) {
  return hn::ConvertTo(di,
                       hn::Min(hn::Max(x, hn::Zero(df)), hn::Set(df, static_cast<float>(last))));
}

HWY_INLINE void CopyPoint(const SearchPoint& point, float* to) {
  hn::Store(hn::Load(d4, &point.i), d4, to);
}

// Which point of points[0] .. points[2] is nearest, into points[0], for the cells that list no
// more.
HWY_INLINE void ChooseOfThree(size_t k, V i, V q, Block* block) {
  const V minus_two = hn::Set(df, -2.0f);
  const V mi = hn::Mul(minus_two, i);
  const V mq = hn::Mul(minus_two, q);
  V best_i, best_q, best_energy, best_inverse;
  hn::LoadInterleaved4(df, block->points[0] + 4 * k, best_i, best_q, best_energy, best_inverse);
  V least = hn::MulAdd(best_q, mq, hn::MulAdd(best_i, mi, best_energy));
  for (int c = 1; c < 3; ++c) {
    V p_i, p_q, energy, inverse;
    hn::LoadInterleaved4(df, block->points[c] + 4 * k, p_i, p_q, energy, inverse);
    const V distance = hn::MulAdd(p_q, mq, hn::MulAdd(p_i, mi, energy));
    const M nearer = hn::Lt(distance, least);
    least = hn::IfThenElse(nearer, distance, least);
    best_i = hn::IfThenElse(nearer, p_i, best_i);
    best_q = hn::IfThenElse(nearer, p_q, best_q);
    best_inverse = hn::IfThenElse(nearer, inverse, best_inverse);
  }
  hn::StoreInterleaved4(best_i, best_q, best_energy, best_inverse, df, block->points[0] + 4 * k);
}

// Leaves each symbol's nearest point in points[0] (its energy is not kept), and the symbols
// themselves, folded, in i and q.
HWY_INLINE void Decide(const NearestView& view, const FrameCpu& frame, size_t first,
                       const TurnBack& turn, Block* block) {
  const size_t lanes = hn::Lanes(df);
  const bool sliced = view.slices > 0;
  const V origin = hn::Set(df, sliced ? 0.0f : view.origin);
  const V scale = hn::Set(df, sliced ? view.slices_per_unit : view.cells_per_unit);
  const int side = sliced ? view.slices : view.side;
  for (size_t k = 0; k < kBlock; k += lanes) {
    V re = hn::Load(df, frame.symbols.re + first + k);
    V im = hn::Load(df, frame.symbols.im + first + k);
    turn.Apply(k, &re, &im);
    if (view.folded != 0) {
      re = hn::Abs(re);
      im = hn::Abs(im);
    }
    hn::Store(re, df, block->i + k);
    hn::Store(im, df, block->q + k);
    const VI column = HeldFloorOf(hn::Mul(hn::Sub(re, origin), scale), side - 1);
    const VI row = HeldFloorOf(hn::Mul(hn::Sub(im, origin), scale), side - 1);
    hn::Store(hn::Add(hn::Mul(row, hn::Set(di, side)), column), di, block->place + k);
  }
  if (sliced) {
    for (size_t k = 0; k < kBlock; ++k) {
      CopyPoint(view.points[block->place[k]], block->points[0] + 4 * k);
    }
    return;
  }
  uint32_t more = 0;
  for (size_t k = 0; k < kBlock; ++k) {
    const uint32_t word = view.cells[block->place[k]];
    more |= word;
    CopyPoint(view.points[word & kCellIndexMask], block->points[0] + 4 * k);
    CopyPoint(view.points[word >> kCellIndexBits & kCellIndexMask], block->points[1] + 4 * k);
    CopyPoint(view.points[word >> 2 * kCellIndexBits & kCellIndexMask], block->points[2] + 4 * k);
  }
  for (size_t k = 0; k < kBlock; k += lanes) {
    ChooseOfThree(k, hn::Load(df, block->i + k), hn::Load(df, block->q + k), block);
  }
  if ((more & kCellHasMore) == 0) return;
  for (size_t k = 0; k < kBlock; ++k) {
    if ((view.cells[block->place[k]] & kCellHasMore) == 0) continue;
    const int nearest = NearestListed(view, block->i[k], block->q[k]);
    CopyPoint(view.points[nearest], block->points[0] + 4 * k);
  }
}

HWY_INLINE V SquaredDistance(V re, V im, V point_re, V point_im) {
  const V d_re = hn::Sub(re, point_re);
  const V d_im = hn::Sub(im, point_im);
  return hn::MulAdd(d_re, d_re, hn::Mul(d_im, d_im));
}

// TurnedApart.
HWY_INLINE V ApartOf(V re, V im, V known_re, V known_im) {
  const V along = hn::MulAdd(re, known_re, hn::Mul(im, known_im));
  const V across = hn::NegMulAdd(re, known_im, hn::Mul(im, known_re));
  const V square = hn::Mul(across, across);
  const V product = hn::Sqrt(hn::MulAdd(along, along, square));
  return hn::IfThenElse(hn::Gt(along, hn::Zero(df)), hn::Div(square, hn::Add(product, along)),
                        hn::Sub(product, along));
}

DecisionSums SumHardDistanceSimd(const ModelView& view, const FrameCpu& frame,
                                 const Estimate& estimate) {
  const size_t lanes = hn::Lanes(df);
  const auto count = static_cast<size_t>(frame.num_symbols);
  TurnBack turn(estimate, frame.centre(), 1.0 / estimate.gain);
  Block block;
  DecisionSums total;
  for (size_t first = 0; first < count; first += kBlock) {
    turn.Start(first);
    Decide(view.nearest, frame, first, turn, &block);
    V sum = hn::Zero(df);
    V apart = hn::Zero(df);
    for (size_t k = 0; k < std::min(kBlock, count - first); k += lanes) {
      V point_re, point_im, unused;
      hn::LoadInterleaved4(df, block.points[0] + 4 * k, point_re, point_im, unused, unused);
      V distance =
          SquaredDistance(hn::Load(df, block.i + k), hn::Load(df, block.q + k), point_re, point_im);
      if (frame.known.re != nullptr) {
        const V known_re = hn::Load(df, frame.known.re + first + k);
        const V known_im = hn::Load(df, frame.known.im + first + k);
        V re = hn::Load(df, frame.symbols.re + first + k);
        V im = hn::Load(df, frame.symbols.im + first + k);
        turn.Apply(k, &re, &im);
        const M known =
            hn::Gt(hn::MulAdd(known_re, known_re, hn::Mul(known_im, known_im)), hn::Zero(df));
        distance = hn::IfThenElse(known, SquaredDistance(re, im, known_re, known_im), distance);
        apart = hn::Add(apart, hn::IfThenElseZero(known, ApartOf(re, im, known_re, known_im)));
      }
      sum = hn::Add(sum, hn::IfThenElseZero(Exists(frame, first + k), distance));
    }
    total.square += static_cast<double>(Sum(sum));
    if (frame.known.re != nullptr) total.apart += static_cast<double>(Sum(apart));
  }
  return total;
}

double SumEvmSimd(const ModelView& view, const FrameCpu& frame, const Estimate& estimate) {
  const size_t lanes = hn::Lanes(df);
  const auto count = static_cast<size_t>(frame.num_symbols);
  TurnBack turn(estimate, frame.centre(), 1.0 / estimate.gain);
  Block block;
  double total = 0.0;
  for (size_t first = 0; first < count; first += kBlock) {
    turn.Start(first);
    Decide(view.nearest, frame, first, turn, &block);
    V sum = hn::Zero(df);
    for (size_t k = 0; k < std::min(kBlock, count - first); k += lanes) {
      V point_re, point_im, unused, inverse_radius;
      hn::LoadInterleaved4(df, block.points[0] + 4 * k, point_re, point_im, unused, inverse_radius);
      const V distance = hn::Sqrt(SquaredDistance(hn::Load(df, block.i + k),
                                                  hn::Load(df, block.q + k), point_re, point_im));
      const V evm = hn::Mul(distance, inverse_radius);
      sum = hn::Add(sum, hn::IfThenElseZero(Exists(frame, first + k), evm));
    }
    total += static_cast<double>(Sum(sum));
  }
  return total;
}

}  // namespace
}  // namespace baseband::carrier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::carrier {

HWY_EXPORT(SumHardDistanceSimd);
HWY_EXPORT(SumEvmSimd);

DecisionSums SumHardDistance(const ModelView& view, const FrameCpu& frame,
                             const Estimate& estimate) {
  return HWY_DYNAMIC_DISPATCH(SumHardDistanceSimd)(view, frame, estimate);
}

double SumEvm(const ModelView& view, const FrameCpu& frame, const Estimate& estimate) {
  return HWY_DYNAMIC_DISPATCH(SumEvmSimd)(view, frame, estimate);
}

}  // namespace baseband::carrier
#endif
