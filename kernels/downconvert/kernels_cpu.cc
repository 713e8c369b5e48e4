#include "kernels/downconvert/kernels_cpu.h"

#include "kernels/base/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/downconvert/kernels_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/downconvert/convert_cpu-inl.h"
#include "kernels/downconvert/fir_cpu-inl.h"
#include "kernels/downconvert/mix_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::downconvert::HWY_NAMESPACE {
namespace {

const CpuKernels* Kernels() {
#if HWY_NATIVE_FMA
  constexpr auto kMixFloat = MixFloat;
#else
  constexpr void (*kMixFloat)(const FloatMixTask&) = nullptr;
#endif
  static constexpr CpuKernels kKernels = {Convert, FindNonFinite, Mix, kMixFloat, Fir, StoreOutput};
  return &kKernels;
}

}  // namespace
}  // namespace baseband::downconvert::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::downconvert {

HWY_EXPORT(Kernels);

const CpuKernels& KernelsOfThisProcessor() { return *HWY_DYNAMIC_DISPATCH(Kernels)(); }

}  // namespace baseband::downconvert
#endif
