// Stage 1 of timing.h: the line at the symbol rate. For both devices.
//
// The frame is cut into pieces of `window` samples that overlap by half at least, each is weighted
// by sin^2 and transformed, X_s[k], k < points. A bin is b = P / (Q points) cycles per symbol, and
// R the whole number of bins next to the symbol rate. Two bins R apart hold, at the spectrum's
// edges, the same symbols:
//   C_s[k] = X_s[k + R] conj(X_s[k]),   whose middle lies at x = (k + R / 2) b,
// has the phase of the line, whatever the symbols are, and is |S|^2 cos(pi (x - D) / a) / 2 strong,
// D the signal's frequency. So
//   E(D)   = sum over s, k of |X_s[k]|^2 RC(k b - D)     is greatest where the spectrum lies, and
//   q_s(D) = sum over k of C_s[k] cos(pi (x - D) / a)    is a piece's part of the line.
// C_s is kept in groups of bins that are narrow against a.
//
// The line of symbols at offset + k (1 + clock_error) has made u / (1 + clock_error) - .. turns at
// the time u of a piece's middle; turned back by the nominal u, conj(q_s) has the phase
//   2 pi T(u), T(u) = T0 + e u, e = clock_error / (1 + clock_error), offset = T0 (1 + clock_error):
// how late the symbols are there. |sum of q_s exp(-j 2 pi T(u_s))|^2 over what it would be on
// average without a line, by the spectrum or by how the pieces scatter, whichever is more, is
// `line`.
//
// Drifts beyond the allowed ones are compared as well, as far as a strong line reaches into what is
// allowed: of a line that lies there no neighbour is taken.
#ifndef BASEBAND_KERNELS_TIMING_MATH_LINE_MATH_H_
#define BASEBAND_KERNELS_TIMING_MATH_LINE_MATH_H_

#include <cmath>
#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/carrier/constellation.h"
#include "kernels/carrier/math/estimate_math.h"
#include "kernels/timing/math/pulse_math.h"
#include "kernels/timing/pulse.h"

namespace baseband::timing {

using carrier::Iq;

inline constexpr int kMinLinePoints = 64;
inline constexpr int kMaxLinePoints = 4096;
// Bins of a piece within the roll-off: with fewer the symbols make noise of their own.
inline constexpr double kBinsOfRolloff = 20.0;
inline constexpr double kMinPieceSymbols = 32.0;
inline constexpr int kGroupsOfRolloff = 8;

// Without a line q_s of overlapping pieces, and the bins that the weighting ties together, vary so
// many times as much as if all were independent: 1 + 2 / 36, the squared overlap of sin^2 with
// itself moved by half; 1 + 2 (2/3)^2 + 2 (1/6)^2, its spectrum's.
inline constexpr double kPieceOverlap = 1.0 + 2.0 / 36.0;
inline constexpr double kBinOverlap = 1.0 + 8.0 / 9.0 + 2.0 / 36.0;

// ln of how unlikely noise makes a line, over all clock errors: by itself, and if the carrier has
// locked on the symbols that followed.
inline constexpr double kSureLine = 11.5;
inline constexpr double kConfirmedLine = 6.0;
// A line this much weaker than a signal without noise has is another thing's: a rounding error's.
inline constexpr double kFaintLine = 0.03;
// Of so many pieces and more their scatter tells what noise makes of a line, too. One that rests on
// fewer pieces than an impulse lies in is no signal's.
inline constexpr int kScatterPieces = 8;
inline constexpr double kImpulsePieces = 2.5;
// A line beyond the allowed drifts is the true one if its `line` is this much more: within so many
// steps of a drift, half the width of a line each, and not beyond a drift that no clock has.
inline constexpr double kBeyondGain = 6.0;
inline constexpr int kMostBeyond = 24;
inline constexpr double kLastBeyond = 4e-3;
// A drift that lies so many deviations beyond the allowed ones breaks what was promised of it.
inline constexpr double kSureExcess = 5.0;
// What that makes at the frame's ends, symbols: with more the frame has no timing that is allowed.
inline constexpr double kMostSlip = 0.1;
// line of N symbols without noise, over N times the roll-off.
inline constexpr double kLineOfRolloff = 2.0 / 3.0;

// Centres that are compared around the strongest bin: so many to either side, so far apart.
inline constexpr int kCentreSteps = 4;
inline constexpr double kCentreStep = 1.0 / 16.0;  // of the roll-off
inline constexpr int kLineSteps = 4;               // of Newton's method, each time

// What pulse, rate and a frame's length come to.
struct LinePlan {
  int num_samples = 0;
  int samples = 2;  // P
  int symbols = 1;  // Q
  float rolloff = 0.0F;
  int points = kMinLinePoints;
  int window = 0;
  int num_pieces = 1;
  int rate_bins = 0;   // R
  double bin = 0.0;    // b
  int first_bin = 0;   // signed k of the first group's first bin
  int group_bins = 1;  // bins of a group
  int num_groups = 1;
  int last_centre = 0;  // spectrum centres i b, |i| <= this, are compared
  double max_clock_error = 0.0;
  double max_drift = 0.0;  // |e| of any clock error within +-max_clock_error
  int last_drift = 0;      // drifts i drift_step, |i| <= this, are compared
  double drift_step = 0.0;
  int num_beyond = 0;  // drifts +-(max_drift + i beyond_step), 1 <= i <= this, are compared
  double beyond_step = 0.0;

  BASEBAND_HOST_DEVICE int num_drifts() const { return 2 * (last_drift + num_beyond) + 1; }
  BASEBAND_HOST_DEVICE int64_t PieceStart(int piece) const {
    if (num_pieces == 1) return 0;
    return piece * static_cast<int64_t>(num_samples - window) / (num_pieces - 1);
  }
  // Time of its middle, symbols.
  BASEBAND_HOST_DEVICE double PieceTime(int piece) const {
    return (2.0 * static_cast<double>(PieceStart(piece)) + window - 1) * symbols / (2.0 * samples);
  }
  // Turns by which conj of a piece's line is turned so that its phase is T(u): u, but for whole
  // turns, less what R bins make from the piece's first sample to its middle.
  BASEBAND_HOST_DEVICE double PieceTurns(int piece) const {
    const int64_t halves = (2 * PieceStart(piece) + window - 1) * symbols;
    const auto period = static_cast<int64_t>(2) * samples;
    return static_cast<double>(halves % period) / static_cast<double>(period) -
           rate_bins * (window - 1.0) / (2.0 * points);
  }
  // Middle of group g, cycles per symbol.
  BASEBAND_HOST_DEVICE double GroupCentre(int g) const {
    return (first_bin + g * group_bins + 0.5 * (group_bins - 1) + 0.5 * rate_bins) * bin;
  }
  // How much of q a group is, for a signal at `centre`.
  BASEBAND_HOST_DEVICE float GroupWeight(int g, double centre) const {
    const auto off = static_cast<float>((GroupCentre(g) - centre) / static_cast<double>(rolloff));
    return fabsf(off) >= 0.5F ? 0.0F : cosf(static_cast<float>(kPi) * off);
  }
  BASEBAND_HOST_DEVICE int Wrapped(int k) const { return k & (points - 1); }
};

// sin^2 of a piece's sample.
BASEBAND_HOST_DEVICE inline float PieceWeight(int n, int window) {
  const float s =
      sinf(static_cast<float>(kPi) * (static_cast<float>(n) + 0.5F) / static_cast<float>(window));
  return s * s;
}

// `reach`: of the carrier's frequency, cycles per symbol.
BASEBAND_HOST_DEVICE inline LinePlan PlanLine(double rolloff, int samples, int symbols,
                                              double max_clock_error, double reach,
                                              int num_samples) {
  LinePlan plan;
  plan.num_samples = num_samples;
  plan.samples = samples;
  plan.symbols = symbols;
  plan.rolloff = static_cast<float>(rolloff);
  const double rate = static_cast<double>(samples) / symbols;
  const double wanted = fmax(kBinsOfRolloff / rolloff, kMinPieceSymbols) * rate;
  while (plan.points < wanted && plan.points < kMaxLinePoints && 4 * plan.points <= num_samples) {
    plan.points *= 2;
  }
  plan.window = num_samples < plan.points ? num_samples : plan.points;
  const int hop = plan.points / 2;
  plan.num_pieces =
      num_samples <= plan.points ? 1 : (num_samples - plan.points + hop - 1) / hop + 1;
  plan.rate_bins = static_cast<int>(rint(plan.points / rate));
  plan.bin = rate / plan.points;
  const double half = reach + 0.5 * rolloff;
  plan.first_bin = static_cast<int>(ceil(-half / plan.bin - 0.5 * plan.rate_bins));
  const int last_bin = static_cast<int>(floor(half / plan.bin - 0.5 * plan.rate_bins));
  int bins = last_bin - plan.first_bin + 1;
  if (bins > plan.points) bins = plan.points;
  plan.group_bins = static_cast<int>(rolloff / (kGroupsOfRolloff * plan.bin));
  if (plan.group_bins < 1) plan.group_bins = 1;
  plan.num_groups = (bins + plan.group_bins - 1) / plan.group_bins;
  plan.last_centre = static_cast<int>(floor(reach / plan.bin));
  plan.max_clock_error = max_clock_error;
  plan.max_drift = max_clock_error / (1.0 - max_clock_error);  // of the negative one
  const double length = plan.PieceTime(plan.num_pieces - 1) - plan.PieceTime(0);
  if (!(length > 0.0)) return plan;
  plan.beyond_step = 0.5 / length;
  const double most = (kLastBeyond - plan.max_drift) / plan.beyond_step;
  plan.num_beyond = most < kMostBeyond ? static_cast<int>(most) : kMostBeyond;
  if (max_clock_error > 0.0) {
    plan.drift_step = plan.beyond_step;
    // The least positive numbers' quotient may be rounded to 0.
    plan.last_drift = static_cast<int>(fmax(ceil(plan.max_drift / plan.drift_step), 1.0));
    plan.drift_step = plan.max_drift / plan.last_drift;
  }
  return plan;
}

// ---- What is done with a frame's sums ------------------------------------------------------

// Sums over the pieces of q_s exp(-j 2 pi T(u_s)), u from the frame's middle.
struct LineSums {
  double along = 0.0;         // real parts
  double across[2] = {};      // imaginary ones; times u
  double moments[3] = {};     // real parts; times u; times u^2
  double square = 0.0;        // squared imaginary parts
  double along_square = 0.0;  // squared real ones

  BASEBAND_HOST_DEVICE void Add(double re, double im, double u) {
    along += re;
    across[0] += im;
    across[1] += im * u;
    moments[0] += re;
    moments[1] += re * u;
    moments[2] += re * u * u;
    square += im * im;
    along_square += re * re;
  }
};

// The line, T(u) = middle + drift (u - frame's middle) in symbols.
struct TimingLine {
  double middle = 0.0;
  double drift = 0.0;
  double middle_variance = 0.0;
  double drift_variance = 0.0;
  double excess = 0.0;  // by how much the best drift lies beyond +-max_drift
};

// A step of Newton's method to where the coherent sum is greatest. The drift stays within
// +-max_drift; with one piece it stays 0.
BASEBAND_HOST_DEVICE inline void StepLine(const LineSums& sums, double max_drift,
                                          TimingLine* line) {
  const double* const m = sums.moments;
  line->excess = 0.0;
  if (!(m[0] > 0.0)) return;
  const double turn = 1.0 / (2.0 * kPi);
  double middle = sums.across[0] / m[0] * turn;
  const double spread = m[2] - m[1] * m[1] / m[0];
  if (spread > 1e-9 * m[2]) {
    const double wanted =
        line->drift + (sums.across[1] - sums.across[0] * m[1] / m[0]) / spread * turn;
    const double drift = fmin(fmax(wanted, -max_drift), max_drift);
    middle -= (drift - line->drift) * m[1] / m[0];
    line->drift = drift;
    line->excess = fabs(wanted - drift);
  }
  line->middle += middle;
}

// What speaks for a settled line, and against it.
struct LineEvidence {
  double lambda = 0.0;  // Result::line
  bool faint = false;   // weaker than kFaintLine of a signal's
  bool lone = false;    // it rests on the pieces of an impulse
  bool beyond = false;  // a drift that is not allowed gives a stronger one
};

// Whether a line beyond the allowed drifts would matter: without one within them there is none.
BASEBAND_HOST_DEVICE inline bool AsksBeyond(const LineSums& sums, double unlikely) {
  return sums.along * sums.along >= kConfirmedLine * unlikely;
}

// `energy`: E(centre) over the pieces; `unlikely`: the mean of the line's power without a line;
// `beyond`: the greatest power at a drift beyond the allowed ones, or 0.
BASEBAND_HOST_DEVICE inline LineEvidence WeighLine(const LinePlan& plan, const LineSums& sums,
                                                   double energy, double unlikely, double beyond) {
  LineEvidence evidence;
  const double pieces = plan.num_pieces;
  const double power = sums.along * sums.along;
  evidence.faint = !(fabs(sums.along) >=
                     kFaintLine * 0.25 * static_cast<double>(plan.rolloff) * pieces * energy);
  if (!(unlikely > 0.0)) return evidence;
  evidence.lambda = power / unlikely;
  evidence.beyond = beyond - power > kBeyondGain * unlikely;
  if (plan.num_pieces >= kScatterPieces) {
    const double scatter = 2.0 * kPieceOverlap * sums.square;
    if (scatter > unlikely) evidence.lambda = power / scatter;
    // Of the real parts' squares noise has as much as of the imaginary ones'.
    const double of_line = fmax(sums.along_square - sums.square, 0.0);
    evidence.lone = power < kImpulsePieces * of_line;
  }
  return evidence;
}

// Variances of a settled line by how its pieces scatter; of few pieces, by how far the line stands
// out. Never above those of what may be anything within a symbol and +-max_drift. An excess that is
// not sure is none.
BASEBAND_HOST_DEVICE inline void JudgeLine(const LineSums& sums, int num_pieces, double lambda,
                                           double max_drift, TimingLine* line) {
  const double turns = 4.0 * kPi * kPi;
  double variance = 0.5 / fmax(lambda, 1e-3);
  if (num_pieces >= kScatterPieces && sums.along > 0.0) {
    variance = kPieceOverlap * sums.square / (sums.along * sums.along);
  }
  const double unknown = 1.0 / 12.0;
  const double unknown_drift = max_drift * max_drift / 3.0;
  line->middle_variance = fmin(variance / turns, unknown);
  const double spread =
      sums.moments[0] > 0.0
          ? (sums.moments[2] - sums.moments[1] * sums.moments[1] / sums.moments[0]) /
                sums.moments[0]
          : 0.0;
  line->drift_variance = unknown_drift;
  if (spread > 0.0) {
    const double drift_variance = variance / turns / spread;
    line->drift_variance = fmin(drift_variance, unknown_drift);
    if (line->excess * line->excess < kSureExcess * kSureExcess * drift_variance) {
      line->excess = 0.0;
    }
  }
}

// How far a line has to stand out, for all drifts that were compared.
BASEBAND_HOST_DEVICE inline double LineThreshold(const LinePlan& plan, double sure) {
  return sure + log(1.0 + plan.last_drift);
}

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_MATH_LINE_MATH_H_
