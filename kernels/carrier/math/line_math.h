// The line that is left when the modulation is taken off: stages S2 and S3 of recover_math.h, for
// both devices.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_LINE_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_LINE_MATH_H_

#include <cmath>
#include <cstdint>

#include "kernels/carrier/math/recover_math.h"
#include "kernels/carrier/model.h"

namespace baseband::carrier {

BASEBAND_HOST_DEVICE inline Iq Multiply(Iq a, Iq b) {
  return {fmaf(a.i, b.i, -a.q * b.q), fmaf(a.i, b.q, a.q * b.i)};
}

// u^p for |u| = 1, by squaring from the highest bit of p on.
BASEBAND_HOST_DEVICE inline Iq UnitPower(Iq u, int power) {
  int bit = 1;
  while (2 * bit <= power) bit *= 2;
  Iq x = u;
  for (bit /= 2; bit > 0; bit /= 2) {
    x = Multiply(x, x);
    if ((power & bit) != 0) x = Multiply(x, u);
  }
  return x;
}

// weight(rho) exp(j p arg r) of a received symbol; 0 for 0. `inverse_gain` = 1 / A.
BASEBAND_HOST_DEVICE inline Iq LineSample(const ModelView& view, int table, Iq r,
                                          float inverse_gain) {
  const float i = r.i * inverse_gain;
  const float q = r.q * inverse_gain;
  const float rho = sqrtf(fmaf(i, i, q * q));
  const float inverse_rho = rho > 0.0F ? 1.0F / rho : 0.0F;
  const float node = fminf(rho * view.weight_nodes_per_unit, kWeightNodes - 1.0F);
  const float first = fminf(floorf(node), kWeightNodes - 2.0F);
  const Iq* const weight = view.weight + table * kWeightNodes + static_cast<int>(first);
  const float t = node - first;
  const Iq w = {fmaf(t, weight[1].i - weight[0].i, weight[0].i),
                fmaf(t, weight[1].q - weight[0].q, weight[0].q)};
  return Multiply(w, UnitPower({i * inverse_rho, q * inverse_rho}, view.power));
}

// The line between bins k and k + 1 of an FFT of `points` over `num_symbols` <= points, in the
// scale of the bins: |F_k + turn F_{k+1}|^2 * scale. Referred to the frame's centre, neighbouring
// bins of a line have the same phase, and sum to twice the Dirichlet kernel at half a bin.
inline constexpr float kMostHalfBinScale = 2.0F;
struct HalfBin {
  Turned turn;
  float scale = 0.0F;
  // Whether hardly anything of a line may be there.
  BASEBAND_HOST_DEVICE bool misses() const { return !(scale > 0.0F && scale < kMostHalfBinScale); }
};
BASEBAND_HOST_DEVICE inline HalfBin HalfBinOf(int num_symbols, int points) {
  const double centre = 0.5 * (num_symbols - 1);
  const double kernel = static_cast<double>(Turn(0.25 * num_symbols / points).s) /
                        static_cast<double>(Turn(0.25 / points).s);
  const double share = 0.5 * num_symbols / kernel;
  HalfBin half;
  half.turn = Turn(centre / points);
  half.scale = static_cast<float>(share * share);
  return half;
}

// The same for a line of known symbols, which may lie anywhere: `re`, `im` are the sums of
// |known_n|^2 times cos and sin of pi n / points, what a line half a bin off leaves in a bin;
// `energy` that of |known_n|^2 alone.
BASEBAND_HOST_DEVICE inline HalfBin HalfBinOfKnown(double re, double im, double energy) {
  const double left = re * re + im * im;
  HalfBin half;
  if (!(left > 0.0)) return half;
  half.turn.c = static_cast<float>((re * re - im * im) / left);
  half.turn.s = static_cast<float>(2.0 * re * im / left);
  // Where half a bin leaves next to nothing, noise would be all there is.
  half.scale = static_cast<float>(
      fmin(0.25 * energy * energy / left, static_cast<double>(kMostHalfBinScale)));
  return half;
}

// Of a line that is not there at all: known symbols where nothing was received.
inline constexpr double kLeastLineEnergy = 1e-30;

// How many half bins on either side of a peak belong to it: two bins of the frame, main lobe and
// first side lobe. Known symbols far apart from each other have peaks as close as a bin of the
// frame: there half a bin must do, and slopes that LineStep leads to a peak that is there already,
// closer than SamePeak, are dropped.
BASEBAND_HOST_DEVICE inline int PeakReach(int num_symbols, int points, bool known_line) {
  const int times = known_line ? 1 : 4;
  return (times * points + num_symbols - 1) / num_symbols;
}
BASEBAND_HOST_DEVICE inline bool SamePeak(double nu, double other, int num_symbols) {
  const double distance = nu - other - floor(nu - other + 0.5);
  return fabs(distance) * num_symbols < 0.25;
}

// Symbols a block of the line has: the least power of two with at most kMaxLineBlocks blocks.
BASEBAND_HOST_DEVICE inline int LineBlockLength(int num_symbols) {
  int length = 1;
  while (static_cast<int64_t>(length) * kMaxLineBlocks < num_symbols) length *= 2;
  return length;
}

BASEBAND_HOST_DEVICE inline int NumLineBlocks(int num_symbols, int length) {
  return (num_symbols + length - 1) / length;
}

// Where block b lies: the mean of n over its symbols (the last block may have fewer), less c.
BASEBAND_HOST_DEVICE inline double LineBlockCentre(int block, int length, int num_symbols) {
  const double begin = static_cast<double>(block) * length;
  return begin + 0.5 * (fmin(static_cast<double>(length), num_symbols - begin) - 1.0) -
         0.5 * (num_symbols - 1.0);
}

// Sums over a block's symbols n of the line turned back by a frequency `nu`:
// y = x_n exp(-j 2 pi nu (n - c)).
struct LineBlock {
  Iq sum;               // y
  Iq square;            // y^2
  float energy = 0.0F;  // |y|^2
};

// The line at nu + delta / L from the blocks: sums over blocks b of
// sum_b exp(-j 2 pi delta tau_b), tau_b = LineBlockCentre / L, and of its derivatives by delta.
struct LineAt {
  double re = 0.0, im = 0.0;    // X
  double re1 = 0.0, im1 = 0.0;  // dX / d(2 pi delta)
  double re2 = 0.0, im2 = 0.0;  // second derivative

  BASEBAND_HOST_DEVICE void Add(Iq sum, Turned turn, double tau) {
    // sum * conj(turn), where turn = Turn(delta * tau)
    const double a = static_cast<double>(sum.i) * turn.c + static_cast<double>(sum.q) * turn.s;
    const double b = static_cast<double>(sum.q) * turn.c - static_cast<double>(sum.i) * turn.s;
    re += a;
    im += b;
    re1 += tau * b;
    im1 -= tau * a;
    re2 -= tau * tau * a;
    im2 -= tau * tau * b;
  }
  BASEBAND_HOST_DEVICE double power() const { return re * re + im * im; }
  BASEBAND_HOST_DEVICE double phase_turns() const { return atan2(im, re) / kTurn; }
};

// How far from where its sums were made, bins of 1 / L, a line is looked for, and in how many
// steps.
struct LineClimb {
  double most = 0.75;
  int steps = kLineSteps;
};
// After a step shorter than this, bins of 1 / L, the next one would be shorter than 1e-8.
inline constexpr double kLastLineStep = 1e-4;
// From a peak, which is half a bin away at most; or from 0, without a peak to begin with: up the
// whole main lobe, a bin of 1 / N to either side, and what noise adds.
BASEBAND_HOST_DEVICE inline LineClimb LineClimbOf(bool has_peak, int num_symbols, int points) {
  LineClimb climb;
  if (has_peak) return climb;
  climb.most = 1.25 * points / num_symbols;
  climb.steps = 2 * kLineSteps;
  return climb;
}

// Of parts of a bend that cancel but for this share there is none: known symbols in a row may lie
// within one block, which says the same at every delta.
inline constexpr double kLeastBend = 1e-6;

// Where |X|^2 is greatest: the next delta, in bins of 1 / L, from what is at this one. Newton, at
// most a third of the way that there is at a time, uphill where |X|^2 is not concave, and never
// further from the start than that way.
BASEBAND_HOST_DEVICE inline double LineStep(const LineAt& at, double delta, double most) {
  const double slope = 2.0 * (at.re * at.re1 + at.im * at.im1);
  const double squares = at.re1 * at.re1 + at.im1 * at.im1;
  const double along = at.re * at.re2 + at.im * at.im2;
  const double bend = 2.0 * (squares + along);
  if (!(fabs(bend) > kLeastBend * (squares + fabs(along)))) return delta;
  const double longest = most / 3.0;
  double step = slope > 0.0 ? longest : -longest;
  if (bend < 0.0) step = fmin(fmax(-slope / bend / kTurn, -longest), longest);
  return fmin(fmax(delta + step, -most), most);
}

// One of LineClimb::steps, which begin at 0: takes *delta on from where the line is `at`. False if
// no other is worth it.
BASEBAND_HOST_DEVICE inline bool ClimbOn(const LineAt& at, const LineClimb& climb, double* delta) {
  const double last = *delta;
  *delta = LineStep(at, last, climb.most);
  return !(fabs(*delta - last) < kLastLineStep);
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_LINE_MATH_H_
