#include "kernels/minimize/search/line_fit.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace baseband::minimize {
namespace {

constexpr size_t kNodes = 10;           // beside the middle
constexpr size_t kValues = kNodes + 1;  // of which there are more than
constexpr size_t kTerms = 5;            // of the polynomial
constexpr double kPi = 3.14159265358979323846;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// Of a deviation: an error is as likely as a normal variable beyond so many of them; and what is
// systematic, the next term of the polynomial, leaves a fifth of this in the values.
constexpr double kDeviations = 8.0;
constexpr double kScaleRatio = 4.0;
constexpr double kLeastRoundings = 512.0;

using Values = std::array<double, kValues>;

struct Coefficients {
  std::array<double, kTerms> value{};
  std::array<double, kTerms> deviation{};  // for values of deviation 1
  double left = 0.0;  // of the values: rms, a term of the polynomial taken each
};

// Least squares, by Gram and Schmidt.
Coefficients FitPolynomial(const Values& t, const Values& y) {
  std::array<Values, kTerms> q;
  std::array<std::array<double, kTerms>, kTerms> r{};  // t^k = sum over i <= k of r[i][k] q[i]
  std::array<double, kTerms> along{};
  Values rest = y;
  const auto dot = [](const Values& a, const Values& b) {
    double sum = 0.0;
    for (size_t n = 0; n < kValues; ++n) sum += a[n] * b[n];
    return sum;
  };
  for (size_t k = 0; k < kTerms; ++k) {
    for (size_t n = 0; n < kValues; ++n) q[k][n] = k == 0 ? 1.0 : std::pow(t[n], k);
    for (int pass = 0; pass < 2; ++pass) {
      for (size_t i = 0; i < k; ++i) {
        const double part = dot(q[i], q[k]);
        r[i][k] += part;
        for (size_t n = 0; n < kValues; ++n) q[k][n] -= part * q[i][n];
      }
    }
    r[k][k] = std::sqrt(dot(q[k], q[k]));
    for (double& x : q[k]) x /= r[k][k];
    along[k] = dot(q[k], rest);
    for (size_t n = 0; n < kValues; ++n) rest[n] -= along[k] * q[k][n];
  }
  Coefficients fit;
  fit.left = std::sqrt(dot(rest, rest) / static_cast<double>(kValues - kTerms));
  // value = r^-1 along, and deviation the norms of the rows of r^-1.
  for (size_t column = 0; column <= kTerms; ++column) {
    std::array<double, kTerms> x{};
    if (column < kTerms) {
      x[column] = 1.0;
    } else {
      x = along;
    }
    for (size_t i = kTerms; i-- > 0;) {
      for (size_t k = i + 1; k < kTerms; ++k) x[i] -= r[i][k] * x[k];
      x[i] /= r[i][i];
      if (column < kTerms) fit.deviation[i] += x[i] * x[i];
    }
    if (column == kTerms) fit.value = x;
  }
  for (double& d : fit.deviation) d = std::sqrt(d);
  return fit;
}

}  // namespace

Line LineFrom(const Surroundings& around, const Place& from, const Vector& direction) {
  Line line;
  line.from = from;
  line.direction = direction;
  line.low = -std::numeric_limits<double>::infinity();
  line.high = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < around.size(); ++i) {
    if (direction[i] == 0.0) continue;
    const double a = (around.first(i) - from.u[i]) / direction[i];
    const double b = (around.last(i) - from.u[i]) / direction[i];
    line.low = std::max(line.low, std::min(a, b));
    line.high = std::min(line.high, std::max(a, b));
  }
  line.low = std::min(line.low, 0.0);
  line.high = std::max(line.high, 0.0);
  return line;
}

Vector PointOf(const Line& line, double t) {
  Vector u = line.from.u;
  for (size_t i = 0; i < kMaxAxes; ++i) u[i] += t * line.direction[i];
  return u;
}

LineFit FitLine(Surroundings* around, const Line& line, double half) {
  LineFit fit;
  fit.half = half;
  fit.least = line.from;
  const double begin = std::max(line.low, -half);
  const double end = std::min(line.high, half);
  const double scale = std::max(-begin, end);
  if (!(scale > 0.0) || !std::isfinite(line.from.value)) return fit;

  // Where coordinates are rounded to a visible part of the line, any function is a polynomial.
  const size_t along = static_cast<size_t>(
      std::max_element(line.direction.begin(), line.direction.end(),
                       [](double a, double b) { return std::abs(a) < std::abs(b); }) -
      line.direction.begin());
  const double from = around->At(line.from.u)[around->axis(along)];
  const double length = scale * std::abs(around->step(along) * line.direction[along]);
  if (length < kLeastRoundings * kEpsilon * std::abs(from)) return fit;

  // Chebyshev's nodes: none of the numbers that formulas are made of.
  std::array<Vector, kNodes> points;
  std::array<double, kNodes> values;
  Values t{};
  for (size_t k = 0; k < kNodes; ++k) {
    const double turn = std::cos(kPi * (static_cast<double>(k) + 0.5) / kNodes);
    points[k] = PointOf(line, 0.5 * (begin + end) + 0.5 * (end - begin) * turn);
    const double moved = around->At(points[k])[around->axis(along)] - from;
    t[k] = moved / (around->step(along) * line.direction[along] * scale);
  }
  around->Values(points, values.data());

  Values rise{};
  double greatest = std::abs(line.from.value);
  double least = 0.0;
  double most = 0.0;
  for (size_t k = 0; k < kNodes; ++k) {
    if (!std::isfinite(values[k])) return fit;
    rise[k] = values[k] - line.from.value;
    greatest = std::max(greatest, std::abs(values[k]));
    least = std::min(least, rise[k]);
    most = std::max(most, rise[k]);
    if (values[k] < fit.least.value) fit.least = {points[k], values[k]};
  }
  const Coefficients polynomial = FitPolynomial(t, rise);
  fit.rounding = around->Rounding(greatest);
  const double left = std::max(polynomial.left, fit.rounding);
  fit.is_smooth = polynomial.left <= 0.02 * (most - least);
  fit.is_rounding = most - least <= 64.0 * fit.rounding;
  fit.slope = polynomial.value[1] / scale;
  fit.bend = 2.0 * polynomial.value[2] / (scale * scale);
  fit.third = 6.0 * polynomial.value[3] / (scale * scale * scale);
  fit.slope_error = kDeviations * left * polynomial.deviation[1] / scale;
  fit.bend_error = kDeviations * left * 2.0 * polynomial.deviation[2] / (scale * scale);
  return fit;
}

LineFit FitLineAtItsScale(Surroundings* around, const Line& line, double half, double tolerance,
                          double fineness, int most) {
  const double longest = std::max(-line.low, line.high);
  half = std::min(half, longest);
  LineFit best = FitLine(around, line, half);
  int fits = 1;
  const auto is_enough = [&] {
    const double bend = std::abs(best.bend);
    return best.bend_error <= 0.05 * std::min(fineness, 1.0) * bend &&
           best.slope_error <= fineness * (0.02 * std::abs(best.slope) + 0.2 * tolerance * bend);
  };
  const auto is_better = [&](LineFit fit) {
    ++fits;
    const Place least = fit.least.value < best.least.value ? fit.least : best.least;
    const bool better = fit.slope_error < best.slope_error;
    if (better) best = fit;
    best.least = least;
    return better;
  };
  // Shorter, until a smooth piece gets no better by it; of what is not smooth nothing is known.
  LineFit last = best;
  while (fits < most && !is_enough() && !last.is_rounding) {
    last = FitLine(around, line, last.half / kScaleRatio);
    if (!is_better(last) && best.is_smooth) break;
  }
  // Longer, if the first was the best.
  while (fits < most && !is_enough() && best.half < longest) {
    if (!is_better(FitLine(around, line, std::min(best.half * kScaleRatio, longest)))) break;
  }
  return best;
}

}  // namespace baseband::minimize
