// Functions drawn at random, with a minimum that is known: what a refinement says holds.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/minimize/search.h"
#include "tests/support/minimize_functionals.h"
#include "tests/support/minimize_search.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::MakeProblem;
using ::baseband::testing::NoiseOf;
using ::baseband::testing::OfCoordinates;
using ::baseband::testing::SearchOnCpu;

constexpr std::array<Refinement, 4> kAll = {Refinement::kZoom, Refinement::kParabola,
                                            Refinement::kBrent, Refinement::kNewton};

struct Case {
  std::string name;
  std::vector<Axis> axes;
  Coordinates centre{};  // the one minimum, and the one point without a slope
  OfCoordinates::Function function;
};

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}
  double Uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  double Normal() { return std::normal_distribution<double>()(random_); }
  int Below(int end) { return static_cast<int>(random_() % static_cast<uint32_t>(end)); }

  // Seven points an axis with the centre in the middle step or so; steps of all sizes and signs.
  Case Grid(size_t n) {
    Case drawn;
    for (size_t k = 0; k < n; ++k) {
      const double step = std::exp(Uniform(-7.0, 7.0)) * (Below(2) == 0 ? 1.0 : -1.0);
      const double begin = Uniform(-3.0, 3.0) * step * std::pow(10.0, Below(3));
      drawn.axes.push_back({begin, step, 7});
      drawn.centre[k] = begin + Uniform(2.5, 3.5) * step;
    }
    return drawn;
  }

 private:
  std::mt19937 random_;
};

// The squares of bent and mixed coordinates' sum, under a function that rises.
Case SmoothCase(uint32_t seed) {
  Draw draw(seed);
  Case drawn = draw.Grid(static_cast<size_t>(1 + draw.Below(4)));
  const size_t n = drawn.axes.size();
  std::vector<double> a;
  const double longer = std::exp(draw.Uniform(0.0, 4.0));
  for (size_t i = 0; i < n * n; ++i) {
    a.push_back((draw.Normal() + (i % (n + 1) == 0 ? 3.0 : 0.0)) * (i < n ? longer : 1.0));
  }
  const double bent = draw.Uniform(0.0, 0.5);
  const int outer = draw.Below(4);
  const double scale = std::pow(10.0, draw.Uniform(-6.0, 6.0));
  const double offset = draw.Below(2) == 0 ? 0.0 : draw.Uniform(-3.0, 3.0) * scale;
  drawn.name = absl::StrCat("smooth ", seed, ", ", n, " axes, outer ", outer);
  drawn.function = [=, axes = drawn.axes, centre = drawn.centre](const Coordinates& x) {
    std::array<double, kMaxAxes> w{};
    for (size_t k = 0; k < n; ++k) {
      const double d = (x[k] - centre[k]) / axes[k].step;
      w[k] = d + bent * (std::exp(0.5 * d) - 1.0);
    }
    double q = 0.0;
    for (size_t i = 0; i < n; ++i) {
      double sum = 0.0;
      for (size_t k = 0; k < n; ++k) sum += a[i * n + k] * w[k];
      q += sum * sum;
    }
    const double value = outer == 0   ? q
                         : outer == 1 ? std::log1p(q)
                         : outer == 2 ? -1.0 / (1.0 + q)
                                      : std::sqrt(1.0 + q) + 0.1 * q * q;
    return offset + scale * value;
  };
  return drawn;
}

// A sum of kinks along slanted lines that all meet in the centre.
Case KinkedCase(uint32_t seed) {
  Draw draw(seed);
  Case drawn = draw.Grid(static_cast<size_t>(1 + draw.Below(3)));
  const size_t n = drawn.axes.size();
  std::vector<double> a;
  for (size_t i = 0; i < n * n; ++i) a.push_back(draw.Normal() + (i % (n + 1) == 0 ? 2.0 : 0.0));
  const double power = draw.Uniform(0.6, 1.6);
  drawn.name = absl::StrCat("kinked ", seed, ", ", n, " axes, power ", power);
  drawn.function = [=, axes = drawn.axes, centre = drawn.centre](const Coordinates& x) {
    double value = 0.0;
    for (size_t i = 0; i < n; ++i) {
      double sum = 0.0;
      for (size_t k = 0; k < n; ++k) sum += a[i * n + k] * (x[k] - centre[k]) / axes[k].step;
      value += std::pow(std::abs(sum), power);
    }
    return value;
  };
  return drawn;
}

Case NoisyCase(uint32_t seed) {
  Case drawn = SmoothCase(seed);
  Draw draw(seed + 1);
  const Coordinates centre = drawn.centre;
  Coordinates beside = centre;
  for (size_t k = 0; k < drawn.axes.size(); ++k) beside[k] += drawn.axes[k].step;
  const double rise = drawn.function(beside) - drawn.function(centre);
  const double noise = std::abs(rise) * std::pow(10.0, draw.Uniform(-12.0, -2.0));
  drawn.name = absl::StrCat("noisy ", drawn.name);
  drawn.function = [=, function = drawn.function](const Coordinates& x) {
    const double value = function(x);
    return value + noise * NoiseOf(value + x[0]);
  };
  return drawn;
}

// How often a refinement said that it had converged.
struct Tally {
  int in_box = 0;
  int converged = 0;
};

Tally Check(Case (*draw)(uint32_t), Refinement refinement, uint32_t first, int trials) {
  Tally tally;
  for (uint32_t seed = first; seed < first + static_cast<uint32_t>(trials); ++seed) {
    const Case drawn = draw(seed);
    Settings settings;
    settings.functional = std::make_shared<const OfCoordinates>(drawn.function);
    settings.grid = testing::MakeGrid(drawn.axes);
    settings.refinement = refinement;
    const Answer answer = SearchOnCpu(MakeProblem(settings));
    bool in_box = true;
    for (size_t k = 0; k < drawn.axes.size(); ++k) {
      const double steps = (drawn.centre[k] - answer.grid_point[k]) / drawn.axes[k].step;
      in_box = in_box && std::abs(steps) < 1.0;
    }
    if (!in_box) continue;
    ++tally.in_box;
    tally.converged += answer.outcome == Outcome::kConverged ? 1 : 0;
    for (size_t k = 0; k < drawn.axes.size(); ++k) {
      const Axis& axis = drawn.axes[k];
      const double wrong = std::abs(answer.point[k] - drawn.centre[k]);
      const double rounding = 4.0 * std::numeric_limits<double>::epsilon() *
                              (std::abs(drawn.centre[k]) + std::abs(axis.step));
      EXPECT_FALSE(wrong > answer.point_error[k] + rounding)
          << drawn.name << ", refinement " << static_cast<int>(refinement) << ", outcome "
          << static_cast<int>(answer.outcome) << ", axis " << k << ": " << wrong / axis.step
          << " steps, not " << answer.point_error[k] / axis.step;
      if (answer.outcome == Outcome::kConverged) {
        EXPECT_LE(wrong, kRefinementTolerance * std::abs(axis.step) + rounding)
            << drawn.name << ", refinement " << static_cast<int>(refinement) << ", axis " << k;
      }
    }
  }
  return tally;
}

TEST(MinimizeRefinePropertyTest, OfSmoothFunctions) {
  for (const Refinement refinement : kAll) {
    const Tally tally = Check(SmoothCase, refinement, 1000, 300);
    EXPECT_GE(tally.in_box, 200);
    if (refinement == Refinement::kBrent || refinement == Refinement::kNewton) {
      EXPECT_GE(tally.converged, tally.in_box * 95 / 100) << static_cast<int>(refinement);
    }
  }
}

TEST(MinimizeRefinePropertyTest, OfKinkedFunctions) {
  for (const Refinement refinement : kAll) Check(KinkedCase, refinement, 2000, 200);
}

TEST(MinimizeRefinePropertyTest, OfNoisyFunctions) {
  for (const Refinement refinement : kAll) Check(NoisyCase, refinement, 3000, 200);
}

}  // namespace
}  // namespace baseband::minimize
