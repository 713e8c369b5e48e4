// Sines and cosines of a sinusoid's phase at its samples, for the literal method in float64, for a
// third of the arithmetic of CUDA's sincospi. A turn has kPhaseSteps steps, whose sines and cosines
// are in a table. Phases are counted in steps, so that whole ones are taken off exactly and what is
// left is rounded once, by the fused multiply-add that takes them off.
#ifndef BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_PHASE_MATH_H_
#define BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_PHASE_MATH_H_

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/base/host_device.h"

namespace baseband::minimize {

inline constexpr int kPhaseSteps = 512;

struct alignas(16) SineCosine {
  double sine;
  double cosine;
};

// sin(w r) = r (sine1 + sine3 u + sine5 u^2) and cos(w r) - 1 = u (cosine2 + cosine4 u), w the
// angle of a step, u = r^2 <= 1/4: least squares at Chebyshev points, each coefficient fitted once
// those below it were rounded; within 0.0005 and 0.03 of 2^-53. A kernel's parameter: of constants
// of its own it would make the registers again and again.
struct PhaseCoefficients {
  double round = 6755399441055744.0;  // 1.5 2^52: its last bit is 1
  double sine1 = 0.01227184630308513;
  double sine3 = -3.0801968454972866e-07;
  double sine5 = 2.3193400691766575e-12;
  double cosine2 = -7.529910584314237e-05;
  double cosine4 = 9.449908964561131e-10;
};

// Of the step's angles, [kPhaseSteps].
inline void WritePhaseTable(SineCosine* table) {
  constexpr int kQuarter = kPhaseSteps / 4;
  for (int k = 0; k < kPhaseSteps; ++k) {
    const long double angle = 6.28318530717958647692528676655900577L * (k % kQuarter) / kPhaseSteps;
    const auto sine = static_cast<double>(std::sin(angle));
    const auto cosine = static_cast<double>(std::cos(angle));
    const int quarters = k / kQuarter;
    table[k].sine = quarters % 2 == 0 ? sine : cosine;
    table[k].cosine = quarters % 2 == 0 ? cosine : sine;
    if (quarters >= 2) table[k].sine = -table[k].sine;
    if (quarters == 1 || quarters == 2) table[k].cosine = -table[k].cosine;
  }
}

BASEBAND_HOST_DEVICE_INLINE double PhaseFused(double a, double b, double c) {
#ifdef __CUDA_ARCH__
  return __fma_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

// k modulo kPhaseSteps, where k was added to PhaseCoefficients::round.
BASEBAND_HOST_DEVICE_INLINE int PhaseStep(double rounded) {
#ifdef __CUDA_ARCH__
  return __double2loint(rounded) & (kPhaseSteps - 1);
#else
  uint64_t bits;
  std::memcpy(&bits, &rounded, sizeof(bits));
  return static_cast<int>(bits & (kPhaseSteps - 1));
#endif
}

// Steps a sample, of as many turns: whole turns do not matter. At most half of kPhaseSteps in
// magnitude, and exact. NaN where `turns` is not finite.
BASEBAND_HOST_DEVICE_INLINE double PhaseSteps(double turns) {
  return kPhaseSteps * (turns - rint(turns));
}

// Of `steps` times n[i] steps, the product not rounded: `steps` of PhaseSteps, n[i] a whole number,
// 0 .. 2^20. Sines and cosines are within 1.6 2^-53 of what is exact: half of 2^-53 for the table,
// and for each of the two last additions. The same bits on all processors, from the same table. The chains of kCount
// samples overlap: alone each would wait for itself.
template <int kCount>
BASEBAND_HOST_DEVICE_INLINE void SinesAndCosines(const PhaseCoefficients& by,
                                                 const SineCosine* table, double steps,
                                                 const double* n, double* sine, double* cosine) {
  double rounded[kCount], r[kCount], u[kCount], s[kCount], c[kCount];
#ifdef __CUDACC__
#pragma unroll
#endif
  for (int i = 0; i < kCount; ++i) {
    rounded[i] = PhaseFused(steps, n[i], by.round);
    r[i] = PhaseFused(steps, n[i], by.round - rounded[i]);
    u[i] = r[i] * r[i];
    s[i] = PhaseFused(u[i], by.sine5, by.sine3);
    c[i] = u[i] * PhaseFused(u[i], by.cosine4, by.cosine2);
    s[i] = r[i] * PhaseFused(u[i], s[i], by.sine1);
    const SineCosine at = table[PhaseStep(rounded[i])];
    sine[i] = PhaseFused(at.cosine, s[i], PhaseFused(at.sine, c[i], at.sine));
    cosine[i] = PhaseFused(-at.sine, s[i], PhaseFused(at.cosine, c[i], at.cosine));
  }
}

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_PHASE_MATH_H_
