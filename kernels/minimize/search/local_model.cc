#include "kernels/minimize/search/local_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace baseband::minimize {
namespace {

// The fit at a diagonal, axes i and j, as long as their fits.
struct Diagonal {
  bool is_there = false;
  LineFit fit;
};

void Note(const Surroundings& around, const LineFit& fit, LocalModel* model) {
  model->rounding = std::max(model->rounding, fit.rounding);
  if (!(fit.least.value < model->least.value)) return;
  for (size_t i = 0; i < around.size(); ++i) {
    if (fit.least.u[i] < around.low(i) || fit.least.u[i] > around.high(i)) return;
  }
  model->least = fit.least;
}

Diagonal FitDiagonal(Surroundings* around, size_t i, size_t j, double sign, LocalModel* model) {
  Diagonal diagonal;
  Vector direction{};
  direction[i] = model->half[i];
  direction[j] = sign * model->half[j];
  const Line line = LineFrom(*around, model->centre, direction);
  diagonal.is_there = line.high - line.low > 0.25;  // not in a corner
  if (!diagonal.is_there) return diagonal;
  diagonal.fit = FitLine(around, line, 1.0);
  Note(*around, diagonal.fit, model);
  return diagonal;
}

// The mixed derivative by what the diagonals are curved more than both axes.
void AddMixed(Surroundings* around, size_t i, size_t j, LocalModel* model) {
  const double hi = model->half[i];
  const double hj = model->half[j];
  const Diagonal up = FitDiagonal(around, i, j, 1.0, model);
  const Diagonal down = FitDiagonal(around, i, j, -1.0, model);
  const double axes = model->bend[i][i] * hi * hi + model->bend[j][j] * hj * hj;
  const double axes_error = model->bend_error[i][i] * hi * hi + model->bend_error[j][j] * hj * hj;
  double mixed = 0.0;
  double error = std::numeric_limits<double>::infinity();
  if (up.is_there && down.is_there) {
    mixed = (up.fit.bend - down.fit.bend) / 4.0;
    error = (up.fit.bend_error + down.fit.bend_error) / 4.0;
    // Of a smooth function, the diagonals are together curved as both axes are.
    const double amiss = std::abs((up.fit.bend + down.fit.bend) / 2.0 - axes);
    if (amiss > (up.fit.bend_error + down.fit.bend_error) / 2.0 + axes_error) error += amiss;
  } else if (up.is_there || down.is_there) {
    const LineFit& fit = up.is_there ? up.fit : down.fit;
    mixed = (up.is_there ? 0.5 : -0.5) * (fit.bend - axes);
    error = 0.5 * (fit.bend_error + axes_error);
  }
  model->bend[i][j] = model->bend[j][i] = mixed / (hi * hj);
  model->bend_error[i][j] = model->bend_error[j][i] = error / (hi * hj);
}

// What is along the axes.
LocalModel FitAxes(Surroundings* around, const Place& centre, const Vector& half, int fits,
                   double fineness) {
  LocalModel model;
  model.centre = model.least = centre;
  for (size_t i = 0; i < around->size(); ++i) {
    Vector direction{};
    direction[i] = 1.0;
    const double lobe = around->Lobe(i);
    const double from = half[i] > 0.0 ? half[i] : lobe > 0.0 ? 0.25 * lobe : 1.0;
    const LineFit fit = FitLineAtItsScale(around, LineFrom(*around, centre, direction), from,
                                          around->Tolerance(i), fineness, fits);
    Note(*around, fit, &model);
    model.half[i] = fit.half;
    model.slope[i] = fit.slope;
    model.slope_error[i] = fit.slope_error;
    model.bend[i][i] = fit.bend;
    model.bend_error[i][i] = fit.bend_error;
    model.third[i] = fit.third;
  }
  return model;
}

// Rows and columns of `which`.
Matrix Part(const Matrix& a, const std::array<size_t, kMaxAxes>& which, size_t n) {
  Matrix part{};
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) part[i][j] = a[which[i]][which[j]];
  }
  return part;
}

}  // namespace

double LocalModel::Rise(const Vector& d, size_t n) const {
  double rise = 0.0;
  for (size_t i = 0; i < n; ++i) {
    double half_bent = 0.0;
    for (size_t j = 0; j < n; ++j) half_bent += 0.5 * bend[i][j] * d[j];
    rise += d[i] * (slope[i] + half_bent);
  }
  return rise;
}

LocalModel FitCurvatures(Surroundings* around, const Place& centre, int fits) {
  return FitAxes(around, centre, {}, fits, std::numeric_limits<double>::infinity());
}

LocalModel MakeLocalModel(Surroundings* around, const Place& centre, const Vector& half, int fits,
                          double fineness) {
  LocalModel model = FitAxes(around, centre, half, fits, fineness);
  for (size_t i = 0; i < around->size(); ++i) {
    for (size_t j = 0; j < i; ++j) AddMixed(around, i, j, &model);
  }
  return model;
}

// It is where the model is least on one of the box' faces: of 3^n, each with some coordinates at an
// end and the others where the slope is 0. That is a minimum only where it is curved upwards.
Vector LeastInBox(const LocalModel& model, const Vector& low, const Vector& high, size_t n) {
  Vector best{};
  double best_rise = 0.0;
  std::array<int, kMaxAxes> side{};  // 0: free, 1: low, 2: high
  while (true) {
    Vector d{};
    std::array<size_t, kMaxAxes> free{};
    size_t num_free = 0;
    for (size_t i = 0; i < n; ++i) {
      if (side[i] == 0) free[num_free++] = i;
      d[i] = side[i] == 1 ? low[i] : side[i] == 2 ? high[i] : 0.0;
    }
    Vector downhill{};
    for (size_t f = 0; f < num_free; ++f) {
      downhill[f] = -model.slope[free[f]];
      for (size_t j = 0; j < n; ++j) downhill[f] -= model.bend[free[f]][j] * d[j];
    }
    const Cholesky bend(Part(model.bend, free, num_free), num_free);
    if (bend.is_positive()) {
      const Vector move = bend.Solve(downhill);
      bool inside = true;
      for (size_t f = 0; f < num_free; ++f) {
        d[free[f]] = move[f];
        inside = inside && move[f] >= low[free[f]] && move[f] <= high[free[f]];
      }
      const double rise = inside ? model.Rise(d, n) : best_rise;
      if (rise < best_rise) {
        best_rise = rise;
        best = d;
      }
    }
    size_t i = 0;
    while (i < n && ++side[i] > 2) side[i++] = 0;
    if (i == n) return best;
  }
}

namespace {

// Whether nothing is better than the centre a little off: along the axes at many distances, for
// what a fit has passed over, and between them.
bool IsLeastNearby(Surroundings* around, const LocalModel& model,
                   const std::array<int, kMaxAxes>& face) {
  constexpr int kDistances = 6;
  constexpr double kRatio = 0.125;
  constexpr double kBetween = 1.0 / 16;  // of the lengths of the fits
  constexpr Matrix kDirections = {{{0.9, 0.4, 0.7, -0.3},
                                   {-0.5, 0.8, 0.2, 0.9},
                                   {0.3, -0.6, 0.9, 0.6},
                                   {0.8, -0.9, -0.6, 0.2}}};
  const size_t n = around->size();
  std::vector<Vector> points;
  const auto add = [&](const Vector& direction, double distance) {
    Vector u = model.centre.u;
    for (size_t i = 0; i < n; ++i) {
      u[i] = std::clamp(u[i] + distance * direction[i] * model.half[i],
                        face[i] < 0 ? around->low(i) : around->first(i),
                        face[i] > 0 ? around->high(i) : around->last(i));
    }
    if (u != model.centre.u) points.push_back(u);
  };
  for (const double sign : {-1.0, 1.0}) {
    for (size_t i = 0; i < n; ++i) {
      Vector axis{};
      axis[i] = sign;
      double distance = 1.0;
      for (int k = 0; k < kDistances; ++k) add(axis, distance *= kRatio);
    }
    for (const Vector& direction : kDirections) add(direction, sign * kBetween);
  }
  std::vector<double> values(points.size());
  around->Values(points, values.data());
  const double least = model.centre.value - 8.0 * model.rounding;
  return std::all_of(values.begin(), values.end(), [&](double value) { return value >= least; });
}

}  // namespace

Verdict Judge(Surroundings* around, const LocalModel& model) {
  const size_t n = around->size();
  const Vector& u = model.centre.u;
  Verdict verdict;
  std::array<size_t, kMaxAxes> free{};
  size_t num_free = 0;
  for (size_t i = 0; i < n; ++i) {
    if (u[i] <= around->low(i) && model.slope[i] > model.slope_error[i]) verdict.face[i] = -1;
    if (u[i] >= around->high(i) && model.slope[i] < -model.slope_error[i]) verdict.face[i] = 1;
    if (verdict.face[i] == 0) free[num_free++] = i;
  }
  const Matrix bend = Part(model.bend, free, num_free);
  Matrix bend_error = Part(model.bend_error, free, num_free);
  const Cholesky solver(bend, num_free);
  if (!solver.is_positive()) return verdict;
  Vector downhill{};
  for (size_t f = 0; f < num_free; ++f) downhill[f] = -model.slope[free[f]];
  const Vector move = solver.Solve(downhill);
  // Curved upwards even if each element is wrong by many times its error (Gershgorin), as what
  // kinks pretend is not, and by twice as much as it changes along the way: then the minimum is no
  // more than twice as far (Kantorovich 1948).
  constexpr double kMargin = 8.0;
  Matrix least_bend = bend;
  for (size_t i = 0; i < num_free; ++i) {
    const double change = 2.0 * std::abs(model.third[free[i]] * move[i]);
    least_bend[i][i] -= change;
    for (size_t j = 0; j < num_free; ++j) least_bend[i][i] -= kMargin * bend_error[i][j];
    bend_error[i][i] += change;
  }
  verdict.is_curved = Cholesky(least_bend, num_free).is_positive();
  if (!verdict.is_curved) return verdict;

  Vector wrong{};
  for (size_t i = 0; i < num_free; ++i) {
    wrong[i] = model.slope_error[free[i]];
    for (size_t j = 0; j < num_free; ++j) wrong[i] += bend_error[i][j] * std::abs(move[j]);
  }
  Vector error{};
  for (size_t j = 0; j < num_free; ++j) {
    Vector unit{};
    unit[j] = 1.0;
    const Vector column = solver.Solve(unit);
    for (size_t i = 0; i < num_free; ++i) error[i] += std::abs(column[i]) * wrong[j];
  }
  bool is_near = true;
  for (size_t f = 0; f < num_free; ++f) {
    const size_t i = free[f];
    verdict.move[i] = move[f];
    verdict.error[i] = error[f];
    is_near = is_near && std::abs(move[f]) + error[f] <= around->Tolerance(i);
  }
  verdict.is_settled = is_near && IsLeastNearby(around, model, verdict.face);
  return verdict;
}

}  // namespace baseband::minimize
