// The polynomials of cells (sinusoids_math.h).
#include <cmath>
#include <cstddef>

#include "kernels/minimize/cpu/search_kernels_cpu.h"
#include "kernels/minimize/functionals/sinusoids_math.h"

// Included once for every instruction set: the guard flips.
#if defined(BASEBAND_KERNELS_MINIMIZE_CPU_CELLS_CPU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BASEBAND_KERNELS_MINIMIZE_CPU_CELLS_CPU_INL_H_
#undef BASEBAND_KERNELS_MINIMIZE_CPU_CELLS_CPU_INL_H_
#else
#define BASEBAND_KERNELS_MINIMIZE_CPU_CELLS_CPU_INL_H_
#endif

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/minimize/cpu/correlate_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::minimize::HWY_NAMESPACE {
namespace {

// sum over n of row[n] phasor[n] tau^k, k = kFrom .. kFrom + kCount - 1; tau = 2 t / N.
template <size_t kFrom, size_t kCount>
void Moments(const double* row, const double* re, const double* im, size_t num_samples,
             double* moments) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN double sums[2 * kCount * hn::MaxLanes(d)] = {};
  const double scale = 2.0 / static_cast<double>(num_samples);
  const V middle = hn::Set(d, 0.5 * static_cast<double>(num_samples - 1));
  constexpr size_t kChunk = 256;  // vectors; sums stay in registers meanwhile
  const auto sum_row = [&](size_t begin, size_t end) HWY_ATTR {
    V sum_re[kCount];
    V sum_im[kCount];
    for (size_t k = 0; k < kCount; ++k) sum_re[k] = sum_im[k] = hn::Zero(d);
    for (size_t n = begin; n < end; n += lanes) {
      const V exists = hn::IfThenElseZero(hn::FirstN(d, num_samples - n), hn::LoadU(d, row + n));
      const V tau =
          hn::Mul(hn::Sub(hn::Iota(d, static_cast<double>(n)), middle), hn::Set(d, scale));
      V weight = exists;
      if constexpr (kFrom > 0) {
        static_assert(kFrom == 6 || kFrom == 12, "written for these");
        const V square = hn::Mul(tau, tau);
        const V third = hn::Mul(square, tau);
        const V sixth = hn::Mul(third, third);
        weight = hn::Mul(weight, sixth);
        if constexpr (kFrom == 12) weight = hn::Mul(weight, sixth);
      }
      V p = hn::Mul(weight, hn::Load(d, re + n));
      V q = hn::Mul(weight, hn::Load(d, im + n));
      for (size_t k = 0; k < kCount; ++k) {
        sum_re[k] = hn::Add(sum_re[k], p);
        sum_im[k] = hn::Add(sum_im[k], q);
        p = hn::Mul(p, tau);
        q = hn::Mul(q, tau);
      }
    }
    for (size_t k = 0; k < kCount; ++k) {
      double* const at = sums + 2 * k * lanes;
      hn::Store(hn::Add(hn::Load(d, at), sum_re[k]), d, at);
      hn::Store(hn::Add(hn::Load(d, at + lanes), sum_im[k]), d, at + lanes);
    }
  };
  for (size_t begin = 0; begin < num_samples; begin += kChunk * lanes) {
    sum_row(begin, HWY_MIN(begin + kChunk * lanes, num_samples));
  }
  for (size_t k = 0; k < 2 * kCount; ++k) {
    moments[2 * kFrom + k] = hn::GetLane(hn::SumOfLanes(d, hn::Load(d, sums + k * lanes)));
  }
}

void Expand(const double* rows, size_t num_rows, size_t num_samples, double turns, double* phasors,
            double* coefficients) {
  const hn::ScalableTag<double> d;
  const size_t lanes = hn::Lanes(d);
  double* const re = phasors;
  double* const im = phasors + (num_samples + kVectorPadding) / kVectorPadding * kVectorPadding;
  // exp(-j ..): blocks from exact phasors, vectors of them turned.
  const Phasor step = PhasorAt(-turns, static_cast<double>(lanes));
  const auto step_re = hn::Set(d, step.re);
  const auto step_im = hn::Set(d, step.im);
  for (size_t begin = 0; begin < num_samples; begin += kPhasorBlock) {
    for (size_t k = 0; k < lanes; ++k) {
      const Phasor at = PhasorAt(
          -turns, static_cast<double>(begin + k) - 0.5 * static_cast<double>(num_samples - 1));
      re[begin + k] = at.re;
      im[begin + k] = at.im;
    }
    for (size_t n = begin + lanes; n < begin + kPhasorBlock && n < num_samples; n += lanes) {
      const auto a = hn::Load(d, re + n - lanes);
      const auto b = hn::Load(d, im + n - lanes);
      hn::Store(hn::NegMulAdd(b, step_im, hn::Mul(a, step_re)), d, re + n);
      hn::Store(hn::MulAdd(a, step_im, hn::Mul(b, step_re)), d, im + n);
    }
  }
  for (size_t r = 0; r < num_rows; ++r) {
    double* const to = coefficients + r * 2 * kCellTerms;
    const double* const row = rows + r * num_samples;
    static_assert(kCellTerms == 17, "6 + 6 + 5");
    Moments<0, 6>(row, re, im, num_samples, to);
    Moments<6, 6>(row, re, im, num_samples, to);
    Moments<12, 5>(row, re, im, num_samples, to);
    // times (-j)^k / k!
    double scale = 1.0;
    for (int k = 0; k < kCellTerms; ++k) {
      if (k > 0) scale /= k;
      const double a = to[2 * k] * scale;
      const double b = to[2 * k + 1] * scale;
      const int quarter = k % 4;
      to[2 * k] = quarter == 0 ? a : quarter == 1 ? b : quarter == 2 ? -a : -b;
      to[2 * k + 1] = quarter == 0 ? b : quarter == 1 ? -a : quarter == 2 ? -b : a;
    }
  }
}

template <class D, class V>
HWY_INLINE V SinPi(D d, V x) {  // |x| <= 1/2
  return hn::Sin(d, hn::Mul(x, hn::Set(d, 0.5 * kTwoPi)));
}

// 1 where x, whole, is even, -1 where it is odd.
template <class D, class V>
HWY_INLINE V Parity(D d, V x) {
  const V half = hn::Mul(x, hn::Set(d, 0.5));
  const V odd = hn::Sub(half, hn::Floor(half));  // 0 or 1/2
  return hn::NegMulAdd(odd, hn::Set(d, 4.0), hn::Set(d, 1.0));
}

template <class D, class V>
HWY_INLINE V VectorDirichlet(D d, double num_samples, V turns) {
  const V size = hn::Set(d, num_samples);
  const V doubled = hn::Add(turns, turns);
  const V whole = hn::Round(doubled);
  const V rest = hn::Sub(doubled, whole);
  const V many = hn::Mul(size, rest);
  const V many_whole = hn::Round(many);
  const V sign = Parity(d, hn::MulAdd(hn::Set(d, num_samples - 1.0), whole, many_whole));
  const V ratio = hn::Div(SinPi(d, hn::Sub(many, many_whole)), SinPi(d, rest));
  const auto at_pole = hn::Eq(rest, hn::Zero(d));
  return hn::Mul(sign, hn::IfThenElse(at_pole, size, ratio));
}

void EvaluateCell(const SinusoidsShape& shape, const double* coefficients, const double* xs,
                  const double* turns, size_t count, double* values) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<decltype(d)>;
  const auto size = static_cast<double>(shape.num_samples);
  const V tolerance = hn::Set(d, RankTolerance<double>::kValue * size);
  const V zero = hn::Zero(d);
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const V x = hn::Load(d, xs + i);
    const auto correlation = [&](int column, V* c, V* s) HWY_ATTR {
      const auto evaluate = [&](int row, V* re, V* im) HWY_ATTR {
        const double* const from = coefficients + row * 2 * kCellTerms;
        *re = hn::Set(d, from[2 * (kCellTerms - 1)]);
        *im = hn::Set(d, from[2 * (kCellTerms - 1) + 1]);
        for (int k = kCellTerms - 2; k >= 0; --k) {
          *re = hn::MulAdd(*re, x, hn::Set(d, from[2 * k]));
          *im = hn::MulAdd(*im, x, hn::Set(d, from[2 * k + 1]));
        }
      };
      if (!shape.is_complex) {
        evaluate(column, c, s);
        *s = hn::Neg(*s);
        return;
      }
      V re_re, re_im, im_re, im_im;  // S = S of the real part + j S of the imaginary part
      evaluate(2 * column, &re_re, &re_im);
      evaluate(2 * column + 1, &im_re, &im_im);
      *c = hn::Sub(re_re, im_im);
      *s = hn::Neg(hn::Add(re_im, im_re));
    };
    V p_c, p_s;
    correlation(0, &p_c, &p_s);
    V explained;
    if (shape.is_complex) {
      V norm = hn::Set(d, size);
      for (int k = 1; k <= shape.num_columns; ++k) {
        V a, b;
        correlation(k, &a, &b);
        norm = hn::NegMulAdd(a, a, hn::NegMulAdd(b, b, norm));
      }
      const V power = hn::MulAdd(p_c, p_c, hn::Mul(p_s, p_s));
      explained = hn::IfThenElse(hn::Gt(norm, tolerance), hn::Div(power, norm), zero);
    } else {
      const V dirichlet = VectorDirichlet(d, size, hn::Load(d, turns + i));
      const V half = hn::Set(d, 0.5);
      V g_cc = hn::Mul(half, hn::Add(hn::Set(d, size), dirichlet));
      V g_ss = hn::Mul(half, hn::Sub(hn::Set(d, size), dirichlet));
      V g_cs = zero;
      for (int k = 1; k <= shape.num_columns; ++k) {
        V a, b;
        correlation(k, &a, &b);
        g_cc = hn::NegMulAdd(a, a, g_cc);
        g_cs = hn::NegMulAdd(a, b, g_cs);
        g_ss = hn::NegMulAdd(b, b, g_ss);
      }
      // ExplainedByPair.
      const auto swap = hn::Gt(g_ss, g_cc);
      const V first = hn::IfThenElse(swap, g_ss, g_cc);
      const V second = hn::IfThenElse(swap, g_cc, g_ss);
      const V p_first = hn::IfThenElse(swap, p_s, p_c);
      const V p_second = hn::IfThenElse(swap, p_c, p_s);
      const V ratio = hn::Div(g_cs, first);
      const V rest = hn::NegMulAdd(ratio, g_cs, second);
      const V p_rest = hn::NegMulAdd(ratio, p_first, p_second);
      const V more =
          hn::IfThenElse(hn::Gt(rest, tolerance), hn::Div(hn::Mul(p_rest, p_rest), rest), zero);
      explained = hn::IfThenElse(hn::Gt(first, tolerance),
                                 hn::Add(hn::Div(hn::Mul(p_first, p_first), first), more), zero);
    }
    hn::Store(hn::Sub(hn::Set(d, shape.energy), explained), d, values + i);
  }
}

}  // namespace
}  // namespace baseband::minimize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle
