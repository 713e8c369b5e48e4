// The instruction sets that Highway compiles our code for. Included before "hwy/foreach_target.h",
// or any other header of Highway, by what is compiled once for each of them.
#ifndef BASEBAND_KERNELS_BASE_SIMD_TARGETS_H_
#define BASEBAND_KERNELS_BASE_SIMD_TARGETS_H_

// The fallback for processors below the x86 and Arm targets. Highway avoids it under GCC 12.2 and
// older for a compiler bug in high multiplications; the tests run all code on every target.
#define HWY_BROKEN_EMU128 0
// Vectors of unknown length have another order of lanes and of sums; such machines use NEON.
// Processors with SSSE3 alone are too rare for code of their own.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

#endif  // BASEBAND_KERNELS_BASE_SIMD_TARGETS_H_
