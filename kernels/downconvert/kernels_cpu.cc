#include "kernels/downconvert/kernels_cpu.h"

// The fallback for processors below the x86 and Arm targets is one that the tests run, too, under
// compilers for which Highway avoids it (a bug that these loops do not meet). Vectors of unknown
// length would have no fixed order of sums; such machines use NEON. Processors with SSSE3 alone are
// too rare for code of their own.
#define HWY_BROKEN_EMU128 0
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/downconvert/kernels_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/downconvert/convert_cpu-inl.h"
#include "kernels/downconvert/fir_cpu-inl.h"
#include "kernels/downconvert/mix_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::downconvert {
namespace HWY_NAMESPACE {
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
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace baseband::downconvert
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::downconvert {

HWY_EXPORT(Kernels);

const CpuKernels& KernelsOfThisProcessor() { return *HWY_DYNAMIC_DISPATCH(Kernels)(); }

}  // namespace baseband::downconvert
#endif
