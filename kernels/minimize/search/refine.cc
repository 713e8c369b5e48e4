#include "kernels/minimize/search/refine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/base/status_macros.h"
#include "kernels/minimize/search/descent.h"
#include "kernels/minimize/search/line_fit.h"
#include "kernels/minimize/search/local_model.h"
#include "kernels/minimize/search/surroundings.h"

namespace baseband::minimize {
namespace {

constexpr int kFitsUnrefined = 3;
constexpr int kNewtonRounds = 100;
// After a search along lines, whose values tell nothing nearer than the root of their rounding.
constexpr int kPolishRounds = 12;

// Whether the function rises to both sides, further with each doubling of the distance from a part
// of the tolerance on: then there is a minimum within the tolerance whatever the slope is, a
// kink's.
bool IsBottomOfAKink(Surroundings* around, const Place& place) {
  constexpr int kDoublings = 12;
  if (around->size() != 1) return false;
  bool has_side = false;
  for (const double sign : {-1.0, 1.0}) {
    double before = place.value;
    double distance = 0.25 * sign * around->Tolerance(0);
    for (int k = 0; k < kDoublings; ++k, distance *= 2.0) {
      Vector u = place.u;
      u[0] += distance;
      if (u[0] < around->first(0) || u[0] > around->last(0)) break;
      const double value = around->Value(u);
      const double rounding = 4.0 * std::numeric_limits<double>::epsilon() *
                              std::max(std::abs(value), std::abs(before));
      if (!(value > before + rounding)) return false;
      before = value;
      has_side = true;
    }
  }
  return has_side;
}

// Whether the well around `place` is narrower than a step along axis i: if on the way to a step
// away the function falls again, or has half of its rise behind it before three eighths, as it has
// not even in a cone. It may do so elsewhere, unseen by the grid.
bool IsNarrow(Surroundings* around, const Place& place, size_t i) {
  constexpr std::array<double, 9> kOnTheWay = {0.0417, 0.1183, 0.2069, 0.2931, 0.375,
                                               0.5073, 0.6427, 0.8159, 1.0};
  constexpr size_t kBeforeHalf = 4;
  const double rounding = 8.0 * around->Rounding(std::abs(place.value));
  int sides = 0;
  int narrow = 0;
  for (const double sign : {-1.0, 1.0}) {
    std::array<Vector, kOnTheWay.size()> points;
    std::array<double, kOnTheWay.size()> values{};
    points.fill(place.u);
    for (size_t k = 0; k < points.size(); ++k) points[k][i] += sign * kOnTheWay[k];
    if (points.back()[i] < around->first(i) || points.back()[i] > around->last(i)) continue;
    around->Values(points, values.data());
    for (size_t k = 1; k < values.size(); ++k) {
      if (values[k] < values[k - 1] - rounding) return true;
    }
    const double rise = values[kBeforeHalf] - place.value;
    ++sides;
    if (rise > rounding && rise >= 0.5 * (values.back() - place.value)) ++narrow;
  }
  return sides > 0 && narrow == sides;
}

bool HasEnd(const Surroundings& around, const Verdict& verdict, bool of_axis) {
  for (size_t i = 0; i < around.size(); ++i) {
    if (verdict.face[i] == 0) continue;
    const bool is_end =
        verdict.face[i] < 0 ? around.first(i) >= around.low(i) : around.last(i) <= around.high(i);
    if (is_end == of_axis) return true;
  }
  return false;
}

// Whether there is a slope for sure, along an axis that is free to follow it.
bool IsSloped(const Surroundings& around, const Descent& descent) {
  const LocalModel& model = descent.model;
  for (size_t i = 0; i < around.size(); ++i) {
    if (descent.verdict.face[i] == 0 && std::abs(model.slope[i]) > model.slope_error[i])
      return true;
  }
  return false;
}

// Whether the way that the model sees to the minimum is as curved as the model says, and stays so
// twice as far: in a valley that is flat along its bottom it is not, and the minimum is further.
bool IsCurvedAllTheWay(Surroundings* around, const Descent& descent) {
  constexpr int kMaxFits = 6;
  constexpr double kMargin = 8.0;
  const Vector& move = descent.verdict.move;
  double length = 0.0;
  for (size_t i = 0; i < around->size(); ++i) length = std::max(length, std::abs(move[i]));
  if (length == 0.0) return true;
  Vector direction{};
  for (size_t i = 0; i < around->size(); ++i) direction[i] = move[i] / length;
  LocalModel level = descent.model;
  level.slope = {};
  const double bend = 2.0 * level.Rise(direction, around->size());
  const LineFit fit = FitLineAtItsScale(around, LineFrom(*around, descent.place, direction), 1.0,
                                        around->Tolerance(0), 1.0, kMaxFits);
  return fit.bend - kMargin * fit.bend_error - 2.0 * std::abs(fit.third) * length > 0.5 * bend;
}

// What has come of a refinement, and how far the minimum is.
void Conclude(Surroundings* around, bool out_of_rounds, Descent* descent, Answer* answer) {
  const Verdict& verdict = descent->verdict;
  Coordinates& error = answer->point_error;
  error.fill(std::numeric_limits<double>::quiet_NaN());
  // Away from the minimum nothing says that a coordinate at a face belongs there.
  const bool is_known =
      verdict.is_settled ||
      (verdict.is_curved && verdict.face == Verdict().face && IsCurvedAllTheWay(around, *descent));
  for (size_t i = 0; i < around->size() && is_known; ++i) {
    const double steps = std::abs(verdict.move[i]) + verdict.error[i];
    error[around->axis(i)] = steps * std::abs(around->step(i));
  }
  if (verdict.is_settled) {
    answer->outcome = HasEnd(*around, verdict, /*of_axis=*/false)  ? Outcome::kAtBox
                      : HasEnd(*around, verdict, /*of_axis=*/true) ? Outcome::kAtEdge
                                                                   : Outcome::kConverged;
  } else if (IsBottomOfAKink(around, descent->place)) {
    const double u = descent->place.u[0];
    const double from_end = std::min(u - around->first(0), around->last(0) - u);
    answer->outcome = from_end <= around->Tolerance(0) ? Outcome::kAtEdge : Outcome::kConverged;
    error[around->axis(0)] = around->Tolerance(0) * std::abs(around->step(0));
    descent->model.bend_error[0][0] = std::numeric_limits<double>::infinity();
  } else {
    answer->outcome = out_of_rounds ? Outcome::kOutOfRounds : Outcome::kUnresolved;
  }
}

}  // namespace

absl::Status Refine(const Problem& problem, const ContinueCheck& may_continue, Answer* answer) {
  const Settings& settings = problem.settings();
  const Grid& grid = problem.grid();
  const int64_t index = answer->top.front().index;
  Surroundings around(problem, index, may_continue);
  const double sign = settings.goal == Goal::kMaximum ? -1.0 : 1.0;
  Descent descent;
  descent.place.value = around.Value(descent.place.u);
  answer->grid_point = grid.CoordinatesOf(index);
  for (size_t i = 0; i < around.size(); ++i) {
    answer->at_edge = answer->at_edge || around.first(i) == 0.0 || around.last(i) == 0.0;
  }
  bool out_of_rounds = false;
  switch (settings.refinement) {
    case Refinement::kNone:
      break;
    case Refinement::kZoom:
      descent = Newton(&around, Zoom(&around, descent.place, settings.zoom_levels), 0);
      out_of_rounds = IsSloped(around, descent);
      break;
    case Refinement::kParabola:
      descent = Newton(&around, Parabola(&around, descent.place), 0);
      out_of_rounds = IsSloped(around, descent);
      break;
    case Refinement::kBrent:
      descent = Newton(&around, AlongLines(&around, descent.place, &out_of_rounds), kPolishRounds);
      break;
    case Refinement::kNewton:
      descent = Newton(&around, descent.place, kNewtonRounds);
      out_of_rounds = descent.out_of_rounds;
      if (!descent.verdict.is_settled && !out_of_rounds) {  // a kink, perhaps
        descent =
            Newton(&around, AlongLines(&around, descent.place, &out_of_rounds), kPolishRounds);
      }
      break;
  }
  answer->point = around.At(descent.place.u);
  if (settings.refinement == Refinement::kNone) {
    descent.model = FitCurvatures(&around, descent.place, kFitsUnrefined);
  } else if (around.size() > 0) {
    Conclude(&around, out_of_rounds || around.is_spent(), &descent, answer);
  }
  const bool is_refined = settings.refinement != Refinement::kNone;
  for (size_t i = 0; i < around.size(); ++i) {
    const double lobe = settings.goal == Goal::kMinimum ? around.Lobe(i) : 0.0;
    // What a polynomial describes over a step is one well there.
    const bool may_be_narrow = lobe == 0.0 && is_refined && descent.model.half[i] < 1.0;
    if ((lobe > 0.0 && lobe < 1.0) || (may_be_narrow && IsNarrow(&around, descent.place, i))) {
      answer->coarse_axes.push_back(static_cast<int>(around.axis(i)));
    }
    const double bend = std::isfinite(descent.model.bend_error[i][i])
                            ? descent.model.bend[i][i]
                            : std::numeric_limits<double>::quiet_NaN();
    answer->curvature[around.axis(i)] = sign * bend / (around.step(i) * around.step(i));
  }
  BASEBAND_RETURN_IF_ERROR(around.status());
  BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
  answer->value = settings.functional->At(answer->point);
  BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
  answer->grid_value = settings.functional->At(answer->grid_point);
  if (settings.goal == Goal::kMinimum) {
    BASEBAND_ASSIGN_OR_RETURN(answer->bound,
                              settings.functional->Deviation(answer->point, may_continue));
  }
  return absl::OkStatus();
}

}  // namespace baseband::minimize
