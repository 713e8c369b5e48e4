// The rows of matched filters (matched_math.h).
#include <cmath>
#include <cstddef>

#include "kernels/minimize/cpu/search_kernels_cpu.h"

// Included once for every instruction set: the guard flips.
#if defined(BASEBAND_KERNELS_MINIMIZE_CPU_MATCHED_CPU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BASEBAND_KERNELS_MINIMIZE_CPU_MATCHED_CPU_INL_H_
#undef BASEBAND_KERNELS_MINIMIZE_CPU_MATCHED_CPU_INL_H_
#else
#define BASEBAND_KERNELS_MINIMIZE_CPU_MATCHED_CPU_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/minimize/cpu/functions_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::minimize::HWY_NAMESPACE {
namespace {

// y conj(s) of samples n .. n + lanes - 1, those below `end` alone.
template <class D, class V>
HWY_INLINE void StoreMatched(D d, V re, V im, const double* signal, size_t num_samples, size_t n,
                             size_t end, double* rows) {
  const V y_re = hn::LoadU(d, signal + n);
  const V y_im = hn::LoadU(d, signal + num_samples + n);
  const V a = hn::MulAdd(y_re, re, hn::Mul(y_im, im));
  const V b = hn::NegMulAdd(y_re, im, hn::Mul(y_im, re));
  if (HWY_LIKELY(n + hn::Lanes(d) <= end)) {
    hn::StoreU(a, d, rows + n);
    hn::StoreU(b, d, rows + num_samples + n);
  } else {
    hn::BlendedStore(a, hn::FirstN(d, end - n), d, rows + n);
    hn::BlendedStore(b, hn::FirstN(d, end - n), d, rows + num_samples + n);
  }
}

// ChirpTurns of m, m + 2, ..
template <class D>
HWY_INLINE hn::Vec<D> VectorChirpTurns(D d, const ChirpRates& rates, double first) {
#if HWY_NATIVE_FMA
  using V = hn::Vec<D>;
  const auto fraction = [&](const Pair& a, V high, V low) HWY_ATTR {
    const V a_high = hn::Set(d, a.high);
    const V whole = hn::Round(hn::Mul(a_high, high));
    const V rest = hn::MulAdd(a_high, low, hn::Mul(hn::Set(d, a.low), high));
    return hn::Add(hn::MulSub(a_high, high, whole), rest);
  };
  const V m = hn::MulAdd(hn::Iota(d, 0.0), hn::Set(d, 2.0), hn::Set(d, first));
  const V square = hn::Mul(m, m);
  const V turns = fraction(rates.square, square, hn::Zero(d));
  if (rates.cube.high == 0.0) return turns;
  const V cube = hn::Mul(square, m);
  return hn::Add(turns, fraction(rates.cube, cube, hn::MulSub(square, m, cube)));
#else
  HWY_ALIGN double turns[hn::MaxLanes(d)];
  for (size_t k = 0; k < hn::Lanes(d); ++k) {
    turns[k] = ChirpTurns(rates, first + 2.0 * static_cast<double>(k));
  }
  return hn::Load(d, turns);
#endif
}

void ChirpRows(const ChirpRates& rates, const double* signal, size_t num_samples, double* rows) {
  const hn::ScalableTag<double> d;
  for (size_t n = 0; n < num_samples; n += hn::Lanes(d)) {
    const double m = 2.0 * static_cast<double>(n) - static_cast<double>(num_samples - 1);
    const auto turns = VectorChirpTurns(d, rates, m);
    const auto half_turns = hn::Add(turns, turns);
    StoreMatched(d, CosPiOp::Apply(d, half_turns), SinPiOp::Apply(d, half_turns), signal,
                 num_samples, n, num_samples, rows);
  }
}

void DelayRows(const DelayPlace& place, const double* weights, const double* table,
               size_t table_stride, const double* signal, size_t num_samples, double* rows) {
  const hn::ScalableTag<double> d;
  const auto first_whole = static_cast<size_t>(place.first_whole);
  const auto first_half = static_cast<size_t>(place.first_half);
  // Up to where the table begins anew, and from there on.
  size_t n = 0;
  size_t end = num_samples - first_half;
  for (const size_t passed : {size_t{0}, num_samples}) {
    for (; n < end; n += hn::Lanes(d)) {
      const double* const whole = table + (first_whole + n - passed);
      const double* const half = table + 2 * table_stride + (first_half + n - passed);
      auto re = hn::Zero(d);
      auto im = re, half_re = re, half_im = re;
      for (int i = 0; i < kPhaseTaps; ++i) {
        const auto of_whole = hn::Set(d, weights[i]);
        const auto of_half = hn::Set(d, weights[kPhaseTaps + i]);
        re = hn::MulAdd(of_whole, hn::LoadU(d, whole + i), re);
        im = hn::MulAdd(of_whole, hn::LoadU(d, whole + table_stride + i), im);
        half_re = hn::MulAdd(of_half, hn::LoadU(d, half + i), half_re);
        half_im = hn::MulAdd(of_half, hn::LoadU(d, half + table_stride + i), half_im);
      }
      StoreMatched(d, hn::Add(re, half_re), hn::Add(im, half_im), signal, num_samples, n, end,
                   rows);
    }
    n = end;
    end = num_samples;
  }
}

}  // namespace
}  // namespace baseband::minimize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle
