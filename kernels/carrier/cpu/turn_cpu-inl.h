// Turning symbols back, a block at a time: what the CPU device's stages share.
#include <cstddef>

#include "kernels/carrier/cpu/stages_cpu.h"
#include "kernels/carrier/math/recover_math.h"

// Included once for every instruction set: the guard flips.
#if defined(BASEBAND_KERNELS_CARRIER_CPU_TURN_CPU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BASEBAND_KERNELS_CARRIER_CPU_TURN_CPU_INL_H_
#undef BASEBAND_KERNELS_CARRIER_CPU_TURN_CPU_INL_H_
#else
#define BASEBAND_KERNELS_CARRIER_CPU_TURN_CPU_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::carrier::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

const hn::ScalableTag<float> df;
const hn::RebindToSigned<decltype(df)> di;
using V = hn::Vec<decltype(df)>;
using VI = hn::Vec<decltype(di)>;
using M = hn::Mask<decltype(df)>;

static_assert(kBlock % (HWY_MAX_BYTES / sizeof(float)) == 0, "a block is whole vectors");

HWY_INLINE float Sum(V v) { return hn::GetLane(hn::SumOfLanes(df, v)); }

// Multiplies symbol n by scale * exp(-j 2 pi (frequency (n - c) + phase)).
class TurnBack {
 public:
  TurnBack(const Estimate& estimate, double centre, double scale)
      : estimate_(estimate), centre_(centre), scale_(static_cast<float>(scale)) {
    // The first vector by definition, each next one from the one before: at most kBlock / lanes
    // roundings.
    const size_t lanes = hn::Lanes(df);
    for (size_t k = 0; k < lanes; ++k) {
      const Turned turned = Turn(estimate.frequency * static_cast<double>(k));
      re_[k] = turned.c;
      im_[k] = -turned.s;
    }
    const Turned step = Turn(estimate.frequency * static_cast<double>(lanes));
    const V c = hn::Set(df, step.c);
    const V s = hn::Set(df, step.s);
    for (size_t k = lanes; k < kBlock; k += lanes) {
      const V re = hn::Load(df, re_ + k - lanes);
      const V im = hn::Load(df, im_ + k - lanes);
      hn::Store(hn::MulAdd(im, s, hn::Mul(re, c)), df, re_ + k);
      hn::Store(hn::NegMulAdd(re, s, hn::Mul(im, c)), df, im_ + k);
    }
  }

  // To be called before the symbols from `first` on, as many as a block at most.
  void Start(size_t first) {
    const Turned base = Turn(estimate_.TurnsAt(static_cast<double>(first) - centre_));
    c_ = base.c * scale_;
    s_ = base.s * scale_;
  }

  // Symbols first + k ..: in place.
  HWY_INLINE void Apply(size_t k, V* re, V* im) const {
    const V a = hn::Load(df, re_ + k);
    const V b = hn::Load(df, im_ + k);
    const V c = hn::Set(df, c_);
    const V s = hn::Set(df, s_);
    const V turn_re = hn::MulAdd(b, s, hn::Mul(a, c));  // (a + j b) conj(c + j s)
    const V turn_im = hn::NegMulAdd(a, s, hn::Mul(b, c));
    const V x = *re;
    *re = hn::NegMulAdd(*im, turn_im, hn::Mul(x, turn_re));
    *im = hn::MulAdd(*im, turn_re, hn::Mul(x, turn_im));
  }

 private:
  Estimate estimate_;
  double centre_;
  float scale_;
  float c_ = 1.0f;
  float s_ = 0.0f;
  HWY_ALIGN float re_[kBlock];
  HWY_ALIGN float im_[kBlock];
};

// Sums numbers[0 .. count) in groups of `group`, to sums[0 .. count / group), `step` apart.
HWY_INLINE void SumGroups(const float* numbers, size_t count, size_t group, float* sums,
                          size_t step) {
  const size_t lanes = hn::Lanes(df);
  for (size_t first = 0; first < count; first += group) {
    float sum = 0.0f;
    if (group >= lanes) {
      V vector = hn::Zero(df);
      for (size_t k = 0; k < group; k += lanes) {
        vector = hn::Add(vector, hn::Load(df, numbers + first + k));
      }
      sum = Sum(vector);
    } else {
      for (size_t k = 0; k < group; ++k) sum += numbers[first + k];
    }
    sums[first / group * step] += sum;
  }
}

// Which of the lanes from symbol `first` on exist.
HWY_INLINE M Exists(const FrameCpu& frame, size_t first) {
  const auto count = static_cast<size_t>(frame.num_symbols);
  return hn::FirstN(df, count > first ? count - first : 0);
}

}  // namespace
}  // namespace baseband::carrier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle
