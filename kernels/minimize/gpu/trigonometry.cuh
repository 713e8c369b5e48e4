// sin, cos, tan, sinpi and cospi on a GPU: bit for bit what trigonometry_cpu-inl.h has where the
// CPU fuses multiply-adds, within TrigonometryConstants' range. Half the instructions of CUDA's
// own, which reduce by pi/2 and choose between two polynomials. Compiled by nvcc and, as text, by
// NVRTC.
#ifndef BASEBAND_KERNELS_MINIMIZE_GPU_TRIGONOMETRY_CUH_
#define BASEBAND_KERNELS_MINIMIZE_GPU_TRIGONOMETRY_CUH_

#include "kernels/minimize/expression/trigonometry_constants.h"

namespace baseband {
namespace minimize {

// Rounded once each, whatever the compiler may contract.
static __device__ __forceinline__ float Fused(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
static __device__ __forceinline__ double Fused(double a, double b, double c) {
  return __fma_rn(a, b, c);
}
static __device__ __forceinline__ float Product(float a, float b) { return __fmul_rn(a, b); }
static __device__ __forceinline__ double Product(double a, double b) { return __dmul_rn(a, b); }
static __device__ __forceinline__ float Sum(float a, float b) { return __fadd_rn(a, b); }
static __device__ __forceinline__ double Sum(double a, double b) { return __dadd_rn(a, b); }

// Beyond the range; not for speed, and not inlined, for it is long.
static __device__ __noinline__ float LibrarySine(float x) { return sinf(x); }
static __device__ __noinline__ double LibrarySine(double x) { return sin(x); }
static __device__ __noinline__ float LibraryCosine(float x) { return cosf(x); }
static __device__ __noinline__ double LibraryCosine(double x) { return cos(x); }
static __device__ __noinline__ float LibraryTangent(float x) { return tanf(x); }
static __device__ __noinline__ double LibraryTangent(double x) { return tan(x); }

static __device__ __forceinline__ bool IsInRange(float x) {
  return fabsf(x) <= TrigonometryConstants<float>::kRange;
}
static __device__ __forceinline__ bool IsInRange(double x) {
  return fabs(x) <= TrigonometryConstants<double>::kRange;
}

static __device__ __forceinline__ float SineOfReduced(float r) {
  using C = TrigonometryConstants<float>;
  const float u = Product(r, r);
  float p = Fused(u, Fused(u, Fused(u, C::kSine11, C::kSine9), C::kSine7), C::kSine5);
  p = Fused(u, p, C::kSine3);
  return Fused(Product(r, u), p, r);
}
static __device__ __forceinline__ double SineOfReduced(double r) {
  using C = TrigonometryConstants<double>;
  const double u = Product(r, r);
  const double u2 = Product(u, u);
  const double low = Fused(u2, Fused(u, C::kSine9, C::kSine7), Fused(u, C::kSine5, C::kSine3));
  const double high = Fused(u2, Fused(u, C::kSine17, C::kSine15), Fused(u, C::kSine13, C::kSine11));
  return Fused(Product(r, u), Fused(Product(u2, u2), high, low), r);
}

// y (-1)^k, where k has been added to kRound.
static __device__ __forceinline__ float WithSignOfParity(float y, float rounded) {
  return __int_as_float(__float_as_int(y) ^ __float_as_int(rounded) << 31);
}
static __device__ __forceinline__ double WithSignOfParity(double y, double rounded) {
  return __hiloint2double(__double2hiint(y) ^ __double2loint(rounded) << 31, __double2loint(y));
}

// x - k pi.
template <typename T>
static __device__ __forceinline__ T MinusTimesPi(T x, T k) {
  using C = TrigonometryConstants<T>;
  return Fused(-k, C::kPiLow, Fused(-k, C::kPiMiddle, Fused(-k, C::kPiHigh, x)));
}

template <typename T>
static __device__ __forceinline__ T SineInRange(T x) {
  using C = TrigonometryConstants<T>;
  const T k = Fused(x, C::kOverPi, C::kRound);
  const T y = WithSignOfParity(SineOfReduced(MinusTimesPi(x, Sum(k, -C::kRound))), k);
  return x == T(0) ? x : y;  // of -0, the reduced one has lost the sign
}

// cos(x) = -(-1)^k sin(r) for x = (k + 1/2) pi + r.
template <typename T>
static __device__ __forceinline__ T CosineInRange(T x) {
  using C = TrigonometryConstants<T>;
  const T k = Sum(Fused(x, C::kOverPi, T(-0.5)), C::kRound);
  const T r = MinusTimesPi(x, Sum(Sum(k, -C::kRound), T(0.5)));
  return -WithSignOfParity(SineOfReduced(r), k);
}

// The branch goes around what is rare.
template <typename T>
static __device__ __forceinline__ T Sine(T x) {
  T y = SineInRange(x);
  if (!IsInRange(x)) y = LibrarySine(x);
  return y;
}
template <typename T>
static __device__ __forceinline__ T Cosine(T x) {
  T y = CosineInRange(x);
  if (!IsInRange(x)) y = LibraryCosine(x);
  return y;
}
template <typename T>
static __device__ __forceinline__ T Tangent(T x) {
  T y = SineInRange(x) / CosineInRange(x);
  if (!IsInRange(x)) y = LibraryTangent(x);
  return y;
}

static __device__ __forceinline__ float Nearest(float x) { return rintf(x); }
static __device__ __forceinline__ double Nearest(double x) { return rint(x); }
static __device__ __forceinline__ float Floor(float x) { return floorf(x); }
static __device__ __forceinline__ double Floor(double x) { return floor(x); }

// sin(pi (whole + r)).
template <typename T>
static __device__ __forceinline__ T SinePiOfParity(T r, T whole) {
  const T half = Product(whole, T(0.5));
  const T y = SineOfReduced(Product(r, TrigonometryConstants<T>::kPi));
  return Floor(half) != half ? -y : y;
}
template <typename T>
static __device__ __forceinline__ T SinePi(T x) {
  const T whole = Nearest(x);
  return x == T(0) ? x : SinePiOfParity(Sum(x, -whole), whole);
}
template <typename T>
static __device__ __forceinline__ T CosinePi(T x) {
  const T whole = Nearest(x);
  const T r = Sum(x, -whole);
  return SinePiOfParity(Sum(T(0.5), r < T(0) ? r : -r), whole);
}

}  // namespace minimize
}  // namespace baseband

#endif  // BASEBAND_KERNELS_MINIMIZE_GPU_TRIGONOMETRY_CUH_
