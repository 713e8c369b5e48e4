// What is predicted of an estimate's errors. For both devices.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_COVARIANCE_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_COVARIANCE_MATH_H_

#include <cmath>

#include "kernels/base/host_device.h"
#include "kernels/carrier/math/line_math.h"
#include "kernels/carrier/math/newton_math.h"
#include "kernels/carrier/math/stray_math.h"
#include "kernels/carrier/recover.h"

namespace baseband::carrier {

// Variances; of the phase in radians at the centre, and of the radians gained over N symbols.
struct Covariance {
  double phase = 0.0;
  double cross = 0.0;
  double slope = 0.0;
};

// Of the frequency, cycles per symbol.
BASEBAND_HOST_DEVICE inline double FrequencyDeviation(const Covariance& covariance,
                                                      int num_symbols) {
  return sqrt(covariance.slope) / (kTurn * num_symbols);
}

// Of the root of a score with these `information` (its slope) and `square` (its own covariance), as
// that of a maximum-likelihood estimate whose model is not quite right.
BASEBAND_HOST_DEVICE inline Covariance Sandwich(const Information& information,
                                                const double* square) {
  Covariance covariance;
  const double det = information.determinant();
  if (!(det > 1e-9 * information.phase * information.slope)) {
    if (information.phase > 0.0) {
      covariance.phase = square[0] / (information.phase * information.phase);
    }
    return covariance;
  }
  const double a = information.slope / det;  // the inverse: a, b; b, c
  const double b = -information.cross / det;
  const double c = information.phase / det;
  covariance.phase = a * a * square[0] + 2.0 * a * b * square[1] + b * b * square[2];
  covariance.cross = a * b * square[0] + (a * c + b * b) * square[1] + b * c * square[2];
  covariance.slope = b * b * square[0] + 2.0 * b * c * square[1] + c * c * square[2];
  return covariance;
}

// Of the line itself, from its blocks at nu + delta / L: only noise across the line turns it. Added
// up over the blocks; `turn` as in LineAt::Add, `phase` the line's own, t = LineBlockCentre / N.
struct LineSpread {
  Information information;
  double square[3] = {};

  BASEBAND_HOST_DEVICE void Add(const LineBlock& block, Turned turn, Turned phase, double t) {
    const double c = static_cast<double>(turn.c) * phase.c - static_cast<double>(turn.s) * phase.s;
    const double s = static_cast<double>(turn.s) * phase.c + static_cast<double>(turn.c) * phase.s;
    const double along = block.sum.i * c + block.sum.q * s;
    const double twice =
        block.square.i * (c * c - s * s) + block.square.q * 2.0 * s * c;  // Re(y^2 conj(turn^2))
    const double across = 0.5 * (block.energy - twice);  // of the squares of the quadrature part
    information.phase += along;
    information.cross += t * along;
    information.slope += t * t * along;
    square[0] += across;
    square[1] += t * across;
    square[2] += t * t * across;
  }
  // `power` of the line: the carrier's angles are the line's divided by it.
  BASEBAND_HOST_DEVICE Covariance OfCarrier(int power) const {
    Covariance covariance = Sandwich(information, square);
    const double scale = 1.0 / (static_cast<double>(power) * power);
    covariance.phase *= scale;
    covariance.cross *= scale;
    covariance.slope *= scale;
    return covariance;
  }
};

// Of a line of known symbols, which may be few: a line through two leaves no residuals, through a
// few not enough to tell the noise by. That of all symbols, `noise`, makes of the known ones what
// is known of maximum likelihood; neither phase nor slope is surer than that. A single one tells
// nothing of the slope: half a turn.
BASEBAND_HOST_DEVICE inline Covariance LineOfFew(const Covariance& line, const KnownMoments& known,
                                                 double noise) {
  const double determinant = known.energy[0] * known.energy[2] - known.energy[1] * known.energy[1];
  Covariance least = {0.5 * noise / known.energy[0], 0.0, 0.25 * kTurn * kTurn};
  if (determinant > 1e-9 * known.energy[0] * known.energy[2]) {
    const double scale = 0.5 * noise / determinant;
    least = {scale * known.energy[2], -scale * known.energy[1], scale * known.energy[0]};
  }
  const bool surer_phase = line.phase < least.phase;
  const bool surer_slope = line.slope < least.slope;
  if (surer_phase == surer_slope) return surer_phase ? least : line;
  return {fmax(line.phase, least.phase), 0.0, fmax(line.slope, least.slope)};
}

// Noise below kMaxSnrDb is not told from none: the least variance of a phase.
inline constexpr double kNoiseOfNone = 1e-6;
static_assert(kMaxSnrDb == 60.0F);
BASEBAND_HOST_DEVICE inline double LeastVariance(int num_symbols) {
  return 0.5 * kNoiseOfNone / num_symbols;
}

// What a method's covariance is made of.
struct Spread {
  FitSums<double> sums;     // of the last round
  Information information;  // UsedInformation there
  Covariance line;          // of an estimate that is the line's
  Covariance loop;          // of one that is the loop's
  Stray stray;              // of the symbols turned back
};

// Of the maximum of the likelihood.
BASEBAND_HOST_DEVICE inline Covariance LikelihoodCovariance(const Spread& spread) {
  return Sandwich(spread.information, spread.sums.square);
}

// How far the maximum of the likelihood is from an estimate, radians over the frame.
BASEBAND_HOST_DEVICE inline double SlopeToMaximum(const Spread& spread) {
  const double determinant = spread.information.determinant();
  if (!(determinant > 0.0)) return 0.0;
  return (spread.information.phase * spread.sums.score[1] -
          spread.information.cross * spread.sums.score[0]) /
         determinant;
}

// Of few symbols the residuals say too little: they follow the fit, the more so at the frame's
// ends, and an estimate of a variance from few is itself unsure. As if so many of them said
// nothing: the errors of 16 symbols are 1.6 times what residuals say, of 23 1.25 times, of 100 1.03
// times.
inline constexpr double kTakenByFit = 8.0;
static_assert(kTakenByFit < kMinSymbols);

// `line_bin`: radians over the frame between two bins of the line's spectrum, the carrier's.
BASEBAND_HOST_DEVICE inline Covariance MethodCovariance(const Parameters& parameters,
                                                        const Spread& spread, double line_bin,
                                                        int num_symbols) {
  Covariance covariance;
  switch (parameters.fine) {
    case Fine::kNone:
      covariance.phase = spread.line.phase;
      covariance.slope = line_bin * line_bin / 12.0;
      break;
    case Fine::kInterpolate:
      covariance = spread.line;
      break;
    case Fine::kSweep: {
      covariance.phase = spread.line.phase;
      covariance.slope = LikelihoodCovariance(spread).slope;
      const double step = kTurn * num_symbols * parameters.sweep_step;
      const double off = SlopeToMaximum(spread);
      // A range that ends before the maximum leaves all of the way there.
      covariance.slope += fmax(off * off, parameters.sweep_interpolate ? 0.0 : step * step / 12.0);
      break;
    }
    case Fine::kRemodulate:
      covariance = LikelihoodCovariance(spread);
      break;
    case Fine::kPll:
      covariance = spread.loop;
      break;
  }
  const double few = num_symbols / (num_symbols - kTakenByFit);
  covariance.phase *= few;
  covariance.cross *= few;
  covariance.slope *= few;
  covariance.phase += spread.stray.phase;
  covariance.slope += spread.stray.slope;
  const double least = LeastVariance(num_symbols);
  covariance.phase = fmax(covariance.phase, least);
  covariance.slope = fmax(covariance.slope, 12.0 * least);
  return covariance;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_COVARIANCE_MATH_H_
