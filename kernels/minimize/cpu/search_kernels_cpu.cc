#include "kernels/minimize/cpu/search_kernels_cpu.h"

#include <cmath>
#include <limits>

#include "kernels/base/simd_targets.h"
#include "kernels/minimize/schwefel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/minimize/cpu/search_kernels_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/minimize/cpu/cells_cpu-inl.h"
#include "kernels/minimize/cpu/correlate_cpu-inl.h"
#include "kernels/minimize/cpu/matched_cpu-inl.h"
#include "kernels/minimize/cpu/trigonometry_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::minimize::HWY_NAMESPACE {
namespace {

// begin + i * step for whole vectors of i, rounded once.
template <class D>
HWY_INLINE hn::Vec<D> FusedCoordinates(D d, const Axis& axis, int64_t first) {
#if HWY_NATIVE_FMA
  const auto i = hn::Iota(d, static_cast<double>(first));  // exact: below 2^53
  return hn::MulAdd(i, hn::Set(d, axis.step), hn::Set(d, axis.begin));
#else
  HWY_ALIGN double x[hn::MaxLanes(d)];
  for (size_t k = 0; k < hn::Lanes(d); ++k) x[k] = axis.At(first + static_cast<int64_t>(k));
  return hn::Load(d, x);
#endif
}

void CoordinatesDouble(const Axis& axis, int64_t first, size_t count, double* x) {
  const hn::ScalableTag<double> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(FusedCoordinates(d, axis, first + static_cast<int64_t>(i)), d, x + i);
  }
}

void CoordinatesFloat(const Axis& axis, int64_t first, size_t count, float* x) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(hn::DemoteTo(df, FusedCoordinates(d, axis, first + static_cast<int64_t>(i))), df,
               x + i);
  }
}

template <typename T>
Least<T> FindLeast(bool is_maximum, T* values, size_t count) {
  const hn::ScalableTag<T> d;
  const auto zero = hn::Zero(d);
  const auto infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  auto least = infinity;
  auto nan = hn::FirstN(d, 0);
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto raw = hn::Load(d, values + i);
    const auto value = is_maximum ? hn::Sub(zero, raw) : hn::Add(raw, zero);
    hn::Store(value, d, values + i);
    const auto exists = hn::FirstN(d, count - i);
    const auto here = hn::And(exists, hn::IsNaN(value));
    nan = hn::Or(nan, here);
    least = hn::Min(least, hn::IfThenElse(hn::AndNot(here, exists), value, infinity));
  }
  return {hn::GetLane(hn::MinOfLanes(d, least)), !hn::AllFalse(d, nan)};
}

template <typename T>
void Schwefel(const T* const* x, int num_axes, size_t count, T* values) {
  const hn::ScalableTag<T> d;
  const auto constant = hn::Set(d, static_cast<T>(num_axes * kSchwefelConstant));
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    auto value = constant;
    for (int k = 0; k < num_axes; ++k) {
      const auto at = hn::Load(d, x[k] + i);
      const auto root = hn::Sqrt(hn::Abs(at));
      const auto sine = SinOp::Apply(d, root);
      value = hn::NegMulAdd(at, sine, value);
    }
    hn::Store(value, d, values + i);
  }
}

const CpuKernels<float>* FloatKernels() {
  static constexpr CpuKernels<float> kKernels = {CoordinatesFloat, FindLeast<float>,
                                                 Schwefel<float>, Correlate<float>};
  return &kKernels;
}
const CpuKernels<double>* DoubleKernels() {
  static constexpr CpuKernels<double> kKernels = {CoordinatesDouble, FindLeast<double>,
                                                  Schwefel<double>, Correlate<double>};
  return &kKernels;
}
const CellKernels* KernelsOfCells() {
  static constexpr CellKernels kKernels = {Expand, EvaluateCell};
  return &kKernels;
}
const MatchedKernels* KernelsOfMatched() {
  static constexpr MatchedKernels kKernels = {ChirpRows, DelayRows};
  return &kKernels;
}

}  // namespace
}  // namespace baseband::minimize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::minimize {

HWY_EXPORT(FloatKernels);
HWY_EXPORT(DoubleKernels);
HWY_EXPORT(KernelsOfCells);
HWY_EXPORT(KernelsOfMatched);

template <>
const CpuKernels<float>& SearchKernelsOfThisProcessor<float>() {
  return *HWY_DYNAMIC_DISPATCH(FloatKernels)();
}
template <>
const CpuKernels<double>& SearchKernelsOfThisProcessor<double>() {
  return *HWY_DYNAMIC_DISPATCH(DoubleKernels)();
}
const CellKernels& CellKernelsOfThisProcessor() { return *HWY_DYNAMIC_DISPATCH(KernelsOfCells)(); }
const MatchedKernels& MatchedKernelsOfThisProcessor() {
  return *HWY_DYNAMIC_DISPATCH(KernelsOfMatched)();
}

}  // namespace baseband::minimize
#endif
