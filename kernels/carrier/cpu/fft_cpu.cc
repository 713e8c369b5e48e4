#include "kernels/carrier/cpu/fft_cpu.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/base/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/carrier/cpu/fft_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::carrier::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Complex numbers side by side, one a lane.
template <class D>
struct Complex {
  hn::Vec<D> re;
  hn::Vec<D> im;
};
template <class D>
HWY_INLINE Complex<D> Add(const Complex<D>& a, const Complex<D>& b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class D>
HWY_INLINE Complex<D> Sub(const Complex<D>& a, const Complex<D>& b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
template <class D>
HWY_INLINE Complex<D> Mul(const Complex<D>& a, const Complex<D>& b) {
  return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)),
          hn::MulAdd(a.im, b.re, hn::Mul(a.re, b.im))};
}

// Elements `stride` apart, each as many complex numbers as there are lanes.
template <class D>
struct Column {
  float* re;
  float* im;
  size_t stride;

  HWY_INLINE Complex<D> Load(size_t at) const {
    const D d;
    return {hn::Load(d, re + at * stride), hn::Load(d, im + at * stride)};
  }
  HWY_INLINE void Store(const Complex<D>& value, size_t at) const {
    const D d;
    hn::Store(value.re, d, re + at * stride);
    hn::Store(value.im, d, im + at * stride);
  }
};

// exp(-j 2 pi k / size) for k < size: every (columns / size)-th of the plan's roots.
template <class D>
struct Roots {
  const FftPlan* plan;
  size_t every;
  HWY_INLINE Complex<D> At(size_t k) const {
    const D d;
    return {hn::Set(d, plan->root_re()[k * every]), hn::Set(d, plan->root_im()[k * every])};
  }
};

// One pass of Stockham's autosort FFT, radix 4: `size` points become 4 times size / 4, for each of
// `done` interleaved FFTs. Where size is 4 the twiddle factors are all 1.
template <class D>
void RadixFour(size_t size, size_t done, const Roots<D>& roots, const Column<D>& x,
               const Column<D>& y) {
  const size_t m = size / 4;
  for (size_t p = 0; p < m; ++p) {
    const auto w1 = roots.At(p);
    const auto w2 = roots.At(2 * p);
    const auto w3 = roots.At(3 * p);
    for (size_t q = 0; q < done; ++q) {
      const auto a = x.Load(q + done * p);
      const auto b = x.Load(q + done * (p + m));
      const auto c = x.Load(q + done * (p + 2 * m));
      const auto e = x.Load(q + done * (p + 3 * m));
      const auto even = Add(a, c);
      const auto odd = Sub(a, c);
      const auto sum = Add(b, e);
      const auto difference = Sub(b, e);
      // odd -+ j difference
      const Complex<D> low{hn::Add(odd.re, difference.im), hn::Sub(odd.im, difference.re)};
      const Complex<D> high{hn::Sub(odd.re, difference.im), hn::Add(odd.im, difference.re)};
      const size_t to = q + done * 4 * p;
      y.Store(Add(even, sum), to);
      if (p == 0) {
        y.Store(low, to + done);
        y.Store(Sub(even, sum), to + 2 * done);
        y.Store(high, to + 3 * done);
      } else {
        y.Store(Mul(low, w1), to + done);
        y.Store(Mul(Sub(even, sum), w2), to + 2 * done);
        y.Store(Mul(high, w3), to + 3 * done);
      }
    }
  }
}

template <class D>
void RadixTwo(size_t done, const Column<D>& x, const Column<D>& y) {
  for (size_t q = 0; q < done; ++q) {
    const auto a = x.Load(q);
    const auto b = x.Load(q + done);
    y.Store(Add(a, b), q);
    y.Store(Sub(a, b), q + done);
  }
}

// FFT of `size` elements from x to y, through `scratch` (two columns of `size`).
template <class D>
void FftOfColumn(const FftPlan& plan, size_t size, Column<D> x, const Column<D>& y,
                 float* scratch) {
  const size_t lanes = hn::Lanes(D());
  Column<D> next{scratch, scratch + size * lanes, lanes};
  Column<D> spare{scratch + 2 * size * lanes, scratch + 3 * size * lanes, lanes};
  size_t done = 1;
  for (size_t left = size; left > 1;) {
    const size_t radix = left == 2 ? 2 : 4;
    const Column<D>& to = left == radix ? y : next;
    if (radix == 4) {
      RadixFour(left, done, Roots<D>{&plan, plan.columns() / left}, x, to);
    } else {
      RadixTwo(done, x, to);
    }
    left /= radix;
    done *= radix;
    x = to;
    std::swap(next, spare);
  }
}

// Four rows of `lanes` numbers become `lanes` groups of four: group i to to + i * stride.
template <class D>
HWY_INLINE void StoreTransposed(const float* rows, float* to, size_t stride) {
  const D d;
  const hn::CappedTag<float, 4> d4;
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN float groups[4 * HWY_MAX_BYTES / sizeof(float)];
  hn::StoreInterleaved4(hn::Load(d, rows), hn::Load(d, rows + lanes), hn::Load(d, rows + 2 * lanes),
                        hn::Load(d, rows + 3 * lanes), d, groups);
  for (size_t i = 0; i < lanes; ++i) {
    hn::Store(hn::Load(d4, groups + 4 * i), d4, to + i * stride);
  }
}

// Columns n2 .. of the R x C matrix, done: times exp(-j 2 pi n2 k1 / L), and as rows n2 of the
// C x R matrix `out`.
template <class D>
void TwiddleAndTranspose(const FftPlan& plan, size_t n2, const Column<D>& x, float* out_re,
                         float* out_im) {
  const D d;
  const size_t rows = plan.rows();
  const size_t lanes = hn::Lanes(d);
  const Complex<D> step{hn::LoadU(d, plan.step_re() + n2), hn::LoadU(d, plan.step_im() + n2)};
  Complex<D> w = step;
  HWY_ALIGN float re[4 * HWY_MAX_BYTES / sizeof(float)];
  HWY_ALIGN float im[4 * HWY_MAX_BYTES / sizeof(float)];
  const Column<D> four{re, im, lanes};
  for (size_t k1 = 0; k1 < rows; k1 += 4) {
    if (k1 % FftPlan::kExact == 0) {
      const size_t at = k1 / FftPlan::kExact * plan.columns() + n2;
      w = {hn::LoadU(d, plan.exact_re() + at), hn::LoadU(d, plan.exact_im() + at)};
    }
    for (size_t k = 0; k < 4; ++k) {
      four.Store(Mul(x.Load(k1 + k), w), k);
      w = Mul(w, step);
    }
    StoreTransposed<D>(re, out_re + n2 * rows + k1, rows);
    StoreTransposed<D>(im, out_im + n2 * rows + k1, rows);
  }
}

template <class D>
void FftWith(const FftPlan& plan, const float* x_re, const float* x_im, float* out_re,
             float* out_im, float* scratch) {
  const size_t lanes = hn::Lanes(D());
  const size_t rows = plan.rows();
  const size_t columns = plan.columns();
  float* const done = scratch;  // a column of up to `columns` elements
  float* const rest = scratch + 2 * columns * lanes;
  for (size_t n2 = 0; n2 < columns; n2 += lanes) {
    // Only read.
    const Column<D> x{const_cast<float*>(x_re) + n2, const_cast<float*>(x_im) + n2, columns};
    const Column<D> y{done, done + rows * lanes, lanes};
    FftOfColumn(plan, rows, x, y, rest);
    TwiddleAndTranspose(plan, n2, y, out_re, out_im);
  }
  for (size_t k1 = 0; k1 < rows; k1 += lanes) {
    // In place: the first pass has read all before the last one writes.
    const Column<D> x{out_re + k1, out_im + k1, rows};
    FftOfColumn(plan, columns, x, x, rest);
  }
}

void FftSimd(const FftPlan& plan, const float* x_re, const float* x_im, float* out_re,
             float* out_im, float* scratch) {
  if (plan.rows() >= HWY_MAX_BYTES / sizeof(float)) {
    FftWith<hn::ScalableTag<float>>(plan, x_re, x_im, out_re, out_im, scratch);
  } else {  // 64 or 128 points: eight rows
    FftWith<hn::CappedTag<float, 8>>(plan, x_re, x_im, out_re, out_im, scratch);
  }
}

}  // namespace
}  // namespace baseband::carrier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::carrier {
namespace {

constexpr size_t kMaxLanes = 16;  // of any target that HWY_DISABLED_TARGETS leaves

void SetRoot(double turns, float* re, float* im) {
  const double angle = -6.283185307179586476925 * turns;
  *re = static_cast<float>(std::cos(angle));
  *im = static_cast<float>(std::sin(angle));
}

}  // namespace

FftPlan::FftPlan(int points) : rows_(8), columns_(8) {
  while (rows_ * columns_ < static_cast<size_t>(points)) {
    (columns_ > rows_ ? rows_ : columns_) *= 2;
  }
  const auto size = static_cast<double>(rows_ * columns_);
  root_re_.resize(columns_);
  root_im_.resize(columns_);
  step_re_.resize(columns_);
  step_im_.resize(columns_);
  const size_t exact = (rows_ + kExact - 1) / kExact * columns_;
  exact_re_.resize(exact);
  exact_im_.resize(exact);
  for (size_t k = 0; k < columns_; ++k) {
    SetRoot(static_cast<double>(k) / static_cast<double>(columns_), &root_re_[k], &root_im_[k]);
    SetRoot(static_cast<double>(k) / size, &step_re_[k], &step_im_[k]);
  }
  for (size_t k = 0; k < exact; ++k) {
    const size_t product = k / columns_ * kExact * (k % columns_) % (rows_ * columns_);
    SetRoot(static_cast<double>(product) / size, &exact_re_[k], &exact_im_[k]);
  }
}

size_t FftPlan::scratch_floats() const { return 6 * columns_ * kMaxLanes; }

HWY_EXPORT(FftSimd);

void Fft(const FftPlan& plan, const float* x_re, const float* x_im, float* out_re, float* out_im,
         float* scratch) {
  HWY_DYNAMIC_DISPATCH(FftSimd)(plan, x_re, x_im, out_re, out_im, scratch);
}

}  // namespace baseband::carrier
#endif
