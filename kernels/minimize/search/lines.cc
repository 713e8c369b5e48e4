#include <algorithm>
#include <cmath>

#include "kernels/minimize/search/descent.h"

namespace baseband::minimize {
namespace {

// How far a line goes within the box.
void RangeInBox(const Surroundings& around, Line* line) {
  line->low = -INFINITY;
  line->high = INFINITY;
  for (size_t i = 0; i < around.size(); ++i) {
    if (line->direction[i] == 0.0) continue;
    const double a = (around.low(i) - line->from.u[i]) / line->direction[i];
    const double b = (around.high(i) - line->from.u[i]) / line->direction[i];
    line->low = std::max(line->low, std::min(a, b));
    line->high = std::min(line->high, std::max(a, b));
  }
  line->low = std::min(line->low, 0.0);
  line->high = std::max(line->high, 0.0);
}

// Brent's method from t = 0.
Place LeastOnLine(Surroundings* around, const Line& line) {
  constexpr double kGolden = 0.3819660112501051;
  constexpr int kMaxEvaluations = 80;
  double a = line.low;
  double b = line.high;
  if (!(a < b)) return line.from;
  Place best = line.from;
  const auto value_at = [&](double t) {
    const Vector u = around->Clamped(PointOf(line, t));
    const double value = around->Value(u);
    if (value < best.value) best = {u, value};
    return value;
  };
  const double tol = 1e-10 * (b - a);
  double x = 0.0;
  double fx = line.from.value;
  if (x <= a || x >= b) {
    x = a + kGolden * (b - a);
    fx = value_at(x);
  }
  double w = x;  // second best
  double v = x;  // the w before
  double fw = fx;
  double fv = fx;
  double last = 0.0;    // the last move
  double before = 0.0;  // the one before it
  for (int i = 0; i < kMaxEvaluations; ++i) {
    const double middle = 0.5 * (a + b);
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
  // Ends of the box are never reached from inside.
  for (const double end : {line.low, line.high}) {
    if (end != 0.0) value_at(end);
  }
  return best;
}

Place LeastAlong(Surroundings* around, const Place& from, const Vector& direction) {
  Line line;
  line.from = from;
  line.direction = direction;
  RangeInBox(*around, &line);
  return LeastOnLine(around, line);
}

}  // namespace

Place AlongLines(Surroundings* around, const Place& from, bool* out_of_rounds) {
  constexpr int kMaxRounds = 40;
  const size_t n = around->size();
  std::array<Vector, kMaxAxes> directions{};
  for (size_t i = 0; i < n; ++i) directions[i][i] = 1.0;
  Place place = from;
  *out_of_rounds = false;
  for (int round = 0; round < kMaxRounds; ++round) {
    const Place begin = place;
    double greatest = 0.0;  // gain along one direction
    size_t which = 0;
    for (size_t i = 0; i < n; ++i) {
      const double before = place.value;
      place = LeastAlong(around, place, directions[i]);
      if (before - place.value > greatest) {
        greatest = before - place.value;
        which = i;
      }
    }
    double moved = 0.0;
    Vector onward{};
    Vector beyond{};
    for (size_t i = 0; i < n; ++i) {
      onward[i] = place.u[i] - begin.u[i];
      beyond[i] = place.u[i] + onward[i];
      moved = std::max(moved, std::abs(onward[i]));
    }
    if (n == 1 || moved < 1e-9 || !around->status().ok() || around->is_spent()) return place;
    const double there = around->Value(around->Clamped(beyond));
    if (there < begin.value) {
      const double rest = begin.value - place.value - greatest;
      const double fall = begin.value - there;
      if (2.0 * (begin.value - 2.0 * place.value + there) * rest * rest < greatest * fall * fall) {
        place = LeastAlong(around, place, onward);
        for (double& x : onward) x /= moved;
        directions[which] = directions[n - 1];
        directions[n - 1] = onward;
      }
    }
  }
  *out_of_rounds = true;
  return place;
}

Place Zoom(Surroundings* around, const Place& from, int levels) {
  // Points to each side of the centre, by number of axes: some hundreds to thousands a level.
  constexpr std::array<int, kMaxAxes + 1> kSide = {0, 20, 10, 5, 3};
  const size_t n = around->size();
  const int side = kSide[n];
  Place best = from;
  std::array<Vector, kMaxAtOnce> points;
  std::array<double, kMaxAtOnce> values;
  size_t count = 0;
  const auto look = [&] {
    around->Values(absl::MakeConstSpan(points.data(), count), values.data());
    for (size_t k = 0; k < count; ++k) {
      if (values[k] < best.value) best = {points[k], values[k]};
    }
    count = 0;
  };
  double width = 1.0;  // steps to each side
  for (int level = 0; level < levels; ++level, width /= side) {
    const Vector centre = best.u;
    std::array<int, kMaxAxes> i{};
    i.fill(-side);
    size_t k = 0;
    while (k < n && around->status().ok()) {
      Vector u{};
      for (size_t a = 0; a < n; ++a) u[a] = centre[a] + width * i[a] / side;
      points[count++] = around->Clamped(u);
      if (count == points.size()) look();
      k = 0;
      while (k < n && ++i[k] > side) i[k++] = -side;
    }
    look();
  }
  return best;
}

Place Parabola(Surroundings* around, const Place& from) {
  Place best = from;
  Vector bottom = from.u;
  for (size_t i = 0; i < around->size(); ++i) {
    const double left = -around->low(i);
    const double right = around->high(i);
    if (left <= 0.0 || right <= 0.0) continue;  // at an end
    Vector u = from.u;
    u[i] = -left;
    const double rise_left = around->Value(u) - from.value;
    u[i] = right;
    const double rise_right = around->Value(u) - from.value;
    // from + slope d + bend d^2 through the three.
    const double bend = (rise_left / left + rise_right / right) / (left + right);
    const double slope = (rise_right * left / right - rise_left * right / left) / (left + right);
    if (bend > 0.0) bottom[i] = -slope / (2.0 * bend);
  }
  bottom = around->Clamped(bottom);
  const double value = around->Value(bottom);
  if (value < best.value) best = {bottom, value};
  return best;
}

}  // namespace baseband::minimize
