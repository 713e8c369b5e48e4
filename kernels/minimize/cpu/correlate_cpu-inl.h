// Correlations of rows with rotating phasors.
#include <cmath>
#include <cstddef>

#include "kernels/minimize/cpu/search_kernels_cpu.h"
#include "kernels/minimize/functionals/sinusoids_math.h"

// Included once for every instruction set: the guard flips.
#if defined(BASEBAND_KERNELS_MINIMIZE_CPU_CORRELATE_CPU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BASEBAND_KERNELS_MINIMIZE_CPU_CORRELATE_CPU_INL_H_
#undef BASEBAND_KERNELS_MINIMIZE_CPU_CORRELATE_CPU_INL_H_
#else
#define BASEBAND_KERNELS_MINIMIZE_CPU_CORRELATE_CPU_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::minimize::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Phasors turn from sample to sample by products for so many samples, then from a phasor that was
// itself turned from block to block, in double, and is made anew every kExactBlocks blocks.
constexpr size_t kPhasorBlock = 64;
constexpr size_t kExactBlocks = 64;

struct Phasor {
  double re;
  double im;
};

// exp(j 2 pi turns t)
inline Phasor PhasorAt(double turns, double t) {
  const double phase = turns * t;
  const double error = std::fma(turns, t, -phase);
  const double rest = kTwoPi * ((phase - std::nearbyint(phase)) + error);
  return {std::cos(rest), std::sin(rest)};
}

// Phasors of the points of a task.
template <typename T>
struct PhasorArrays {
  HWY_ALIGN double re[kCorrelated], im[kCorrelated];              // at the block's first sample
  HWY_ALIGN double block_re[kCorrelated], block_im[kCorrelated];  // what a block turns
  HWY_ALIGN T start_re[kCorrelated], start_im[kCorrelated];       // re, im rounded
  HWY_ALIGN T step_re[kCorrelated], step_im[kCorrelated];         // what a sample turns
};

// Adds the products of kRows rows with the phasors of samples begin .. end - 1.
template <size_t kRows, typename T>
void CorrelateBlock(const CorrelateTask<T>& task, const PhasorArrays<T>& phasors, size_t row,
                    size_t begin, size_t end) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  const T* const x0 = task.rows + row * task.num_samples;
  const T* const x1 = x0 + (kRows > 1 ? task.num_samples : 0);
  const T* const x2 = x1 + (kRows > 2 ? task.num_samples : 0);
  T* const c = task.c + row * kCorrelated;
  T* const s = task.s + row * kCorrelated;
  // Two vectors of points at a time: a phasor's products wait for one another.
  for (size_t i = 0; i < task.count; i += 2 * lanes) {
    const size_t j = i + lanes;
    V re_i = hn::Load(d, phasors.start_re + i);
    V im_i = hn::Load(d, phasors.start_im + i);
    V re_j = hn::Load(d, phasors.start_re + j);
    V im_j = hn::Load(d, phasors.start_im + j);
    const V step_re_i = hn::Load(d, phasors.step_re + i);
    const V step_im_i = hn::Load(d, phasors.step_im + i);
    const V step_re_j = hn::Load(d, phasors.step_re + j);
    const V step_im_j = hn::Load(d, phasors.step_im + j);
    V c0i = hn::Zero(d), c0j = c0i, s0i = c0i, s0j = c0i;
    V c1i = c0i, c1j = c0i, s1i = c0i, s1j = c0i;
    V c2i = c0i, c2j = c0i, s2i = c0i, s2j = c0i;
    for (size_t n = begin; n < end; ++n) {
      const V v0 = hn::Set(d, x0[n]);
      c0i = hn::MulAdd(v0, re_i, c0i);
      s0i = hn::MulAdd(v0, im_i, s0i);
      c0j = hn::MulAdd(v0, re_j, c0j);
      s0j = hn::MulAdd(v0, im_j, s0j);
      if constexpr (kRows > 1) {
        const V v1 = hn::Set(d, x1[n]);
        c1i = hn::MulAdd(v1, re_i, c1i);
        s1i = hn::MulAdd(v1, im_i, s1i);
        c1j = hn::MulAdd(v1, re_j, c1j);
        s1j = hn::MulAdd(v1, im_j, s1j);
      }
      if constexpr (kRows > 2) {
        const V v2 = hn::Set(d, x2[n]);
        c2i = hn::MulAdd(v2, re_i, c2i);
        s2i = hn::MulAdd(v2, im_i, s2i);
        c2j = hn::MulAdd(v2, re_j, c2j);
        s2j = hn::MulAdd(v2, im_j, s2j);
      }
      const V next_i = hn::NegMulAdd(im_i, step_im_i, hn::Mul(re_i, step_re_i));
      im_i = hn::MulAdd(re_i, step_im_i, hn::Mul(im_i, step_re_i));
      re_i = next_i;
      const V next_j = hn::NegMulAdd(im_j, step_im_j, hn::Mul(re_j, step_re_j));
      im_j = hn::MulAdd(re_j, step_im_j, hn::Mul(im_j, step_re_j));
      re_j = next_j;
    }
    const auto add = [&](V sum, T* to)
                         HWY_ATTR { hn::Store(hn::Add(hn::Load(d, to), sum), d, to); };
    add(c0i, c + i);
    add(c0j, c + j);
    add(s0i, s + i);
    add(s0j, s + j);
    if constexpr (kRows > 1) {
      add(c1i, c + kCorrelated + i);
      add(c1j, c + kCorrelated + j);
      add(s1i, s + kCorrelated + i);
      add(s1j, s + kCorrelated + j);
    }
    if constexpr (kRows > 2) {
      add(c2i, c + 2 * kCorrelated + i);
      add(c2j, c + 2 * kCorrelated + j);
      add(s2i, s + 2 * kCorrelated + i);
      add(s2j, s + 2 * kCorrelated + j);
    }
  }
}

template <typename T>
void Correlate(const CorrelateTask<T>& task) {
  PhasorArrays<T> phasors;
  for (size_t i = 0; i < kCorrelated; ++i) {
    const double turns = task.turns[i < task.count ? i : task.count - 1];
    const Phasor step = PhasorAt(turns, 1.0);
    const Phasor block = PhasorAt(turns, static_cast<double>(kPhasorBlock));
    phasors.step_re[i] = static_cast<T>(step.re);
    phasors.step_im[i] = static_cast<T>(step.im);
    phasors.block_re[i] = block.re;
    phasors.block_im[i] = block.im;
  }
  for (size_t i = 0; i < task.num_rows * kCorrelated; ++i) task.c[i] = task.s[i] = T{0};
  size_t blocks = 0;
  for (size_t begin = 0; begin < task.num_samples; begin += kPhasorBlock, ++blocks) {
    for (size_t i = 0; i < kCorrelated; ++i) {
      Phasor at;
      if (blocks % kExactBlocks == 0) {
        const double turns = task.turns[i < task.count ? i : task.count - 1];
        at = PhasorAt(turns,
                      static_cast<double>(begin) - 0.5 * static_cast<double>(task.num_samples - 1));
      } else {
        at.re = phasors.re[i] * phasors.block_re[i] - phasors.im[i] * phasors.block_im[i];
        at.im = phasors.re[i] * phasors.block_im[i] + phasors.im[i] * phasors.block_re[i];
      }
      phasors.re[i] = at.re;
      phasors.im[i] = at.im;
      phasors.start_re[i] = static_cast<T>(at.re);
      phasors.start_im[i] = static_cast<T>(at.im);
    }
    const size_t end = HWY_MIN(begin + kPhasorBlock, task.num_samples);
    size_t row = 0;
    for (; row + 3 <= task.num_rows; row += 3) CorrelateBlock<3>(task, phasors, row, begin, end);
    if (task.num_rows - row == 2) CorrelateBlock<2>(task, phasors, row, begin, end);
    if (task.num_rows - row == 1) CorrelateBlock<1>(task, phasors, row, begin, end);
  }
}

}  // namespace
}  // namespace baseband::minimize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle
