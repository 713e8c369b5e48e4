// The sweep of RecoverCarrier, Fine::kSweep, for both devices. Candidates are coarse + k step,
// |k| <= RecoverPlan::last_candidate, coarse being the stronger of the whole bins around the line.
// The line at each comes from sums over blocks of RecoverPlan::sweep_block symbols at the coarse
// frequency (LineAt); the candidate's symbols are judged by equation 8: the sum of their distances
// to the nearest point, over that point's radius.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_SWEEP_MATH_H_
#define BASEBAND_KERNELS_CARRIER_MATH_SWEEP_MATH_H_

#include <cmath>

#include "kernels/carrier/math/recover_math.h"

namespace baseband::carrier {

// A candidate's initial phase, turns at the frame's centre: that of the line at its frequency,
// `line`, among the branches 1 / power apart the nearest to `carrier`, the phase at the coarse
// frequency, where the line's was `line_there`.
BASEBAND_HOST_DEVICE inline double CandidatePhase(double carrier, double line_there, double line,
                                                  int power) {
  const double turns = line - line_there;
  return carrier + (turns - floor(turns + 0.5)) / power;
}

// Where a parabola through the least EVM and its neighbours is least, in steps from the middle one.
BASEBAND_HOST_DEVICE inline double ParabolaOffset(double left, double middle, double right) {
  const double bend = left - 2.0 * middle + right;
  return bend > 0.0 ? 0.5 * (left - right) / bend : 0.0;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_SWEEP_MATH_H_
