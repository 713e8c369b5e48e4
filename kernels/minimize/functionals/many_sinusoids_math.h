// A point of a grid of several sinusoids, from the correlations of its coordinates; for both
// devices.
//
// A real signal's sinusoid adds cos and sin, a complex one's exp(j ..); time counts from the middle
// (sinusoids_math.h), and with D(w) = sin(N w / 2) / sin(w / 2)
//   cos_1'cos_2 = (D(w_1 - w_2) + D(w_1 + w_2)) / 2,   cos_1'sin_2 = 0,
//   sin_1'sin_2 = (D(w_1 - w_2) - D(w_1 + w_2)) / 2,   exp_1'exp_2 = D(w_1 - w_2).
// A complex system of K unknowns A a = b is solved as [Re A, -Im A; Im A, Re A] [Re a; Im a] =
// [Re b; Im b], so that both kinds have 2 K real ones.
#ifndef BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_MANY_SINUSOIDS_MATH_H_
#define BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_MANY_SINUSOIDS_MATH_H_

#include "kernels/minimize/functionals/sinusoids_math.h"

namespace baseband::minimize {

struct ManySinusoidsTask {
  const double* table = nullptr;  // [coordinate, axis after axis][row][c, s]
  long long axis_offset[3] = {};  // of an axis' first coordinate
  int num_columns = 0;
  bool is_complex = false;
  double num_samples = 0.0;
  double energy = 0.0;
};

// at[k]: the correlations of sinusoid k; turns[k]: its cycles per sample.
template <int kSinusoids>
BASEBAND_HOST_DEVICE inline double ValueOfMany(const ManySinusoidsTask& task,
                                               const double* const* at, const double* turns) {
  constexpr int kUnknowns = 2 * kSinusoids;
  double gram[kUnknowns * (kUnknowns + 1) / 2];
  double r[kUnknowns];
  // Unknown 2 k is cos or the real part, 2 k + 1 sin or the imaginary part.
  BASEBAND_UNROLL
  for (int i = 0; i < kSinusoids; ++i) {
    const double* const a = at[i];
    r[2 * i] = task.is_complex ? a[0] + a[3] : a[0];
    r[2 * i + 1] = task.is_complex ? a[2] - a[1] : a[1];
    BASEBAND_UNROLL
    for (int j = 0; j <= i; ++j) {
      const double* const b = at[j];
      const double minus =
          i == j ? task.num_samples : Dirichlet(task.num_samples, 0.5 * (turns[i] - turns[j]));
      // Elements (cos_i, cos_j), (sin_i, sin_j), (sin_i, cos_j), (cos_i, sin_j).
      double cc = minus;
      double ss = minus;
      double sc = 0.0;
      double cs = 0.0;
      if (!task.is_complex) {
        const double plus = Dirichlet(task.num_samples, 0.5 * (turns[i] + turns[j]));
        cc = 0.5 * (minus + plus);
        ss = 0.5 * (minus - plus);
        for (int k = 1; k <= task.num_columns; ++k) {
          cc -= a[2 * k] * b[2 * k];
          ss -= a[2 * k + 1] * b[2 * k + 1];
          sc -= a[2 * k + 1] * b[2 * k];
          cs -= a[2 * k] * b[2 * k + 1];
        }
      } else {
        // Less sum over k of (h_i' u_k) (u_k' h_j): h' u = S, c - j s of both parts.
        for (int k = 1; k <= task.num_columns; ++k) {
          const double a_re = a[4 * k] + a[4 * k + 3];
          const double a_im = a[4 * k + 2] - a[4 * k + 1];
          const double b_re = b[4 * k] + b[4 * k + 3];
          const double b_im = b[4 * k + 2] - b[4 * k + 1];
          const double re = a_re * b_re + a_im * b_im;  // S_i conj(S_j)
          const double im = a_im * b_re - a_re * b_im;
          cc -= re;
          ss -= re;
          sc -= im;
          cs += im;
        }
      }
      const int even = 2 * i * (2 * i + 1) / 2 + 2 * j;
      const int odd = (2 * i + 1) * (2 * i + 2) / 2 + 2 * j;
      gram[even] = cc;
      gram[odd] = sc;
      gram[odd + 1] = ss;
      if (i != j) gram[even + 1] = cs;
    }
  }
  return ResidualOfGram<kUnknowns>(task.energy, gram, r);
}

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_MANY_SINUSOIDS_MATH_H_
