// How far a frame's phase strays from the straight line that is fitted to it: phase noise, a
// frequency that drifts, a jump. For both devices.
//
// At the estimate the scores g_n of the symbols (newton_math.h) are independent of each other, and
// the error of the line through them is what the sum of their squares says. A phase that strays by
// theta(t) leaves scores of h theta(t) in neighbouring symbols, which no sum of squares shows; sums
// over stretches of the frame do. They are compared with Legendre polynomials P_k of 2 t over the
// frame, t = -1/2 .. 1/2, k = 2 .. 8 (0 and 1 are the line itself):
//   c_k = sum of P_k g,   E c_k^2 = sum of P_k^2 g^2, if nothing but noise is there.
// Phase noise that is a random walk, of variance q over the frame, adds to that
//   q H^2 / (2 (2 k - 1) (2 k + 1) (2 k + 3)),   H the sum of h,
// and gives the line through it a slope of variance 6/5 q radians over the frame. q is that of the
// greatest likelihood; a jump of J radians makes it about J^2, and the slope's error about J. A
// frequency that drifts has c_2 = H kappa / 30, kappa the radians by which the frame's ends gain on
// a straight line in each direction: its frequency is that of the line give or take kappa /
// sqrt(3).
#ifndef BASEBAND_KERNELS_CARRIER_MATH_STRAY_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_STRAY_MATH_H_

#include <cmath>

#include "kernels/base/host_device.h"
#include "kernels/carrier/math/newton_math.h"

namespace baseband::carrier {

// A frame has up to this many stretches. Those of up to kShortFrame symbols are a power of two
// long, others whole tiles of kStretchTile.
inline constexpr int kMaxStretches = 16;
inline constexpr int kStretchTile = 256;
inline constexpr int kShortFrame = kMaxStretches * kStretchTile / 2;

BASEBAND_HOST_DEVICE inline int StretchLength(int num_symbols) {
  if (num_symbols > kShortFrame) {
    const int tiles = (num_symbols + kStretchTile - 1) / kStretchTile;
    return kStretchTile * ((tiles + kMaxStretches - 1) / kMaxStretches);
  }
  int length = 1;
  while (kMaxStretches * length < num_symbols) length *= 2;
  return length;
}
BASEBAND_HOST_DEVICE inline int NumStretches(int num_symbols) {
  const int length = StretchLength(num_symbols);
  return (num_symbols + length - 1) / length;
}
// t of a stretch's middle (the last may be shorter).
BASEBAND_HOST_DEVICE inline double StretchCentre(int stretch, int num_symbols) {
  const int length = StretchLength(num_symbols);
  const int begin = stretch * length;
  const int end = begin + length < num_symbols ? begin + length : num_symbols;
  return (0.5 * (begin + end - 1) - 0.5 * (num_symbols - 1)) / num_symbols;
}

// Sums over a stretch: of g, of h, of g^2.
struct Stretch {
  double score = 0.0;
  double curvature = 0.0;
  double square = 0.0;
};

// Where the stretches' own straight line is, to be taken off: sums over them.
struct StretchLine {
  double score[2] = {};        // g, t g
  double information[3] = {};  // h, t h, t^2 h

  BASEBAND_HOST_DEVICE void Add(const Stretch& stretch, double t) {
    score[0] += stretch.score;
    score[1] += t * stretch.score;
    information[0] += stretch.curvature;
    information[1] += t * stretch.curvature;
    information[2] += t * t * stretch.curvature;
  }
  // Radians, and radians over the frame. False if there is no line.
  BASEBAND_HOST_DEVICE bool Find(double* phase, double* slope) const {
    const double determinant = information[0] * information[2] - information[1] * information[1];
    if (!(determinant > 1e-9 * information[0] * information[2] && information[0] > 0.0)) {
      return false;
    }
    *phase = (information[2] * score[0] - information[1] * score[1]) / determinant;
    *slope = (information[0] * score[1] - information[1] * score[0]) / determinant;
    return true;
  }
};

inline constexpr int kFirstMode = 2;
inline constexpr int kModes = 7;

// c_k and what noise makes of it: sums over the stretches.
struct StrayModes {
  double value[kModes] = {};
  double noise[kModes] = {};

  BASEBAND_HOST_DEVICE void Add(const Stretch& stretch, double t, double phase, double slope) {
    const double score = stretch.score - stretch.curvature * (phase + slope * t);
    const double x = 2.0 * t;
    double before = 1.0;
    double here = x;
    for (int i = 0; i < kModes; ++i) {
      const int k = kFirstMode + i;
      const double next = ((2 * k - 1) * x * here - (k - 1) * before) / k;
      before = here;
      here = next;
      value[i] += here * score;
      noise[i] += here * here * stretch.square;
    }
  }
};

// Variances that straying adds to the line's: of its phase, radians, and of its slope, radians over
// the frame.
struct Stray {
  double phase = 0.0;
  double slope = 0.0;
  double excess = 0.0;  // of the squares of the c_k over what noise makes of them, as a share
  bool lost = false;    // there is no maximum of the likelihood where the estimate is
};
// Where the stretches have no line: a part of the frame lies between two of the constellation's
// symmetries, where h is negative.
BASEBAND_HOST_DEVICE inline Stray LostStray() {
  Stray stray;
  stray.lost = true;
  return stray;
}

// Twice the logarithm of how much likelier straying makes the scores: below the first it counts
// nothing, from the second on in full. Noise alone exceeds the first in two frames of a hundred.
// What is too little to be seen so makes deviations up to 4 times too small, on the average of such
// frames: a jump in the middle takes a line along by three quarters of its own power, and what it
// leaves for all modes together is then 4 times what noise leaves in one.
inline constexpr double kStrayFrom = 4.0;
inline constexpr double kStrayInFull = 8.0;

// One mode: c_k, what noise makes of its square, and what a walk of variance 1 over the frame adds
// to that. One without noise does not count.
struct StrayMode {
  double value = 0.0;
  double noise = 0.0;
  double of_walk = 0.0;

  BASEBAND_HOST_DEVICE bool counts() const { return noise > 0.0; }
};
// `i` counts from kFirstMode on; `curvature`: H.
BASEBAND_HOST_DEVICE inline StrayMode StrayModeOf(int i, double value, double noise,
                                                  double curvature) {
  const double k = kFirstMode + i;
  return {value, noise,
          curvature * curvature / (2.0 * (2.0 * k - 1.0) * (2.0 * k + 1.0) * (2.0 * k + 3.0))};
}

// The likeliest variance of a walk is found in rounds, beginning at 0: sums over the modes at one,
// of which the next is made. A round that changes nothing is the last.
inline constexpr int kWalkRounds = 6;
struct WalkSums {
  double sum = 0.0;
  double weights = 0.0;

  BASEBAND_HOST_DEVICE void Add(const StrayMode& mode, double walk) {
    if (!mode.counts()) return;
    const double total = walk * mode.of_walk + mode.noise;
    const double weight = mode.of_walk / (total * total);
    sum += weight * (mode.value * mode.value - mode.noise);
    weights += weight * mode.of_walk;
  }
  BASEBAND_HOST_DEVICE double walk() const {
    return weights > 0.0 ? fmax(sum / weights, 0.0) : 0.0;
  }
};

// What the modes say for the likeliest walk: sums over them.
struct StraySums {
  double likelier = 0.0;
  double squares = 0.0;
  double count = 0.0;

  BASEBAND_HOST_DEVICE void Add(const StrayMode& mode, double walk) {
    if (!mode.counts()) return;
    const double ratio = walk * mode.of_walk / mode.noise;
    const double square = mode.value * mode.value / mode.noise;
    likelier += square * ratio / (1.0 + ratio) - log1p(ratio);
    squares += square;
    count += 1.0;
  }
};

// `first`: the mode that a drifting frequency shows in.
BASEBAND_HOST_DEVICE inline Stray StrayOf(const StraySums& sums, double walk,
                                          const StrayMode& first, double curvature) {
  Stray stray;
  double likelier = sums.likelier;
  const double bent = fmax(first.value * first.value - first.noise, 0.0);
  if (bent > 0.0) {
    const double ratio = bent / first.noise;
    likelier = fmax(likelier, ratio - log1p(ratio));
  }
  const double share = fmin(fmax((likelier - kStrayFrom) / (kStrayInFull - kStrayFrom), 0.0), 1.0);
  stray.slope = share * fmax(1.2 * walk, 300.0 * bent / (curvature * curvature));
  stray.phase = share * walk / 8.0;
  if (sums.count > 0.0) stray.excess = share * fmax(sums.squares / sums.count - 1.0, 0.0);
  return stray;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_STRAY_MATH_H_
