// The formulas of RecoverCarrier, for both devices: what is computed for one symbol, and what is
// done with the sums over a frame. Read with model.h (the tables) and recover.h (what is wanted).
//
// A frame goes through these stages; `c` is its centre (N - 1) / 2, and every phase inside is that
// at the centre, where its error and the frequency's are independent of each other.
//
// S1 read. r_n; its mean square m2; the histogram of |r_n| / sqrt(m2) over all symbols. With an
//   expected SNR that, else SnrOfAmplitudes, gives table, noise and gain (SetSnr).
// S2 line (line_math.h). x_n = LineSample(r_n), or r_n conj(known_n) / gain, 0 where nothing is
//   known; E = sum |x_n|^2; FFT of L points -> F_k. Coarse::kNone has no FFT.
// S3 peaks. Half bin 2k is |F_k|^2, 2k + 1 what HalfBin (of known symbols:
//   HalfBinOfKnown) makes of F_k and F_{k+1}; those within
//   +-max_frequency count. kPeaks times (kKnownPeaks for Coarse::kKnown): the greatest that is
//   further than PeakReach from those before. From each, with nu its frequency, the sums
//   over blocks (LineBlock) and kLineSteps times LineStep: nu + delta / L, power and phase of the
//   line there. Not for those that would be below the first by kDoubt even so, that is with
//   lambda of the half bin / kHalfBinShare. Coarse::kNone: nu = 0 and no steps.
// S4 hypotheses. The peaks within kDoubt of the best and their branches, (phase + m) / p turns,
//   0 <= m < p / q; with known symbols m < p; for Coarse::kKnown p = 1. CoarseFit of each over the
//   symbols, in the table BluntTable; the greatest stays, and whether another peak or branch came
//   within kClose. All but Fine::kInterpolate and kRemodulate: frequency = the stronger of the two
//   whole bins around the line, and its phase follows the line's from the peak to there.
// S5 fine. kRemodulate: as long as BluntTable is below the table, and kMaxBluntRounds times at
//   most, FitSums in that and TakeStep by BluntInformation, after which BluntTable is what
//   StepVariance makes it and, if the step was below 1, one more than before at least. Then up to
//   kMaxRounds times FitSums, TakeStep, UpdateNoise. The others settle frequency and phase first
//   (kSweep: sweep_math.h, kPll: pll_math.h), then the same rounds without steps. The sums of the
//   last are what is judged.
// S6 judge (judge_math.h). Hard decisions of the last estimate, covariance, lock.
//
// Sums over symbols are float32 over blocks of at most 128, double above: the devices differ in the
// order, and so by rounding, no more.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_RECOVER_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_RECOVER_MATH_H_

#include <cmath>
#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/carrier/constellation/nearest.h"
#include "kernels/carrier/model.h"

namespace baseband::carrier {

inline constexpr double kTurn = 6.283185307179586476925;  // radians

inline constexpr int kMinFftPoints = 64;
inline constexpr int kPeaks = 4;
// Periodic pilots have side peaks within 0.5 % of each other, and half bins lose up to 11 %.
inline constexpr int kKnownPeaks = 16;
inline constexpr int kMaxLineBlocks = 64;
inline constexpr int kLineSteps = 4;
// The half bin nearest to a line has at least this part of its power (0.887 for N = L).
inline constexpr float kHalfBinShare = 0.85F;
// Peaks are compared as lambda = |X|^2 / sum |x|^2, about the log-likelihood of a line there. One
// that is this far below the best is not looked at again.
inline constexpr float kDoubt = 15.0F;
// S4 goes over the symbols in passes, pass j taking the groups of kFitGroup symbols whose number is
// j modulo kFitPasses. After each, hypotheses that lie kDropped nats or more behind the best are
// dropped (that a true one ever does has a probability of exp(-kDropped)); one alone is not summed.
inline constexpr int kFitPasses = 16;
inline constexpr int kFitGroup = 64;
inline constexpr float kDropped = 24.0F;
inline constexpr int kMaxRounds = 8;
inline constexpr int kMaxBluntRounds = 8;
struct alignas(8) Turned {
  float c = 1.0F;
  float s = 0.0F;
};

// cos and sin of 2 pi `turns`, within 1e-7. The same formula on both devices.
BASEBAND_HOST_DEVICE inline Turned Turn(double turns) {
  const double quarters = 4.0 * (turns - rint(turns));  // [-2, 2]
  const double nearest = rint(quarters);
  const auto x = static_cast<float>((quarters - nearest) * (kTurn / 4));  // [-pi / 4, pi / 4]
  const float y = x * x;
  // Taylor: the first term left out is below 3e-8 (sine: x^11 / 11!, cosine: x^10 / 10!).
  const float sine =
      x *
      fmaf(y, fmaf(y, fmaf(y, fmaf(y, 2.7557319e-6F, -1.9841270e-4F), 8.3333333e-3F), -0.16666667F),
           1.0F);
  const float cosine =
      fmaf(y, fmaf(y, fmaf(y, fmaf(y, 2.4801587e-5F, -1.3888889e-3F), 4.1666667e-2F), -0.5F), 1.0F);
  switch (static_cast<int>(nearest) & 3) {
    case 0:
      return {cosine, sine};
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    default:
      return {sine, -cosine};
  }
}

// What is believed of a frame while it is being recovered.
struct Estimate {
  double frequency = 0.0;  // cycles per symbol
  double phase = 0.0;      // turns, at the frame's centre
  double gain = 1.0;       // A
  double noise = 1.0;      // s2 for A = 1
  int table = 0;           // SNR index of the model's tables

  // The turns by which symbol n is to be turned back.
  BASEBAND_HOST_DEVICE double TurnsAt(double n_minus_centre) const {
    return frequency * n_minus_centre + phase;
  }
};

// ---- S1: SNR and gain ----------------------------------------------------------------------

BASEBAND_HOST_DEVICE inline int AmplitudeBin(float magnitude, float inverse_rms) {
  const float bin = magnitude * inverse_rms * (kAmplitudeBins / kAmplitudeExtent);
  return static_cast<int>(fminf(bin, kAmplitudeBins - 1.0F));
}

BASEBAND_HOST_DEVICE inline int TableOf(const ModelView& view, double snr_db) {
  const double k = rint((snr_db - view.facts[0].snr_db) / kSnrStepDb);
  return static_cast<int>(fmin(fmax(k, 0.0), view.num_snrs - 1.0));
}

// The SNR that makes the amplitudes likeliest, dB: a parabola through the best of the
// log-likelihoods log_likelihood[k] = sum over bins of histogram[bin] * view.amplitude[k][bin] and
// its neighbours.
BASEBAND_HOST_DEVICE inline double SnrOfAmplitudes(const ModelView& view,
                                                   const double* log_likelihood) {
  int best = 0;
  for (int k = 1; k < view.num_snrs; ++k) {
    if (log_likelihood[k] > log_likelihood[best]) best = k;
  }
  double offset = 0.0;
  if (best > 0 && best + 1 < view.num_snrs) {
    const double left = log_likelihood[best - 1];
    const double right = log_likelihood[best + 1];
    const double bend = left - 2.0 * log_likelihood[best] + right;
    if (bend < 0.0) offset = 0.5 * (left - right) / bend;
  }
  return view.facts[best].snr_db + kSnrStepDb * offset;
}

// Gain, noise and table for a given SNR, from the mean square of the received symbols.
BASEBAND_HOST_DEVICE inline void SetSnr(const ModelView& view, double mean_square, double snr_db,
                                        Estimate* estimate) {
  estimate->noise = pow(10.0, -0.1 * snr_db);
  estimate->gain = sqrt(mean_square / (1.0 + estimate->noise));
  estimate->table = TableOf(view, snr_db);
}

// ---- S4 and S5: a symbol against the soft table ----------------------------------------------

// A symmetric matrix for (phase at the centre in radians, radians gained over N symbols).
struct Information {
  double phase = 0.0;
  double cross = 0.0;
  double slope = 0.0;
  BASEBAND_HOST_DEVICE double determinant() const { return phase * slope - cross * cross; }
};

// The table for hypotheses and for first steps. Far from the truth the likelihood of a dense
// constellation has maxima of its own, 1 / sqrt(J) wide; that of a table for more noise has fewer
// and wider ones. So: the sharpest table, up to `table`, that sees `variance`, that of the phase at
// the frame's ends, as less than kSharpness.
inline constexpr double kSharpness = 0.03;
BASEBAND_HOST_DEVICE inline int BluntTable(const ModelView& view, int table, double variance) {
  while (table > 0 && view.facts[table].information * variance > kSharpness) --table;
  return table;
}
// What a line leaves open, by its lambda.
BASEBAND_HOST_DEVICE inline double LineVariance(double lambda, int num_symbols, int line_power) {
  const double unlike = fmax(1.0 - lambda / num_symbols, 0.0);
  return 2.0 * unlike / (fmax(lambda, 1.0) * line_power * line_power);
}
// What a Newton step with this information leaves.
BASEBAND_HOST_DEVICE inline double StepVariance(const Information& information) {
  return 4.0 / fmax(information.phase, 1e-6);
}

// Where a coordinate (|i| if folded) falls between the nodes along its axis.
struct NodePlace {
  int cell = 0;
  float t = 0.0F;       // from node `cell` to the next
  float inside = 1.0F;  // 0 where the coordinate was clamped: soft does not change with it
};
BASEBAND_HOST_DEVICE inline NodePlace PlaceOf(const ModelView& view, int table, float coordinate) {
  const SnrFacts& facts = view.facts[table];
  const float node = (coordinate - facts.origin) * facts.nodes_per_unit;
  const float clamped = fminf(fmaxf(node, 0.0F), static_cast<float>(view.side - 1));
  const float first = fminf(floorf(clamped), static_cast<float>(view.side - 2));
  return {static_cast<int>(first), clamped - first, node == clamped ? 1.0F : 0.0F};
}

// What a symbol says of the sent point, and how that changes as z turns.
struct SoftRead {
  Iq soft;
  Iq turning;  // derivative of soft to the angle of z
  float fit = 0.0F;
  float energy = 0.0F;
};
BASEBAND_HOST_DEVICE inline SoftRead ReadSoft(const ModelView& view, int table, Iq z) {
  const bool folded = view.folded != 0;
  const float sign_i = folded && z.i < 0.0F ? -1.0F : 1.0F;
  const float sign_q = folded && z.q < 0.0F ? -1.0F : 1.0F;
  const NodePlace i = PlaceOf(view, table, sign_i * z.i);
  const NodePlace q = PlaceOf(view, table, sign_q * z.q);
  const SoftNode* const low =
      view.soft + (static_cast<int64_t>(table) * view.side + q.cell) * view.side + i.cell;
  const SoftNode* const high = low + view.side;
  // Along i on both rows, then along q.
  const auto lerp = [](float t, float a, float b) { return fmaf(t, b - a, a); };
  const auto across = [&](float a, float b, float c, float d) {
    return lerp(q.t, lerp(i.t, a, b), lerp(i.t, c, d));
  };
  const float di =
      -sign_i * z.q * i.inside * view.facts[table].nodes_per_unit;  // d|i| to the angle, in nodes
  const float dq = sign_q * z.i * q.inside * view.facts[table].nodes_per_unit;
  const auto slope = [&](float a, float b, float c, float d) {
    const float along_i = lerp(q.t, b - a, d - c);
    const float along_q = lerp(i.t, c - a, d - b);
    return fmaf(di, along_i, dq * along_q);
  };
  SoftRead read;
  read.soft.i = sign_i * across(low[0].i, low[1].i, high[0].i, high[1].i);
  read.soft.q = sign_q * across(low[0].q, low[1].q, high[0].q, high[1].q);
  read.turning.i = sign_i * slope(low[0].i, low[1].i, high[0].i, high[1].i);
  read.turning.q = sign_q * slope(low[0].q, low[1].q, high[0].q, high[1].q);
  read.fit = across(low[0].fit, low[1].fit, high[0].fit, high[1].fit);
  read.energy = across(low[0].energy, low[1].energy, high[0].energy, high[1].energy);
  return read;
}

// `fit` alone, for hypotheses. (That of the nearest node would be off by several nats a frame.)
BASEBAND_HOST_DEVICE inline float CoarseFit(const ModelView& view, int table, Iq z) {
  const bool folded = view.folded != 0;
  const NodePlace i = PlaceOf(view, table, folded ? fabsf(z.i) : z.i);
  const NodePlace q = PlaceOf(view, table, folded ? fabsf(z.q) : z.q);
  const SoftNode* const low =
      view.soft + (static_cast<int64_t>(table) * view.side + q.cell) * view.side + i.cell;
  const SoftNode* const high = low + view.side;
  const float below = fmaf(i.t, low[1].fit - low[0].fit, low[0].fit);
  const float above = fmaf(i.t, high[1].fit - high[0].fit, high[0].fit);
  return fmaf(q.t, above - below, below);
}

// The same for a symbol that is known, but for a term that does not depend on phase or frequency.
BASEBAND_HOST_DEVICE inline float CoarseFitKnown(float two_over_noise, Iq z, Iq known) {
  return two_over_noise * fmaf(z.i, known.i, z.q * known.q);
}

// ln I0(x), x >= 0, within 2e-7 of I0 (Abramowitz and Stegun 9.8.1, 9.8.2).
BASEBAND_HOST_DEVICE inline float LnBesselI0(float x) {
  if (x < 3.75F) {
    const float y = x * x * (1.0F / 14.0625F);
    float s = fmaf(y, 0.0045813F, 0.0360768F);
    s = fmaf(y, s, 0.2659732F);
    s = fmaf(y, s, 1.2067492F);
    s = fmaf(y, s, 3.0899424F);
    s = fmaf(y, s, 3.5156229F);
    return log1pf(y * s);
  }
  const float y = 3.75F / x;
  float s = fmaf(y, 0.00392377F, -0.01647633F);
  s = fmaf(y, s, 0.02635537F);
  s = fmaf(y, s, -0.02057706F);
  s = fmaf(y, s, 0.00916281F);
  s = fmaf(y, s, -0.00157565F);
  s = fmaf(y, s, 0.00225319F);
  s = fmaf(y, s, 0.01328592F);
  s = fmaf(y, s, 0.39894228F);
  return x + logf(s / sqrtf(x));
}

// A known symbol in the place of what the table says: soft = sent, whatever z is.
BASEBAND_HOST_DEVICE inline SoftRead ReadKnown(float two_over_noise, Iq z, Iq known) {
  SoftRead read;
  read.soft = known;
  read.energy = fmaf(known.i, known.i, known.q * known.q);
  const float product = sqrtf(fmaf(z.i, z.i, z.q * z.q) * read.energy);
  read.fit = CoarseFitKnown(two_over_noise, z, known) - LnBesselI0(two_over_noise * product);
  return read;
}

// Sums over the symbols at one estimate, t = (n - c) / N. In a block float, in a frame double.
template <typename Number>
struct FitSums {
  Number score[2] = {};      // g, t g: g = slope of ln p to the phase
  Number curvature[3] = {};  // h, t h, t^2 h: h = -(slope of g to the phase)
  Number square[3] = {};     // g^2, t g^2, t^2 g^2
  Number projection = 0;     // Re(z conj(soft))
  Number energy = 0;         // |s|^2 as expected
  Number power = 0;          // |z|^2
  Number fit = 0;

  template <typename Other>
  BASEBAND_HOST_DEVICE void Add(const FitSums<Other>& other) {
    for (int k = 0; k < 2; ++k) score[k] += other.score[k];
    for (int k = 0; k < 3; ++k) curvature[k] += other.curvature[k];
    for (int k = 0; k < 3; ++k) square[k] += other.square[k];
    projection += other.projection;
    energy += other.energy;
    power += other.power;
    fit += other.fit;
  }
};

// `two_over_noise` is 2 / facts[table].noise: the table's noise, not the estimate's.
BASEBAND_HOST_DEVICE inline void AddSymbol(float two_over_noise, Iq z, float t,
                                           const SoftRead& read, FitSums<float>* sums) {
  const Iq s = read.soft;
  const float along = fmaf(z.i, s.i, z.q * s.q);
  const float g = two_over_noise * fmaf(z.q, s.i, -z.i * s.q);
  const float h = two_over_noise * (along + fmaf(z.q, read.turning.i, -z.i * read.turning.q));
  sums->score[0] += g;
  sums->score[1] = fmaf(t, g, sums->score[1]);
  sums->curvature[0] += h;
  sums->curvature[1] = fmaf(t, h, sums->curvature[1]);
  sums->curvature[2] = fmaf(t * t, h, sums->curvature[2]);
  const float gg = g * g;
  sums->square[0] += gg;
  sums->square[1] = fmaf(t, gg, sums->square[1]);
  sums->square[2] = fmaf(t * t, gg, sums->square[2]);
  sums->projection += along;
  sums->energy += read.energy;
  sums->power = fmaf(z.i, z.i, fmaf(z.q, z.q, sums->power));
  sums->fit += read.fit;
}

// The known symbols of a frame: sums of |s|^2 times 1, t, t^2.
struct KnownMoments {
  double energy[3] = {};
  int count = 0;
};

// What `num_symbols` should tell, by the model.
BASEBAND_HOST_DEVICE inline Information ExpectedInformation(const SnrFacts& facts,
                                                            const KnownMoments& known,
                                                            int num_symbols) {
  const double blind = static_cast<double>(facts.information) * (num_symbols - known.count);
  const double per_energy = 2.0 / facts.noise;
  return {blind + per_energy * known.energy[0], per_energy * known.energy[1],
          blind / 12.0 + per_energy * known.energy[2]};
}

// The curvature that was measured or, where the frame is so short or the estimate so far off that
// it says less than a quarter of what it should, the expected one.
BASEBAND_HOST_DEVICE inline Information UsedInformation(const FitSums<double>& sums,
                                                        const Information& expected) {
  const Information measured = {sums.curvature[0], sums.curvature[1], sums.curvature[2]};
  const bool sound = measured.phase > 0.25 * expected.phase &&
                     measured.slope > 0.25 * expected.slope &&
                     measured.determinant() > 0.0625 * expected.determinant();
  return sound ? measured : expected;
}

// Far off, the curvature may be less than it is on the way to the maximum: a Newton step would pass
// it, and from side to side not come nearer. With soft decisions that stay as they are the
// curvature is 2 / noise * projection, and by that (the M step of expectation-maximisation;
// Dempster, Laird and Rubin 1977) no step makes the fit worse; half of it is fast and safe enough
// for first steps.
BASEBAND_HOST_DEVICE inline Information BluntInformation(const FitSums<double>& sums,
                                                         const SnrFacts& facts,
                                                         const Information& used) {
  const double least = sums.projection / facts.noise;
  return used.phase < least ? Information{least, 0.0, least / 12.0} : used;
}

// Radians, and radians gained over N symbols.
struct NewtonStep {
  double phase = 0.0;
  double slope = 0.0;

  BASEBAND_HOST_DEVICE double Dot(const NewtonStep& other, const Information& information) const {
    return phase * other.phase * information.phase + slope * other.slope * information.slope;
  }
};

// The step to the maximum of the likelihood, as a whole no longer than `limit_radians` at the
// frame's ends. `last`: the step before, or none. One that turns back by a share of that went too
// far, and so would this one: what a geometric series of them comes to is the step / (1 + share)
// (Aitken's extrapolation).
BASEBAND_HOST_DEVICE inline NewtonStep NextStep(const FitSums<double>& sums,
                                                const Information& information,
                                                double limit_radians, const NewtonStep& last) {
  NewtonStep step;
  step.phase = information.phase > 0.0 ? sums.score[0] / information.phase : 0.0;
  const double determinant = information.determinant();
  if (determinant > 1e-9 * information.phase * information.slope) {
    step.phase =
        (information.slope * sums.score[0] - information.cross * sums.score[1]) / determinant;
    step.slope =
        (information.phase * sums.score[1] - information.cross * sums.score[0]) / determinant;
  }
  const double length = fabs(step.phase) + 0.5 * fabs(step.slope);
  double share = length > limit_radians ? limit_radians / length : 1.0;
  const double back = -share * step.Dot(last, information);
  if (back > 0.0) share /= 1.0 + back / last.Dot(last, information);
  step.phase *= share;
  step.slope *= share;
  return step;
}

// Takes NextStep, and remembers it as the last. Returns its length in standard deviations.
BASEBAND_HOST_DEVICE inline double TakeStep(const FitSums<double>& sums,
                                            const Information& information, double limit_radians,
                                            int num_symbols, NewtonStep* last, Estimate* estimate) {
  *last = NextStep(sums, information, limit_radians, *last);
  estimate->phase += last->phase / kTurn;
  estimate->frequency += last->slope / (kTurn * num_symbols);
  return sqrt(last->Dot(*last, information));
}

// Whether a round from one estimate to another is the last: its step is below kLastStep standard
// deviations, of which it leaves 0.03 or less as a rule, for Newton's steps converge quadratically,
// and gain and noise were right. Or it is below kSmallStep and the noise is one table off at most.
inline constexpr double kLastStep = 1.0;
inline constexpr double kSmallStep = 0.25;
// To this part of it: 0.4 dB, a fifth of the way from table to table. Chosen by trial, not derived:
// with 0.1 a frame of the tests, 64QAM at 2 dB, ended before its noise was right.
inline constexpr double kNoiseIsRight = 0.09;
BASEBAND_HOST_DEVICE inline bool IsLastRound(double step, const Estimate& from,
                                             const Estimate& to) {
  const int tables = to.table > from.table ? to.table - from.table : from.table - to.table;
  return (step < kLastStep && fabs(to.noise - from.noise) < kNoiseIsRight * from.noise) ||
         (step < kSmallStep && tables <= 1);
}

// By how much a step of this many standard deviations raises the fit. (A long one is not the last.)
BASEBAND_HOST_DEVICE inline double GainOfStep(double step) { return 0.5 * step * step; }

// How far a step may go: a quarter of the distance between the branches.
BASEBAND_HOST_DEVICE inline double StepLimit(int branches_per_turn) {
  return kTurn / 4 / branches_per_turn;
}

// The noise that was there, from what the soft decisions of a table for another noise left of it:
// ln s2 - ln table = (ln seen - ln table) / response. The known share of the symbols hides nothing.
BASEBAND_HOST_DEVICE inline double NoiseOf(const SnrFacts& facts, double seen, double known_share) {
  const double response = facts.noise_response + (1.0 - facts.noise_response) * known_share;
  const double ratio = fmin(fmax(seen / facts.noise, 1e-6), 1e6);
  return facts.noise * pow(ratio, 1.0 / fmax(response, 0.3));
}

// Gain, noise and table after a round.
BASEBAND_HOST_DEVICE inline void UpdateNoise(const ModelView& view, const FitSums<double>& sums,
                                             const KnownMoments& known, int num_symbols,
                                             Estimate* estimate) {
  if (!(sums.projection > 0.0) || !(sums.energy > 0.0)) return;  // nothing fits: keep what there is
  const double gain = sums.projection / sums.energy;
  const double left = fmax(sums.power - gain * sums.projection, 0.0) / num_symbols;
  const double known_share = static_cast<double>(known.count) / num_symbols;
  const double noise = NoiseOf(view.facts[estimate->table], left / (gain * gain), known_share);
  estimate->gain *= gain;
  estimate->noise = fmin(fmax(noise, 1e-6), 1e3);
  estimate->table = TableOf(view, -10.0 * log10(estimate->noise));
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_RECOVER_MATH_H_
