#include "kernels/minimize/search/surroundings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

namespace baseband::minimize {

Surroundings::Surroundings(const Problem& problem, int64_t index, const ContinueCheck& may_continue)
    : problem_(problem), may_continue_(may_continue) {
  const Grid& grid = problem.grid();
  const Indices at = grid.IndicesOf(index);
  origin_ = grid.CoordinatesOf(index);
  for (size_t k = 0; k < static_cast<size_t>(grid.num_axes()); ++k) {
    const int64_t count = grid.axis(static_cast<int>(k)).count;
    if (count == 1) continue;
    first_[size_] = static_cast<double>(-at[k]);
    last_[size_] = static_cast<double>(count - 1 - at[k]);
    low_[size_] = std::max(first_[size_], -1.0);
    high_[size_] = std::min(last_[size_], 1.0);
    const Axis& axis = grid.axis(static_cast<int>(k));
    at_low_[size_] = axis.At(at[k] + static_cast<int64_t>(low_[size_]));
    at_high_[size_] = axis.At(at[k] + static_cast<int64_t>(high_[size_]));
    std::tie(at_least_[size_], at_most_[size_]) = std::minmax({axis.At(0), axis.At(count - 1)});
    free_[size_++] = k;
  }
}

double Surroundings::Tolerance(size_t i) const {
  constexpr double kRoundings = 4.0 * std::numeric_limits<double>::epsilon();
  const double step = std::abs(this->step(i));
  return std::max(kRefinementTolerance, kRoundings * (std::abs(origin_[free_[i]]) + step) / step);
}

double Surroundings::Lobe(size_t i) const {
  return problem_.functional().Lobe(static_cast<int>(free_[i])) / std::abs(step(i));
}

Coordinates Surroundings::At(const Vector& u) const {
  Coordinates x = origin_;
  for (size_t i = 0; i < size_; ++i) {
    double& at = x[free_[i]];
    at = u[i] == low_[i]    ? at_low_[i]
         : u[i] == high_[i] ? at_high_[i]
                            : std::clamp(std::fma(u[i], step(i), at), at_least_[i], at_most_[i]);
  }
  return x;
}

Vector Surroundings::Clamped(Vector u) const {
  for (size_t i = 0; i < size_; ++i) u[i] = std::clamp(u[i], low_[i], high_[i]);
  return u;
}

double Surroundings::Value(const Vector& u) {
  double value = 0.0;
  Values(absl::MakeConstSpan(&u, 1), &value);
  return value;
}

void Surroundings::Values(absl::Span<const Vector> u, double* values) {
  const Functional& functional = problem_.functional();
  std::array<Coordinates, kMaxAtOnce> x;
  const auto most = static_cast<size_t>(functional.AtOnce());
  for (size_t done = 0; done < u.size();) {
    const size_t count = std::min(most, u.size() - done);
    if (status_.ok() && may_continue_ != nullptr) status_ = may_continue_();
    if (!status_.ok() || is_spent()) {
      std::fill(values + done, values + u.size(), std::numeric_limits<double>::infinity());
      return;
    }
    for (size_t i = 0; i < count; ++i) x[i] = At(u[done + i]);
    functional.AtMany(x.data(), static_cast<int>(count), values + done);
    if (problem_.settings().goal == Goal::kMaximum) {
      for (size_t i = 0; i < count; ++i) values[done + i] = -values[done + i];
    }
    done += count;
    evaluations_ += static_cast<int64_t>(count);
  }
}

void Surroundings::MeasureRounding(const Vector& u) {
  constexpr size_t kPoints = 8;
  constexpr size_t kOrder = 4;       // of differences: what is smooth is not in them
  constexpr double kOfNoise = 70.0;  // their variance, over the values': (2 k)! / (k!)^2
  constexpr double kSpacing = 64.0 * std::numeric_limits<double>::epsilon();
  const Coordinates x = At(u);
  std::array<Vector, kPoints> points;
  for (size_t k = 0; k < kPoints; ++k) {
    points[k] = u;
    for (size_t i = 0; i < size_; ++i) {
      const double length = std::abs(step(i));
      const double spacing = kSpacing * std::max(std::abs(x[free_[i]]) / length, 1e-3);
      points[k][i] += spacing * (static_cast<double>(k) - 0.5 * (kPoints - 1));
    }
  }
  std::array<double, kPoints> values;
  Values(points, values.data());
  for (size_t order = 1; order <= kOrder; ++order) {
    for (size_t k = 0; k + order < kPoints; ++k) values[k] = values[k + 1] - values[k];
  }
  double squares = 0.0;
  for (size_t k = 0; k + kOrder < kPoints; ++k) squares += values[k] * values[k];
  const double rounding = std::sqrt(squares / (kOfNoise * (kPoints - kOrder)));
  if (std::isfinite(rounding)) rounding_ = rounding;
}

}  // namespace baseband::minimize
