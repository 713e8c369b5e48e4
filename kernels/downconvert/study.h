// The oscillators of "phase error of a GPU's NCO" (papers/nco-phase-error in the project's notes),
// for study: how far single precision drifts, and what compensation makes of it.
//
// Phase in radians, single precision. Whole cycles are removed at the end of each segment of
// `segment` samples in double precision, as the paper's figures imply; slips of the pen in its
// equations 2, 7 and 15 are corrected (study_math.h).
#ifndef BASEBAND_KERNELS_DOWNCONVERT_STUDY_H_
#define BASEBAND_KERNELS_DOWNCONVERT_STUDY_H_

#include <cstdint>
#include <vector>

#include "kernels/downconvert/downconvert.h"

namespace baseband::downconvert {

// The phases of samples [0, count) of `method`, in radians, as that method has them: not reduced to
// one turn but where it does so itself.
//
//   kFloat        float32(2 pi f) * n, never reduced (figure 3)
//   kSegmented    start of the segment + float32(2 pi f) * position in it, in float32; the next
//                 start is reduced (equations 2 to 5, figures 4 and 5)
//   kAccumulated  one step added a sample in float32, reduced each segment ("float" in figures 8
//                 and 10)
//   kFast2Sum     the same with compensated sums (Kahan; equations 6, 8 to 11)
//   kTwoSum       the same with Knuth's sum, both residuals carried (equations 7, 12 to 15)
//   kDouble       accumulated in double, reduced each segment
//   kExact        nco.h
//
// `segment` >= 1; kExact and kFloat do not use it.
std::vector<double> StudyPhases(NcoMethod method, const Frequency& frequency, int64_t count,
                                int segment);

// How far `phases` are from the exact ones, modulo a turn.
struct PhaseErrors {
  std::vector<double> errors;  // radians, by sample
  double largest = 0.0;        // |error|
  double drift = 0.0;          // radians per sample: least-squares slope
};
PhaseErrors ErrorsOf(const std::vector<double>& phases, const Frequency& frequency);

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_STUDY_H_
