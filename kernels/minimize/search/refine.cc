#include "kernels/minimize/search/refine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/base/status_macros.h"

namespace baseband::minimize {
namespace {

// The surroundings of a grid's point: all that a refinement may look at. Values are those of the
// goal "minimum".
class Surroundings {
 public:
  Surroundings(const Problem& problem, int64_t index, const Search::ContinueCheck& may_continue)
      : problem_(problem), may_continue_(may_continue) {
    const Grid& grid = problem.grid();
    const Indices at = grid.IndicesOf(index);
    for (int k = 0; k < grid.num_axes(); ++k) {
      const Axis& axis = grid.axis(k);
      if (axis.count == 1) continue;
      const auto i = static_cast<size_t>(k);
      const double before = axis.At(std::max<int64_t>(at[i] - 1, 0));
      const double after = axis.At(std::min(at[i] + 1, axis.count - 1));
      low_[i] = std::min(before, after);
      high_[i] = std::max(before, after);
      free_[num_free_++] = i;
    }
  }

  // Infinite, without being evaluated, once status() is not OK: every method ends soon then.
  double Value(const Coordinates& x) const {
    if (status_.ok() && may_continue_ != nullptr) status_ = may_continue_();
    if (!status_.ok()) return std::numeric_limits<double>::infinity();
    const double value = problem_.functional().At(x);
    return problem_.settings().goal == Goal::kMaximum ? -value : value;
  }
  const absl::Status& status() const { return status_; }
  // Axes with more than one point.
  size_t num_free() const { return num_free_; }
  size_t axis(size_t i) const { return free_[i]; }
  double low(size_t axis) const { return low_[axis]; }
  double high(size_t axis) const { return high_[axis]; }
  double Clamped(size_t axis, double x) const { return std::clamp(x, low_[axis], high_[axis]); }
  double step(size_t axis) const {
    return std::abs(problem_.grid().axis(static_cast<int>(axis)).step);
  }
  // Over which derivatives are taken.
  double Small(size_t axis) const {
    const double scale = problem_.functional().Scale(static_cast<int>(axis));
    return scale > 0.0 ? scale * 0.02 : step(axis) * 0.25;
  }

 private:
  const Problem& problem_;
  const Search::ContinueCheck& may_continue_;
  mutable absl::Status status_;
  std::array<double, kMaxAxes> low_{};
  std::array<double, kMaxAxes> high_{};
  std::array<size_t, kMaxAxes> free_{};
  size_t num_free_ = 0;
};

struct Point {
  Coordinates x{};
  double value = 0.0;
};

// Moves *best to `x` if that is better.
bool Improve(const Surroundings& around, const Coordinates& x, Point* best) {
  const double value = around.Value(x);
  if (!(value < best->value)) return false;
  *best = {x, value};
  return true;
}

void Zoom(const Surroundings& around, int levels, Point* best) {
  // Points to each side of the centre, by number of axes: some hundreds to thousands a level.
  constexpr std::array<int, kMaxAxes + 1> kSide = {0, 20, 10, 5, 3};
  const int side = kSide[around.num_free()];
  double width = 1.0;  // steps to each side
  for (int level = 0; level < levels; ++level, width /= side) {
    const Coordinates centre = best->x;
    std::array<int, kMaxAxes> i{};
    i.fill(-side);
    while (true) {
      Coordinates x = centre;
      for (size_t k = 0; k < around.num_free(); ++k) {
        const size_t axis = around.axis(k);
        x[axis] = around.Clamped(axis, centre[axis] + width * i[k] / side * around.step(axis));
      }
      Improve(around, x, best);
      size_t k = 0;
      while (k < around.num_free() && ++i[k] > side) i[k++] = -side;
      if (k == around.num_free()) break;
    }
  }
}

void Parabola(const Surroundings& around, Point* best) {
  Coordinates x = best->x;
  for (size_t k = 0; k < around.num_free(); ++k) {
    const size_t axis = around.axis(k);
    const double left = best->x[axis] - around.low(axis);
    const double right = around.high(axis) - best->x[axis];
    if (left <= 0.0 || right <= 0.0) continue;  // at an edge
    Coordinates at = best->x;
    at[axis] = around.low(axis);
    const double rise_left = around.Value(at) - best->value;
    at[axis] = around.high(axis);
    const double rise_right = around.Value(at) - best->value;
    // value = best + slope d + bend d^2 through the three.
    const double bend = (rise_left / left + rise_right / right) / (left + right);
    const double slope = (rise_right * left / right - rise_left * right / left) / (left + right);
    if (bend > 0.0) x[axis] = around.Clamped(axis, best->x[axis] - slope / (2.0 * bend));
  }
  Improve(around, x, best);
}

// Brent (1973), Algorithms for Minimization without Derivatives, chapter 5: along one axis.
void BrentAlong(const Surroundings& around, size_t axis, Point* best) {
  constexpr double kGolden = 0.3819660112501051;
  constexpr int kMaxEvaluations = 80;
  double a = around.low(axis);
  double b = around.high(axis);
  const double tolerance = 1e-10 * (b - a);
  const auto value_at = [&](double position) {
    Coordinates at = best->x;
    at[axis] = position;
    return around.Value(at);
  };
  double x = best->x[axis];
  if (x <= a || x >= b) x = a + kGolden * (b - a);
  double w = x;  // second best
  double v = x;  // the w before
  double fx = value_at(x);
  double fw = fx;
  double fv = fx;
  double last = 0.0;    // the last move
  double before = 0.0;  // the one before it
  for (int i = 0; i < kMaxEvaluations; ++i) {
    const double middle = 0.5 * (a + b);
    const double tol = tolerance + 1e-15 * std::abs(x);
    if (std::abs(x - middle) <= 2.0 * tol - 0.5 * (b - a)) break;
    bool golden = true;
    double move = 0.0;
    if (std::abs(before) > tol) {  // a parabola through x, w and v
      const double r = (x - w) * (fx - fv);
      double q = (x - v) * (fx - fw);
      double p = (x - v) * q - (x - w) * r;
      q = 2.0 * (q - r);
      if (q > 0.0) p = -p;
      q = std::abs(q);
      if (std::abs(p) < std::abs(0.5 * q * before) && p > q * (a - x) && p < q * (b - x)) {
        golden = false;
        before = last;
        move = p / q;
        if (x + move - a < 2.0 * tol || b - x - move < 2.0 * tol) move = x < middle ? tol : -tol;
      }
    }
    if (golden) {
      before = x < middle ? b - x : a - x;
      move = kGolden * before;
    }
    last = move;
    const double u = x + (std::abs(move) >= tol ? move : std::copysign(tol, move));
    const double fu = value_at(u);
    if (fu <= fx) {
      (u < x ? b : a) = x;
      v = w, fv = fw, w = x, fw = fx, x = u, fx = fu;
    } else {
      (u < x ? a : b) = u;
      if (fu <= fw || w == x) {
        v = w, fv = fw, w = u, fw = fu;
      } else if (fu <= fv || v == x || v == w) {
        v = u, fv = fu;
      }
    }
  }
  if (fx < best->value) {
    best->x[axis] = x;
    best->value = fx;
  }
}

void Brent(const Surroundings& around, Point* best) {
  constexpr int kMaxRounds = 20;
  for (int round = 0; round < kMaxRounds; ++round) {
    const Point before = *best;
    for (size_t k = 0; k < around.num_free(); ++k) BrentAlong(around, around.axis(k), best);
    double moved = 0.0;  // steps
    for (size_t k = 0; k < around.num_free(); ++k) {
      const size_t axis = around.axis(k);
      moved = std::max(moved, std::abs(best->x[axis] - before.x[axis]) / around.step(axis));
    }
    if (around.num_free() == 1 || moved < 1e-7) return;
  }
}

using Vector = std::array<double, kMaxAxes>;
using Matrix = std::array<Vector, kMaxAxes>;

// Solves a x = b, n unknowns, a symmetric and positive definite, by Cholesky; false if it is not.
bool SolvePositive(Matrix a, Vector b, size_t n, Vector* x) {
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      if (i == j) {
        if (!(sum > 0.0)) return false;
        a[i][i] = std::sqrt(sum);
      } else {
        a[i][j] = sum / a[j][j];
      }
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  *x = b;
  return true;
}

// The value at best + s1 e1 + s2 e2, small steps along two axes.
double Nearby(const Surroundings& around, const Point& best, size_t i, double si, size_t j,
              double sj) {
  Coordinates x = best.x;
  x[i] += si * around.Small(i);
  x[j] += sj * around.Small(j);
  return around.Value(x);
}

double SecondDerivative(const Surroundings& around, const Point& point, size_t axis) {
  const double h = around.Small(axis);
  const double before = Nearby(around, point, axis, -1.0, axis, 0.0);
  const double after = Nearby(around, point, axis, 1.0, axis, 0.0);
  return (before - 2.0 * point.value + after) / (h * h);
}

void Newton(const Surroundings& around, Point* best) {
  constexpr int kMaxSteps = 30;
  const size_t n = around.num_free();
  for (int step = 0; step < kMaxSteps; ++step) {
    Matrix hessian{};
    Vector slope{};
    for (size_t i = 0; i < n; ++i) {
      const size_t p = around.axis(i);
      const double before = Nearby(around, *best, p, -1.0, p, 0.0);
      const double after = Nearby(around, *best, p, 1.0, p, 0.0);
      slope[i] = (before - after) / (2.0 * around.Small(p));  // downhill
      hessian[i][i] = (before - 2.0 * best->value + after) / (around.Small(p) * around.Small(p));
      for (size_t j = 0; j < i; ++j) {
        const size_t q = around.axis(j);
        hessian[i][j] =
            (Nearby(around, *best, p, 1.0, q, 1.0) - Nearby(around, *best, p, 1.0, q, -1.0) -
             Nearby(around, *best, p, -1.0, q, 1.0) + Nearby(around, *best, p, -1.0, q, -1.0)) /
            (4.0 * around.Small(p) * around.Small(q));
      }
    }
    Vector move{};
    if (!SolvePositive(hessian, slope, n, &move)) return;
    double moved = 0.0;  // steps of the grid
    bool better = false;
    for (double damping = 1.0; damping > 1e-3 && !better; damping *= 0.5) {
      Coordinates x = best->x;
      moved = 0.0;
      for (size_t i = 0; i < n; ++i) {
        const size_t axis = around.axis(i);
        x[axis] = around.Clamped(axis, x[axis] + damping * move[i]);
        moved = std::max(moved, std::abs(x[axis] - best->x[axis]) / around.step(axis));
      }
      better = Improve(around, x, best);
    }
    if (!better || moved < 1e-9) return;
  }
}

}  // namespace

absl::Status Refine(const Problem& problem, const Search::ContinueCheck& may_continue,
                    Answer* answer) {
  const Settings& settings = problem.settings();
  const Grid& grid = problem.grid();
  const int64_t index = answer->top.front().index;
  const Surroundings around(problem, index, may_continue);
  const Indices at = grid.IndicesOf(index);
  const double sign = settings.goal == Goal::kMaximum ? -1.0 : 1.0;
  Point best;
  best.x = grid.CoordinatesOf(index);
  best.value = around.Value(best.x);
  answer->grid_point = best.x;
  answer->grid_value = sign * best.value;
  for (size_t i = 0; i < around.num_free(); ++i) {
    const size_t axis = around.axis(i);
    answer->at_edge =
        answer->at_edge || at[axis] == 0 || at[axis] == grid.axis(static_cast<int>(axis)).count - 1;
  }
  switch (settings.refinement) {
    case Refinement::kNone:
      break;
    case Refinement::kZoom:
      Zoom(around, settings.zoom_levels, &best);
      break;
    case Refinement::kParabola:
      Parabola(around, &best);
      break;
    case Refinement::kBrent:
      Brent(around, &best);
      break;
    case Refinement::kNewton:
      Newton(around, &best);
      break;
  }
  answer->point = best.x;
  answer->value = sign * best.value;
  for (size_t i = 0; i < around.num_free(); ++i) {
    const size_t axis = around.axis(i);
    answer->curvature[axis] = sign * SecondDerivative(around, best, axis);
  }
  BASEBAND_RETURN_IF_ERROR(around.status());
  if (settings.goal == Goal::kMinimum) answer->bound = settings.functional->Deviation(best.x);
  return absl::OkStatus();
}

}  // namespace baseband::minimize
