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
//   over blocks (LineBlock) and up to LineClimb::steps times LineStep: nu + delta / L, power and
//   phase of the line there. Not for those that would be below the first by kDoubt even so, that is
//   with lambda of the half bin / kHalfBinShare. Coarse::kNone: nu = 0, and steps for
//   Fine::kInterpolate.
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
// S6 judge (judge_math.h). Hard decisions of the last estimate, SNR (decisions_math.h), covariance,
// lock.
//
// Sums over symbols are float32 over blocks, double above: on the CPU over blocks of at most 128
// symbols, on a GPU over a slot's (team.cuh), 256 in frames of up to 32768 and 8192 in the longest.
// The devices differ in the order, and so by rounding, no more.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_RECOVER_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_RECOVER_MATH_H_

#include "kernels/carrier/math/estimate_math.h"
#include "kernels/carrier/math/newton_math.h"
#include "kernels/carrier/math/soft_math.h"

namespace baseband::carrier {

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
inline constexpr int kMaxRounds = 8;
inline constexpr int kMaxBluntRounds = 8;

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_RECOVER_MATH_H_
