#include "kernels/minimize/cpu/kernels_cpu.h"

#include <cmath>

#include "kernels/base/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/minimize/cpu/kernels_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/minimize/cpu/functions_cpu-inl.h"
#include "kernels/minimize/cpu/trigonometry_cpu-inl.h"
#include "kernels/minimize/expression/fast_fmod.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::minimize::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T, class Operation, int num_operands>
void Block(const BlockOperands<T>& operands) {
  const hn::ScalableTag<T> d;
  static_assert(hn::MaxLanes(d) * sizeof(T) <= kVectorBytes, "blocks are whole vectors");
  const size_t lanes = hn::Lanes(d);
  const auto [a, b, c] = operands.in;
  const auto [step_a, step_b, step_c] = operands.step;
  for (size_t i = 0; i < operands.count; i += lanes) {
    const auto x = hn::LoadU(d, a + i * step_a);
    if constexpr (num_operands == 1) {
      hn::StoreU(Operation::Apply(d, x), d, operands.out + i);
    } else if constexpr (num_operands == 2) {
      const auto y = hn::LoadU(d, b + i * step_b);
      hn::StoreU(Operation::Apply(d, x, y), d, operands.out + i);
    } else {
      const auto y = hn::LoadU(d, b + i * step_b);
      const auto z = hn::LoadU(d, c + i * step_c);
      hn::StoreU(Operation::Apply(d, x, y, z), d, operands.out + i);
    }
  }
}

// Whole vectors.
template <typename T>
size_t RoundedUp(size_t count) {
  const size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  return (count + lanes - 1) / lanes * lanes;
}

// Point by point, by the C library.
template <typename T, T (*kFunction)(T)>
void Unary(const BlockOperands<T>& operands) {
  for (size_t i = 0; i < RoundedUp<T>(operands.count); ++i) {
    operands.out[i] = kFunction(operands.in[0][i * operands.step[0]]);
  }
}

// The C library's hypot and pow have numbers for some NaNs.
template <typename T, T (*kFunction)(T, T)>
T UnlessNan(T a, T b) {
  return std::isnan(a) || std::isnan(b) ? a + b : kFunction(a, b);
}

template <typename T, T (*kFunction)(T, T)>
void Binary(const BlockOperands<T>& operands) {
  for (size_t i = 0; i < RoundedUp<T>(operands.count); ++i) {
    operands.out[i] =
        kFunction(operands.in[0][i * operands.step[0]], operands.in[1][i * operands.step[1]]);
  }
}

template <typename T>
constexpr BlockKernels<T> MakeKernels() {
  BlockKernels<T> kernels{};
  const auto set = [&kernels](Op op, BlockKernel<T> kernel) {
    kernels[static_cast<size_t>(op)] = kernel;
  };
  for (auto& kernel : kernels) kernel = Block<T, MoveOp, 1>;
  set(Op::kSelect, Block<T, SelectOp, 3>);
  set(Op::kLess, Block<T, LessOp, 2>);
  set(Op::kLessEqual, Block<T, LessEqualOp, 2>);
  set(Op::kEqual, Block<T, EqualOp, 2>);
  set(Op::kNotEqual, Block<T, NotEqualOp, 2>);
  set(Op::kAnd, Block<T, AndOp, 2>);
  set(Op::kOr, Block<T, OrOp, 2>);
  set(Op::kNot, Block<T, NotOp, 1>);
  set(Op::kAdd, Block<T, AddOp, 2>);
  set(Op::kSubtract, Block<T, SubtractOp, 2>);
  set(Op::kMultiply, Block<T, MultiplyOp, 2>);
  set(Op::kDivide, Block<T, DivideOp, 2>);
  set(Op::kNegate, Block<T, NegateOp, 1>);
  set(Op::kMultiplyAdd, Block<T, MultiplyAddOp, 3>);
  set(Op::kMultiplySub, Block<T, MultiplySubOp, 3>);
  set(Op::kNegMultiplyAdd, Block<T, NegMultiplyAddOp, 3>);
  set(Op::kAbs, Block<T, AbsOp, 1>);
  set(Op::kSign, Block<T, SignOp, 1>);
  set(Op::kFloor, Block<T, FloorOp, 1>);
  set(Op::kCeil, Block<T, CeilOp, 1>);
  set(Op::kRound, Block<T, RoundOp, 1>);
  set(Op::kTrunc, Block<T, TruncOp, 1>);
  set(Op::kSqrt, Block<T, SqrtOp, 1>);
  set(Op::kCbrt, Unary<T, std::cbrt>);
#if HWY_NATIVE_FMA
  set(Op::kSin, Block<T, SinOp, 1>);
  set(Op::kCos, Block<T, CosOp, 1>);
  set(Op::kTan, Block<T, TanOp, 1>);
#else  // the reduction needs it
  set(Op::kSin, Unary<T, std::sin>);
  set(Op::kCos, Unary<T, std::cos>);
  set(Op::kTan, Unary<T, std::tan>);
#endif
  set(Op::kAsin, Block<T, AsinOp, 1>);
  set(Op::kAcos, Block<T, AcosOp, 1>);
  set(Op::kAtan, Block<T, AtanOp, 1>);
  set(Op::kSinh, Block<T, SinhOp, 1>);
  set(Op::kCosh, Unary<T, std::cosh>);
  set(Op::kTanh, Block<T, TanhOp, 1>);
  set(Op::kExp, Block<T, ExpOp, 1>);
  set(Op::kLog, Block<T, LogOp, 1>);
  set(Op::kLog2, Block<T, Log2Op, 1>);
  set(Op::kLog10, Block<T, Log10Op, 1>);
  set(Op::kSinPi, Block<T, SinPiOp, 1>);
  set(Op::kCosPi, Block<T, CosPiOp, 1>);
  set(Op::kAtan2, Binary<T, std::atan2>);
  set(Op::kMin, Block<T, MinOp, 2>);
  set(Op::kMax, Block<T, MaxOp, 2>);
  set(Op::kFmod, Binary<T, FastFmod>);
  set(Op::kHypot, Binary<T, UnlessNan<T, std::hypot>>);
  set(Op::kPow, Binary<T, UnlessNan<T, std::pow>>);
  return kernels;
}

const BlockKernels<float>* FloatKernels() {
  static constexpr BlockKernels<float> kKernels = MakeKernels<float>();
  return &kKernels;
}

const BlockKernels<double>* DoubleKernels() {
  static constexpr BlockKernels<double> kKernels = MakeKernels<double>();
  return &kKernels;
}

}  // namespace
}  // namespace baseband::minimize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::minimize {

HWY_EXPORT(FloatKernels);
HWY_EXPORT(DoubleKernels);

template <>
const BlockKernels<float>& KernelsOfThisProcessor<float>() {
  return *HWY_DYNAMIC_DISPATCH(FloatKernels)();
}

template <>
const BlockKernels<double>& KernelsOfThisProcessor<double>() {
  return *HWY_DYNAMIC_DISPATCH(DoubleKernels)();
}

}  // namespace baseband::minimize
#endif
