// The algebra of separable least squares, for both devices and for NVRTC's like: no header needed
// but <cmath>.
//
// Time is counted from the middle of the signal, t = n - (N - 1) / 2. Then cos and sin of one
// frequency are orthogonal, and with D = sin(N w) / sin(w), w = 2 pi f Ts,
//   |cos|^2 = (N + D) / 2,  |sin|^2 = (N - D) / 2.
// u_k: orthonormal basis of the fixed columns; y: the signal with them projected out. The added
// columns, less their parts along u_k, have a Gram matrix of 2 x 2 whose elements need only the
// correlations with u_k, and what they explain of y needs only the correlations with y.
//
// Cells. On a dense grid a correlation S(f) = sum x_n exp(-j w t) is expanded around the middle f_c
// of a cell of frequencies half a lobe wide, |f - f_c| <= 1 / (4 N Ts):
//   S(f) = sum over k of c_k x^k,   x = pi N Ts (f - f_c), |x| <= pi / 4,
//   c_k = (-j)^k / k! sum over n of x_n exp(-j w_c t) (2 t / N)^k
// With 17 terms the rest is at most (pi / 4)^17 / 17! = 5e-17 of sum |x_n|: below rounding.
#ifndef BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_SINUSOIDS_MATH_H_
#define BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_SINUSOIDS_MATH_H_

#include <cmath>

#include "kernels/base/host_device.h"

#ifdef __CUDACC__
#define BASEBAND_UNROLL _Pragma("unroll")
#else
#define BASEBAND_UNROLL
#endif

namespace baseband::minimize {

inline constexpr int kCellTerms = 17;
inline constexpr double kTwoPi = 6.283185307179586476925;
// Where |sum over a time T of exp(j 2 pi f t)|^2 is half its maximum: f T, to both sides.
inline constexpr double kFrequencyLobe = 0.88589;

// A column of which less than this remains after projections is taken as dependent.
template <typename T>
struct RankTolerance {
  static constexpr T kValue = T(1e-11);
};
template <>
struct RankTolerance<float> {
  static constexpr float kValue = 1e-5F;
};

// sin(pi x).
BASEBAND_HOST_DEVICE inline double SinOfHalfTurns(double x) {
#ifdef __CUDA_ARCH__
  return sinpi(x);
#else
  const double rest = x - 2.0 * std::nearbyint(0.5 * x);
  return std::sin(0.5 * kTwoPi * rest);
#endif
}

// sin(N w) / sin(w), w = 2 pi turns.
BASEBAND_HOST_DEVICE inline double Dirichlet(double num_samples, double turns) {
  const double doubled = 2.0 * turns;
  const double whole = rint(doubled);
  const double rest = doubled - whole;  // exact
  const double odd = (num_samples - 1.0) * whole;
  const double sign = odd - 2.0 * floor(0.5 * odd) != 0.0 ? -1.0 : 1.0;
  if (rest == 0.0) return sign * num_samples;
  return sign * SinOfHalfTurns(num_samples * rest) / SinOfHalfTurns(rest);
}

// What a pair of columns with Gram matrix [g_cc g_cs; g_cs g_ss] and projections p explains.
template <typename T>
BASEBAND_HOST_DEVICE inline T ExplainedByPair(T g_cc, T g_cs, T g_ss, T p_c, T p_s, T tolerance) {
  const bool swap = g_ss > g_cc;  // the greater one first
  const T first = swap ? g_ss : g_cc;
  const T second = swap ? g_cc : g_ss;
  const T p_first = swap ? p_s : p_c;
  const T p_second = swap ? p_c : p_s;
  if (!(first > tolerance)) return T(0);
  const T ratio = g_cs / first;
  T explained = p_first * p_first / first;
  const T rest = second - ratio * g_cs;
  if (rest > tolerance) {
    const T p_rest = p_second - ratio * p_first;
    explained += p_rest * p_rest / rest;
  }
  return explained;
}

// J from correlations c[r * stride], s[r * stride] with rows r. A real signal's rows are y, u_0 ..;
// a complex one's y_re, y_im, u_0re, u_0im ... `energy` is |y|^2.
template <typename T>
BASEBAND_HOST_DEVICE inline T ResidualOf(bool is_complex, int num_columns, T num_samples, T energy,
                                         T dirichlet, const T* c, const T* s, int stride) {
  if (is_complex) {
    T norm = num_samples;
    BASEBAND_UNROLL
    for (int k = 1; k <= num_columns; ++k) {
      const int re = 2 * k * stride;
      const int im = re + stride;
      const T a = c[re] + s[im];
      const T b = c[im] - s[re];
      norm -= a * a + b * b;
    }
    const T p_re = c[0] + s[stride];
    const T p_im = c[stride] - s[0];
    if (!(norm > RankTolerance<T>::kValue * num_samples)) return energy;
    return energy - (p_re * p_re + p_im * p_im) / norm;
  }
  T g_cc = T(0.5) * (num_samples + dirichlet);
  T g_ss = T(0.5) * (num_samples - dirichlet);
  T g_cs = T(0);
  BASEBAND_UNROLL
  for (int k = 1; k <= num_columns; ++k) {
    const T a = c[k * stride];
    const T b = s[k * stride];
    g_cc -= a * a;
    g_cs -= a * b;
    g_ss -= b * b;
  }
  return energy -
         ExplainedByPair(g_cc, g_cs, g_ss, c[0], s[0], RankTolerance<T>::kValue * num_samples);
}

// Q - r' R^-1 r, R of kColumns columns given by its lower triangle, row after row; destroys both.
// Columns that depend on those before them, zero ones too, are left out.
template <int kColumns, typename T>
BASEBAND_HOST_DEVICE inline T ResidualOfGram(T energy, T* gram, T* r) {
  const auto at = [](int i, int j) { return i * (i + 1) / 2 + j; };
  T inverse[kColumns];
  BASEBAND_UNROLL
  for (int i = 0; i < kColumns; ++i) {
    const T norm = gram[at(i, i)];
    BASEBAND_UNROLL
    for (int j = 0; j < i; ++j) {
      // gram(i, j) becomes l(i, j) d(j), then r(i) and gram(i, i) lose what column j explains.
      T sum = gram[at(i, j)];
      BASEBAND_UNROLL
      for (int k = 0; k < j; ++k) sum -= gram[at(i, k)] * gram[at(j, k)] * inverse[k];
      gram[at(i, j)] = sum;
      r[i] -= sum * inverse[j] * r[j];
      gram[at(i, i)] -= sum * sum * inverse[j];
    }
    const T rest = gram[at(i, i)];
    inverse[i] = rest > RankTolerance<T>::kValue * norm ? T(1) / rest : T(0);
    energy -= r[i] * r[i] * inverse[i];
  }
  return energy;
}

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_SINUSOIDS_MATH_H_
