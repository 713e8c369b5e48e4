// sin, cos and tan of vectors: to 3 units in the last place, tan to 4.
//
// x is reduced to r in [-pi/2, pi/2] by multiples of pi, or odd ones of pi/2 for the cosine, which
// are subtracted in three parts (Cody and Waite 1980): k times the first is exact in a fused
// multiply-add and so is its difference from x, for it is a multiple of the first part's last bit
// and at most 2 in magnitude. The third part is enough for k below 2^16 in float and 2^29 in
// double: what is left of pi, times k, stays below the last bit of the smallest r that any x of the
// range has.
#include <cmath>
#include <cstddef>

#include "kernels/minimize/kernels_cpu.h"

// Included once for every instruction set: the guard flips.
#if defined(BASEBAND_KERNELS_MINIMIZE_TRIGONOMETRY_CPU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BASEBAND_KERNELS_MINIMIZE_TRIGONOMETRY_CPU_INL_H_
#undef BASEBAND_KERNELS_MINIMIZE_TRIGONOMETRY_CPU_INL_H_
#else
#define BASEBAND_KERNELS_MINIMIZE_TRIGONOMETRY_CPU_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::minimize {
namespace HWY_NAMESPACE {
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

template <typename T>
struct TrigonometryConstants {
  static constexpr double kRange = 1e9;
  static constexpr double kRound = 6755399441055744.0;  // 1.5 2^52: its last bit is 1
  static constexpr double kPi[3] = {3.1415926535897931, 1.2246467991473532e-16,
                                    -2.9947698097183397e-33};
  // (sin(x) - x) / x^3 in x^2, interpolated at Chebyshev points of [0, pi/2]: 5e-17 of sin(x).
  static constexpr double kSine[8] = {-0.16666666666666666,    0.0083333333333333159,
                                      -0.00019841269841254432, 2.7557319219017265e-06,
                                      -2.5052107598462721e-08, 1.6058976114446052e-10,
                                      -7.6439321620123467e-13, 2.7309706931013859e-15};
};

template <>
struct TrigonometryConstants<float> {
  static constexpr float kRange = 1e5F;
  static constexpr float kRound = 12582912.0F;  // 1.5 2^23
  static constexpr float kPi[3] = {3.14159274F, -8.74227766e-8F, -3.43024902e-15F};
  // A search among such floats; 8e-9.
  static constexpr float kSine[5] = {-0.166666672F, 0.00833333284F, -0.000198408001F,
                                     2.75499997e-06F, -2.50000003e-08F};
};

// sin(r), |r| <= pi/2 and a little more.
template <class D, class V>
HWY_INLINE V SineOfReduced(D d, V r) {
  using T = hn::TFromD<D>;
  using C = TrigonometryConstants<T>;
  const V u = hn::Mul(r, r);
  const auto c = [d](size_t k) HWY_ATTR { return hn::Set(d, C::kSine[k]); };
  V p;
  if constexpr (sizeof(T) == sizeof(float)) {
    p = hn::MulAdd(u, hn::MulAdd(u, hn::MulAdd(u, c(4), c(3)), c(2)), c(1));
    p = hn::MulAdd(u, p, c(0));
  } else {
    const V u2 = hn::Mul(u, u);
    const V low = hn::MulAdd(u2, hn::MulAdd(u, c(3), c(2)), hn::MulAdd(u, c(1), c(0)));
    const V high = hn::MulAdd(u2, hn::MulAdd(u, c(7), c(6)), hn::MulAdd(u, c(5), c(4)));
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
  V r = hn::NegMulAdd(k, hn::Set(d, C::kPi[0]), x);
  r = hn::NegMulAdd(k, hn::Set(d, C::kPi[1]), r);
  return hn::NegMulAdd(k, hn::Set(d, C::kPi[2]), r);
}

template <class D, class V>
HWY_INLINE V SineInRange(D d, V x) {
  using T = hn::TFromD<D>;
  const V round = hn::Set(d, TrigonometryConstants<T>::kRound);
  const V k = hn::MulAdd(x, hn::Set(d, static_cast<T>(0.31830988618379067154)), round);
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
  const V turns = hn::MulSub(x, hn::Set(d, static_cast<T>(0.31830988618379067154)), half);
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
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace baseband::minimize
HWY_AFTER_NAMESPACE();

#endif  // the toggle
