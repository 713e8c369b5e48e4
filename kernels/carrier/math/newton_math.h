// Stage S5 of recover_math.h: a frame's sums over its symbols, and the steps to the maximum of the
// likelihood. For both devices.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_NEWTON_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_NEWTON_MATH_H_

#include <cmath>
#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/carrier/math/estimate_math.h"
#include "kernels/carrier/math/soft_math.h"
#include "kernels/carrier/model.h"

namespace baseband::carrier {

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

// Sums over the symbols at one estimate, t = (n - c) / N. In a block float, in a frame double.
template <typename Number>
struct FitSums {
  Number score[2] = {};      // g, t g: g = slope of ln p to the phase
  Number curvature[3] = {};  // h, t h, t^2 h: h = -(slope of g to the phase)
  Number square[3] = {};     // g^2, t g^2, t^2 g^2
  // |z|^2, Re(z conj(soft)) and the expected |s|^2 differ by the noise. Added up as differences: of
  // sums of a hundred thousandth more than it, rounding would leave a percent of it.
  Number projection = 0;  // Re(z conj(soft))
  Number residue = 0;     // |z|^2 - Re(z conj(soft)) = Re(z conj(z - soft))
  Number excess = 0;      // |s|^2 as expected - Re(z conj(soft))
  Number fit = 0;

  template <typename Other>
  BASEBAND_HOST_DEVICE void Add(const FitSums<Other>& other) {
    for (int k = 0; k < 2; ++k) score[k] += other.score[k];
    for (int k = 0; k < 3; ++k) curvature[k] += other.curvature[k];
    for (int k = 0; k < 3; ++k) square[k] += other.square[k];
    projection += other.projection;
    residue += other.residue;
    excess += other.excess;
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
  sums->residue = fmaf(z.i, z.i - s.i, fmaf(z.q, z.q - s.q, sums->residue));
  sums->excess += read.energy - along;
  sums->fit += read.fit;
}

// The known symbols of a frame: sums of |s|^2 times 1, t, t^2, and of ln |s|^2.
struct KnownMoments {
  double energy[3] = {};
  double log_energy = 0.0;
  int count = 0;

  // A known symbol, which is not 0; `t`: its place from the frame's centre, of the frame.
  void Add(const Iq& symbol, double t) {
    const double e = double{symbol.i} * symbol.i + double{symbol.q} * symbol.q;
    energy[0] += e;
    energy[1] += t * e;
    energy[2] += t * t * e;
    log_energy += std::log(e);
    ++count;
  }
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
  return facts.noise * exp(log(ratio) / fmax(response, 0.3));
}

// The gain that soft decisions of the estimate's table see where there is another noise, as a share
// of what it is. Further than to the next table it is not followed, and not beyond the last.
inline constexpr double kMaxLnOff = 0.25;  // 1.1 dB
BASEBAND_HOST_DEVICE inline double GainSeen(const ModelView& view, int table, double noise,
                                            double known_share) {
  const SnrFacts& facts = view.facts[table];
  const double least = table + 1 < view.num_snrs ? -kMaxLnOff : 0.0;
  const double off = fmin(fmax(log(noise / static_cast<double>(facts.noise)), least), kMaxLnOff);
  return 1.0 + (1.0 - known_share) * static_cast<double>(facts.gain_response) * off;
}

// Gain, noise and table after a round.
BASEBAND_HOST_DEVICE inline void UpdateNoise(const ModelView& view, const FitSums<double>& sums,
                                             const KnownMoments& known, int num_symbols,
                                             Estimate* estimate) {
  const double energy = sums.projection + sums.excess;
  if (!(sums.projection > 0.0) || !(energy > 0.0)) return;  // nothing fits: keep what there is
  const double gain = sums.projection / energy;
  // The sum of |z|^2 - gain Re(z conj(soft)).
  const double left = fmax(sums.residue + gain * sums.excess, 0.0) / num_symbols;
  const double known_share = static_cast<double>(known.count) / num_symbols;
  const double noise = NoiseOf(view.facts[estimate->table], left / (gain * gain), known_share);
  estimate->noise = fmin(fmax(noise, 1e-6), 1e3);
  estimate->gain *= gain / GainSeen(view, estimate->table, estimate->noise, known_share);
  estimate->table = TableOf(view, -10.0 * log10(estimate->noise));
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_NEWTON_MATH_H_
