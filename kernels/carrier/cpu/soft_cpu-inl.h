// Stages S4 and S5 on the CPU device: what they share of symbols against the soft table.
//
// A symbol's four nodes lie anywhere in the table, four numbers to a node. They are not gathered
// number by number: for each symbol they are loaded as vectors of four and interpolated there; a
// block of results is then read back number by number. So a node is one load, on any processor.
#include <cstdint>

#include "kernels/carrier/cpu/stages_cpu.h"
#include "kernels/carrier/cpu/turn_cpu-inl.h"

// Included once for every instruction set: the guard flips.
#if defined(BASEBAND_KERNELS_CARRIER_CPU_SOFT_CPU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BASEBAND_KERNELS_CARRIER_CPU_SOFT_CPU_INL_H_
#undef BASEBAND_KERNELS_CARRIER_CPU_SOFT_CPU_INL_H_
#else
#define BASEBAND_KERNELS_CARRIER_CPU_SOFT_CPU_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::carrier::HWY_NAMESPACE {
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

}  // namespace
}  // namespace baseband::carrier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle
