#include "client/ctl/common/step_range.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace baseband::ctl {
namespace {

constexpr double kLeastSteps = 2;  // where END is missed
// Of the division, and of ends and steps that are no binary fractions.
double RoundingOf(double steps) {
  return std::max(1e-9, 4 * std::numeric_limits<double>::epsilon() * steps);
}

}  // namespace

std::string StepRange::Note() const {
  return reaches_end ? ""
                     : absl::StrFormat(
                           "ends at %.12g: END %.12g is no whole number of steps of %.12g away"
                           " from BEGIN %.12g",
                           begin + (count - 1) * step, end, step, begin);
}

absl::StatusOr<StepRange> ToStepRange(double begin, double step, double end) {
  const double steps = begin == end ? 0 : (end - begin) / step;
  if (!std::isfinite(steps) || steps < 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "no step of STEP %.12g leads from BEGIN %.12g to END %.12g; the order is BEGIN:STEP:END",
        step, begin, end));
  }
  StepRange range;
  range.begin = begin;
  range.step = step;
  range.end = end;
  const double whole = std::floor(steps + RoundingOf(steps));
  range.count = whole + 1;
  range.reaches_end = steps - whole < RoundingOf(steps);
  if (!range.reaches_end && steps < kLeastSteps) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "END %.12g is %.3g steps of STEP %.12g away from BEGIN %.12g; the order is BEGIN:STEP:END",
        end, steps, step, begin));
  }
  return range;
}

}  // namespace baseband::ctl
