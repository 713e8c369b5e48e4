// C's fmod on a GPU, exact as that is, in bounded time: CUDA's own takes a step for each bit by
// which the exponents differ. Compiled by nvcc and, as text, by NVRTC.
#ifndef BASEBAND_KERNELS_MINIMIZE_GPU_REMAINDER_CUH_
#define BASEBAND_KERNELS_MINIMIZE_GPU_REMAINDER_CUH_

namespace baseband {
namespace minimize {

// Takes away multiples of b 2^k, 50 bits at a time: a quotient below 2^52 is rounded by less than
// 1, so that the rest is exact, and one b 2^k below zero at most.
static __device__ __noinline__ double Remainder(double a, double b) {
  constexpr double kNear = 4294967296.0;  // CUDA's own is quick for quotients below
  constexpr double kGreatest = 1.7976931348623157e308;
  constexpr int kBits = 50;
  double rest = fabs(a);
  const double divisor = fabs(b);
  if (!(divisor > 0.0) || !(rest <= kGreatest) || !(rest >= divisor * kNear)) return fmod(a, b);
  while (rest >= divisor) {
    const int shift = ilogb(rest) - ilogb(divisor) - kBits;
    const double multiple = scalbn(divisor, shift > 0 ? shift : 0);
    rest = __fma_rn(-trunc(__ddiv_rn(rest, multiple)), multiple, rest);
    if (rest < 0.0) rest = __dadd_rn(rest, multiple);
  }
  return copysign(rest, a);
}
// Of floats the doubles' rest is a float.
static __device__ __noinline__ float Remainder(float a, float b) {
  return fabsf(a) >= fabsf(b) * 4294967296.0F
             ? static_cast<float>(Remainder(static_cast<double>(a), static_cast<double>(b)))
             : fmodf(a, b);
}

}  // namespace minimize
}  // namespace baseband

#endif  // BASEBAND_KERNELS_MINIMIZE_GPU_REMAINDER_CUH_
