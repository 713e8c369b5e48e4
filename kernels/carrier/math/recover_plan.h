// What a model, parameters and a frame's length come to, before any symbol is looked at: host code,
// for both devices.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_RECOVER_PLAN_H_
#define BASEBAND_KERNELS_CARRIER_MATH_RECOVER_PLAN_H_

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/carrier/model.h"
#include "kernels/carrier/recover.h"

namespace baseband::carrier {

struct RecoverPlan {
  int num_symbols = 0;
  int points = 0;           // L of the FFT
  bool known_line = false;  // the line is r conj(known), else symbols to the power
  int line_power = 1;       // the carrier's angles are the line's divided by this
  int branches = 1;         // phases that a line leaves open, line_power / ambiguity
  int max_peaks = 1;
  int last_half_bin = 0;  // half bins -last .. last are searched; 0 without an FFT
  // A sweep's candidates are |k| <= last_candidate.
  int last_candidate = 0;
  double sweep_range = 0.0;
  int sweep_block = 1;      // symbols in a block of the sweep's line sums
  double ln_bins = 0.0;     // of the half bins searched
  double ln_trials = 0.0;   // of all frequencies and phases tried
  double step_limit = 0.0;  // radians, see NewtonStep

  int num_candidates() const { return 2 * last_candidate + 1; }
};

// The greatest |f| that can be told from its aliases: 1 / (2 p) for symbols raised to a power; 1 /
// (2 g) for known ones, g the greatest common divisor of the distances of their positions; else
// 0.5.
double FrequencyLimit(const Model& model, const Parameters& parameters, absl::Span<const Iq> known);

// `max_frequency` > 0 stands in for parameters.max_frequency (which may be 0). The parameters have
// passed CheckParameters.
RecoverPlan PlanRecovery(const Model& model, const Parameters& parameters, double max_frequency,
                         bool symbols_known, int num_symbols);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_RECOVER_PLAN_H_
