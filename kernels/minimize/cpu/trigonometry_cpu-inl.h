// sin, cos and tan of vectors, by trigonometry_constants.h: to 3 units in the last place, tan to 4.
#include <cmath>
#include <cstddef>

#include "kernels/minimize/cpu/kernels_cpu.h"
#include "kernels/minimize/expression/trigonometry_constants.h"

// Included once for every instruction set: the guard flips.
#if defined(BASEBAND_KERNELS_MINIMIZE_CPU_TRIGONOMETRY_CPU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BASEBAND_KERNELS_MINIMIZE_CPU_TRIGONOMETRY_CPU_INL_H_
#undef BASEBAND_KERNELS_MINIMIZE_CPU_TRIGONOMETRY_CPU_INL_H_
#else
#define BASEBAND_KERNELS_MINIMIZE_CPU_TRIGONOMETRY_CPU_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::minimize::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// y, with f(x) of the C library in the lanes that `holds` leaves out. Not for many of them.
template <class D, class V, class M, typename T = hn::TFromD<D>>
HWY_NOINLINE V Patched(D d, V x, V y, M holds, T (*f)(T)) {
  HWY_ALIGN T from[HWY_MAX_BYTES / sizeof(T)];
  HWY_ALIGN T to[HWY_MAX_BYTES / sizeof(T)];
  HWY_ALIGN T kept[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(x, d, from);
  hn::Store(y, d, to);
  hn::Store(hn::IfThenElseZero(holds, hn::Set(d, T{1})), d, kept);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if (kept[i] == T{0}) to[i] = f(from[i]);
  }
  return hn::Load(d, to);
}

// As above if any lane is left out.
template <class D, class V, class M, typename T = hn::TFromD<D>>
HWY_INLINE V WherePossible(D d, V x, V y, M holds, T (*f)(T)) {
  return HWY_LIKELY(hn::AllTrue(d, holds)) ? y : Patched(d, x, y, holds, f);
}

// sin(r), |r| <= pi/2 and a little more.
template <class D, class V>
HWY_INLINE V SineOfReduced(D d, V r) {
  using T = hn::TFromD<D>;
  using C = TrigonometryConstants<T>;
  const V u = hn::Mul(r, r);
  const auto c = [d](T value) HWY_ATTR { return hn::Set(d, value); };
  V p;
  if constexpr (sizeof(T) == sizeof(float)) {
    p = hn::MulAdd(u, hn::MulAdd(u, hn::MulAdd(u, c(C::kSine11), c(C::kSine9)), c(C::kSine7)),
                   c(C::kSine5));
    p = hn::MulAdd(u, p, c(C::kSine3));
  } else {
    const V u2 = hn::Mul(u, u);
    const V low = hn::MulAdd(u2, hn::MulAdd(u, c(C::kSine9), c(C::kSine7)),
                             hn::MulAdd(u, c(C::kSine5), c(C::kSine3)));
    const V high = hn::MulAdd(u2, hn::MulAdd(u, c(C::kSine17), c(C::kSine15)),
                              hn::MulAdd(u, c(C::kSine13), c(C::kSine11)));
    p = hn::MulAdd(hn::Mul(u2, u2), high, low);
  }
  return hn::MulAdd(hn::Mul(r, u), p, r);
}

// The sign of (-1)^k, where k has been added to kRound.
template <class D, class V>
HWY_INLINE V SignOfParity(D d, V rounded) {
  using T = hn::TFromD<D>;
  const hn::RebindToUnsigned<D> du;
  return hn::BitCast(d, hn::ShiftLeft<8 * sizeof(T) - 1>(hn::BitCast(du, rounded)));
}

// x - k pi.
template <class D, class V>
HWY_INLINE V MinusTimesPi(D d, V x, V k) {
  using C = TrigonometryConstants<hn::TFromD<D>>;
  V r = hn::NegMulAdd(k, hn::Set(d, C::kPiHigh), x);
  r = hn::NegMulAdd(k, hn::Set(d, C::kPiMiddle), r);
  return hn::NegMulAdd(k, hn::Set(d, C::kPiLow), r);
}

template <class D, class V>
HWY_INLINE V SineInRange(D d, V x) {
  using T = hn::TFromD<D>;
  const V round = hn::Set(d, TrigonometryConstants<T>::kRound);
  const V k = hn::MulAdd(x, hn::Set(d, TrigonometryConstants<T>::kOverPi), round);
  const V r = MinusTimesPi(d, x, hn::Sub(k, round));
  const V y = hn::Xor(SineOfReduced(d, r), SignOfParity(d, k));
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);  // of -0, r has lost the sign
}

// cos(x) = -(-1)^k sin(r) for x = (k + 1/2) pi + r.
template <class D, class V>
HWY_INLINE V CosineInRange(D d, V x) {
  using T = hn::TFromD<D>;
  const V round = hn::Set(d, TrigonometryConstants<T>::kRound);
  const V half = hn::Set(d, T{0.5});
  const V turns = hn::MulSub(x, hn::Set(d, TrigonometryConstants<T>::kOverPi), half);
  const V k = hn::Add(turns, round);
  const V r = MinusTimesPi(d, x, hn::Add(hn::Sub(k, round), half));
  return hn::Xor(SineOfReduced(d, r), hn::Xor(SignOfParity(d, k), hn::SignBit(d)));
}

template <class D, class V>
HWY_INLINE auto IsInRange(D d, V x) {
  return hn::Le(hn::Abs(x), hn::Set(d, TrigonometryConstants<hn::TFromD<D>>::kRange));
}

struct SinOp {
  template <class D, class V, typename T = hn::TFromD<D>>
  static HWY_INLINE V Apply(D d, V x) {
    return WherePossible(d, x, SineInRange(d, x), IsInRange(d, x), static_cast<T (*)(T)>(std::sin));
  }
};

struct CosOp {
  template <class D, class V, typename T = hn::TFromD<D>>
  static HWY_INLINE V Apply(D d, V x) {
    return WherePossible(d, x, CosineInRange(d, x), IsInRange(d, x),
                         static_cast<T (*)(T)>(std::cos));
  }
};

struct TanOp {
  template <class D, class V, typename T = hn::TFromD<D>>
  static HWY_INLINE V Apply(D d, V x) {
    const V y = hn::Div(SineInRange(d, x), CosineInRange(d, x));
    return WherePossible(d, x, y, IsInRange(d, x), static_cast<T (*)(T)>(std::tan));
  }
};

}  // namespace
}  // namespace baseband::minimize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle
