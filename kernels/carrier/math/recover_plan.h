// What a model, parameters and a frame's length come to, before any symbol is looked at: host code,
// for both devices.
#ifndef BASEBAND_KERNELS_CARRIER_MATH_RECOVER_PLAN_H_
#define BASEBAND_KERNELS_CARRIER_MATH_RECOVER_PLAN_H_

#include "absl/types/span.h"
#include "kernels/carrier/math/frame_plan.h"
#include "kernels/carrier/model.h"
#include "kernels/carrier/recover.h"

namespace baseband::carrier {

struct RecoverPlan : FramePlan {
  int num_symbols = 0;
  int points = 0;          // L of the FFT
  int last_candidate = 0;  // a sweep's candidates are |k| <= this
  int sweep_block = 1;     // symbols in a block of the sweep's line sums

  int num_candidates() const { return 2 * last_candidate + 1; }
};

// What is searched, and what LimitOfFrequency says. The parameters have passed CheckParameters.
FrequencyRange RangeOfFrequency(const Constellation& constellation, const Parameters& parameters,
                                absl::Span<const Iq> known);

RecoverPlan PlanRecovery(const Model& model, const Parameters& parameters,
                         const FrequencyRange& range, bool symbols_known, int num_symbols);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_MATH_RECOVER_PLAN_H_
