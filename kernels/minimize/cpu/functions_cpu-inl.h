// What the other operations of expressions do with vectors. Functions of Highway's are called where
// their stated range ends, and the C library's beyond.
#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/minimize/cpu/kernels_cpu.h"

// Included once for every instruction set: the guard flips.
#if defined(BASEBAND_KERNELS_MINIMIZE_CPU_FUNCTIONS_CPU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BASEBAND_KERNELS_MINIMIZE_CPU_FUNCTIONS_CPU_INL_H_
#undef BASEBAND_KERNELS_MINIMIZE_CPU_FUNCTIONS_CPU_INL_H_
#else
#define BASEBAND_KERNELS_MINIMIZE_CPU_FUNCTIONS_CPU_INL_H_
#endif

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/minimize/cpu/trigonometry_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::minimize::HWY_NAMESPACE {
namespace {

// struct NAME: Apply(d, ..) is EXPRESSION of the vectors named.
#define BASEBAND_UNARY(NAME, EXPRESSION)                    \
  struct NAME {                                             \
    template <class D, class V, typename T = hn::TFromD<D>> \
    static HWY_INLINE V Apply([[maybe_unused]] D d, V a) {  \
      return EXPRESSION;                                    \
    }                                                       \
  }
#define BASEBAND_BINARY(NAME, EXPRESSION)                       \
  struct NAME {                                                 \
    template <class D, class V, typename T = hn::TFromD<D>>     \
    static HWY_INLINE V Apply([[maybe_unused]] D d, V a, V b) { \
      return EXPRESSION;                                        \
    }                                                           \
  }
#define BASEBAND_TERNARY(NAME, EXPRESSION)                           \
  struct NAME {                                                      \
    template <class D, class V, typename T = hn::TFromD<D>>          \
    static HWY_INLINE V Apply([[maybe_unused]] D d, V a, V b, V c) { \
      return EXPRESSION;                                             \
    }                                                                \
  }

BASEBAND_UNARY(MoveOp, a);
BASEBAND_TERNARY(SelectOp, hn::IfThenElse(hn::MaskFromVec(a), b, c));
BASEBAND_BINARY(LessOp, hn::VecFromMask(d, hn::Lt(a, b)));
BASEBAND_BINARY(LessEqualOp, hn::VecFromMask(d, hn::Le(a, b)));
BASEBAND_BINARY(EqualOp, hn::VecFromMask(d, hn::Eq(a, b)));
// Not Highway's Ne: with AVX2 and AVX-512 a NaN differs from nothing there.
BASEBAND_BINARY(NotEqualOp, hn::VecFromMask(d, hn::Not(hn::Eq(a, b))));
BASEBAND_BINARY(AndOp, hn::And(a, b));
BASEBAND_BINARY(OrOp, hn::Or(a, b));
BASEBAND_UNARY(NotOp, hn::Not(a));

BASEBAND_BINARY(AddOp, hn::Add(a, b));
BASEBAND_BINARY(SubtractOp, hn::Sub(a, b));
BASEBAND_BINARY(MultiplyOp, hn::Mul(a, b));
BASEBAND_BINARY(DivideOp, hn::Div(a, b));
BASEBAND_UNARY(NegateOp, hn::Neg(a));
BASEBAND_TERNARY(MultiplyAddOp, hn::MulAdd(a, b, c));
BASEBAND_TERNARY(MultiplySubOp, hn::MulSub(a, b, c));
BASEBAND_TERNARY(NegMultiplyAddOp, hn::NegMulAdd(a, b, c));

BASEBAND_UNARY(AbsOp, hn::Abs(a));
BASEBAND_UNARY(SignOp,
               hn::IfThenElse(hn::Gt(a, hn::Zero(d)), hn::Set(d, T{1}),
                              hn::IfThenElse(hn::Lt(a, hn::Zero(d)), hn::Set(d, T{-1}), a)));
BASEBAND_UNARY(FloorOp, hn::Floor(a));
BASEBAND_UNARY(CeilOp, hn::Ceil(a));
BASEBAND_UNARY(TruncOp, hn::Trunc(a));
// Ties away from zero: of what is less than a half, nothing reaches 1 by adding the float before
// it.
BASEBAND_UNARY(RoundOp,
               hn::Trunc(hn::Add(a, hn::CopySign(hn::Set(d, std::nextafter(T{0.5}, T{0})), a))));
BASEBAND_UNARY(SqrtOp, hn::Sqrt(a));
BASEBAND_BINARY(MinOp, hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b));
BASEBAND_BINARY(MaxOp, hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b));

// sin(pi x): x less the nearest integer is exact.
template <class D, class V>
HWY_INLINE V SinePiOfParity(D d, V r, V whole) {
  using T = hn::TFromD<D>;
  const V half = hn::Mul(whole, hn::Set(d, T{0.5}));
  const auto is_odd = hn::Ne(hn::Floor(half), half);
  const V y = SineOfReduced(d, hn::Mul(r, hn::Set(d, TrigonometryConstants<T>::kPi)));
  return hn::IfThenElse(is_odd, hn::Neg(y), y);
}

struct SinPiOp {
  template <class D, class V>
  static HWY_INLINE V Apply(D d, V a) {
    const V whole = hn::Round(a);
    const V y = SinePiOfParity(d, hn::Sub(a, whole), whole);
    return hn::IfThenElse(hn::Eq(a, hn::Zero(d)), a, y);
  }
};

struct CosPiOp {
  template <class D, class V, typename T = hn::TFromD<D>>
  static HWY_INLINE V Apply(D d, V a) {
    const V whole = hn::Round(a);
    return SinePiOfParity(d, hn::Sub(hn::Set(d, T{0.5}), hn::Abs(hn::Sub(a, whole))), whole);
  }
};

// Highway's function of the arguments that `holds` names, else the C library's. The others are
// hidden from it: it may convert what it gets to integers.
#define BASEBAND_WHERE(NAME, FUNCTION, LIBRARY, HOLDS)             \
  struct NAME {                                                    \
    template <class D, class V, typename T = hn::TFromD<D>>        \
    static HWY_INLINE V Apply(D d, V a) {                          \
      const auto holds = HOLDS;                                    \
      const V inside = hn::IfThenElse(holds, a, hn::Set(d, T{1})); \
      return WherePossible(d, a, hn::FUNCTION(d, inside), holds,   \
                           static_cast<T (*)(T)>(std::LIBRARY));   \
    }                                                              \
  }

// Positive normal numbers.
template <class D, class V, typename T = hn::TFromD<D>>
HWY_INLINE auto HasLogarithm(D d, V a) {
  return hn::And(hn::Ge(a, hn::Set(d, std::numeric_limits<T>::min())),
                 hn::Le(a, hn::Set(d, std::numeric_limits<T>::max())));
}

template <class D, class V, typename T = hn::TFromD<D>>
HWY_INLINE auto IsWithin(D d, V a, T greatest) {
  return hn::Le(hn::Abs(a), hn::Set(d, greatest));
}

BASEBAND_WHERE(LogOp, Log, log, HasLogarithm(d, a));
BASEBAND_WHERE(Log2Op, Log2, log2, HasLogarithm(d, a));
BASEBAND_WHERE(Log10Op, Log10, log10, HasLogarithm(d, a));
BASEBAND_WHERE(AsinOp, Asin, asin, IsWithin(d, a, T{1}));
BASEBAND_WHERE(AcosOp, Acos, acos, IsWithin(d, a, T{1}));
BASEBAND_WHERE(AtanOp, Atan, atan, IsWithin(d, a, T{1e15F}));
BASEBAND_WHERE(SinhOp, Sinh, sinh, IsWithin(d, a, T{80}));
BASEBAND_WHERE(TanhOp, Tanh, tanh, IsWithin(d, a, T{40}));

// Where the result is finite and a no NaN. What is too small for any result but 0 is quick, too.
struct ExpOp {
  template <class D, class V, typename T = hn::TFromD<D>>
  static HWY_INLINE V Apply(D d, V a) {
    const auto holds = hn::Le(a, hn::Set(d, T{sizeof(T) == 4 ? 88 : 705}));
    const V least = hn::Set(d, T{sizeof(T) == 4 ? -110 : -1010});
    const V inside = hn::Max(hn::IfThenElse(holds, a, hn::Set(d, T{1})), least);
    return WherePossible(d, a, hn::Exp(d, inside), holds, static_cast<T (*)(T)>(std::exp));
  }
};

#undef BASEBAND_WHERE
#undef BASEBAND_UNARY
#undef BASEBAND_BINARY
#undef BASEBAND_TERNARY

}  // namespace
}  // namespace baseband::minimize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle
