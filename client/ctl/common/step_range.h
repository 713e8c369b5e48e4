// BEGIN:STEP:END as people write it: the points BEGIN, BEGIN + STEP, .. up to END.
#ifndef BASEBAND_CLIENT_CTL_COMMON_STEP_RANGE_H_
#define BASEBAND_CLIENT_CTL_COMMON_STEP_RANGE_H_

#include <string>

#include "absl/status/statusor.h"

namespace baseband::ctl {

struct StepRange {
  double begin = 0;
  double step = 0;
  double count = 1;  // of points, whole
  double end = 0;    // as it was asked for
  bool reaches_end = true;

  // "ends at 0.9: END 1 is no whole number of steps of 0.3 away from BEGIN 0"; empty if END is its
  // last point.
  std::string Note() const;
};

// END is a point if it is one but for rounding. InvalidArgument: no step leads from BEGIN to END;
// or END is missed after less than two steps, as where someone wrote BEGIN:END:STEP.
absl::StatusOr<StepRange> ToStepRange(double begin, double step, double end);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_STEP_RANGE_H_
