// Refinement: what it finds between the grid's points, and what it says of that.
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kernels/minimize/search.h"
#include "tests/support/matchers.h"
#include "tests/support/minimize_functionals.h"
#include "tests/support/minimize_search.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::MakeBowl;
using ::baseband::testing::MakeGrid;
using ::baseband::testing::MakeProblem;

Answer Refined(const FunctionalPtr& functional, const std::vector<Axis>& axes,
               Refinement refinement, Goal goal = Goal::kMinimum) {
  Settings settings;
  settings.functional = functional;
  settings.grid = MakeGrid(axes);
  settings.refinement = refinement;
  settings.goal = goal;
  return testing::SearchOnCpu(MakeProblem(settings));
}
Answer Refined(absl::string_view formula, const std::vector<Axis>& axes, Refinement refinement,
               Goal goal = Goal::kMinimum) {
  return Refined(testing::MakeFormula(formula, axes.size()), axes, refinement, goal);
}

class RefinementTest : public ::testing::TestWithParam<Refinement> {
 protected:
  // Zoom and Parabola end after so many steps, wherever they are then.
  static bool Descends() {
    return GetParam() == Refinement::kBrent || GetParam() == Refinement::kNewton;
  }
};
INSTANTIATE_TEST_SUITE_P(All, RefinementTest,
                         ::testing::Values(Refinement::kZoom, Refinement::kParabola,
                                           Refinement::kBrent, Refinement::kNewton));

TEST_P(RefinementTest, TheBottomOfABowlIsReached) {
  const std::vector<double> centre = {0.33, -0.47, 0.21, 0.05};
  for (size_t n = 1; n <= 4; ++n) {
    Settings settings;
    settings.functional = MakeBowl({centre.begin(), centre.begin() + static_cast<ptrdiff_t>(n)});
    settings.grid = MakeGrid(std::vector<Axis>(n, {-5.0, 1.0, 11}));
    settings.refinement = GetParam();
    settings.zoom_levels = 12;
    const Answer answer = testing::SearchOnCpu(MakeProblem(settings));
    // A parabola an axis knows nothing of the slanted terms.
    const bool rough = GetParam() == Refinement::kParabola && n > 1;
    EXPECT_EQ(answer.outcome, rough ? Outcome::kOutOfRounds : Outcome::kConverged) << n;
    EXPECT_LE(answer.value, answer.grid_value);
    EXPECT_EQ(answer.value, settings.functional->At(answer.point));
    EXPECT_THAT(answer.coarse_axes, IsEmpty());
    for (size_t k = 0; k < n; ++k) {
      EXPECT_NEAR(answer.point[k], centre[k], rough ? 0.2 : 1e-6) << n;
      EXPECT_LE(std::abs(answer.point[k] - centre[k]), answer.point_error[k]) << n;
      EXPECT_NEAR(answer.curvature[k], 2.0 * (1.0 + static_cast<double>(k)), 1e-6);
    }
  }
}

// Differences over a fixed step erred by 9e-5 here, for the third derivative is not 0.
TEST_P(RefinementTest, TheMinimumOfAQuarticIsFoundOrNotCalledOne) {
  const Answer answer = Refined("x^4-3*x^3+2", {{-1.0, 0.07, 72}}, GetParam());
  if (Descends()) {
    EXPECT_EQ(answer.outcome, Outcome::kConverged);
    EXPECT_NEAR(answer.point[0], 2.25, 1e-7);
  } else {
    EXPECT_EQ(answer.outcome, Outcome::kOutOfRounds);
    EXPECT_GT(answer.point_error[0], 1e-7);
  }
  EXPECT_LE(std::abs(answer.point[0] - 2.25), answer.point_error[0]);
  EXPECT_NEAR(answer.curvature[0], 20.25, 0.05);
}

// Along a valley that slants, axis after axis leads nowhere soon: 20 rounds of it left 1e-3.
TEST_P(RefinementTest, TheBottomOfASlantedValleyIsFoundOrNotCalledOne) {
  for (const double step : {0.1, 0.25, 0.5, 1.0}) {
    for (const char* const formula :
         {"100*(x-y)^2+(x+y-0.13)^2", "1e6*(x-y)^2+(x+y-0.13)^2", "100*(x-y)^4+(x+y-0.13)^2"}) {
      const Axis axis{-1.0, step, static_cast<int64_t>(2.0 / step) + 1};
      const Answer answer = Refined(formula, {axis, axis}, GetParam());
      if (answer.outcome == Outcome::kConverged) {
        EXPECT_LE(answer.value, 1e-9) << formula << ", step " << step;
        EXPECT_NEAR(answer.point[0], 0.065, 2e-6 * step);
        EXPECT_NEAR(answer.point[1], 0.065, 2e-6 * step);
      } else {
        EXPECT_THAT(answer.outcome, AnyOf(Outcome::kOutOfRounds, Outcome::kUnresolved))
            << formula << ", step " << step;
      }
      if (Descends() && formula[4] != ')' && formula[9] == '2') {
        EXPECT_EQ(answer.outcome, Outcome::kConverged) << formula << ", step " << step;
      }
      for (size_t k = 0; k < 2; ++k) {
        EXPECT_FALSE(std::abs(answer.point[k] - 0.065) > answer.point_error[k])
            << formula << ", step " << step << ": " << answer.point[k];
      }
    }
  }
}

TEST_P(RefinementTest, AMaximumIsTheMinimumOfTheNegative) {
  const std::vector<Axis> axes = {{-1.0, 0.3, 12}, {1.0, -0.3, 12}};
  const Answer minimum = Refined("(x-0.1)^2+cosh(y-x)", axes, GetParam());
  const Answer maximum = Refined("-(x-0.1)^2-cosh(y-x)", axes, GetParam(), Goal::kMaximum);
  EXPECT_EQ(maximum.outcome, minimum.outcome);
  EXPECT_EQ(maximum.value, -minimum.value);
  for (size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(maximum.point[k], minimum.point[k]);
    EXPECT_EQ(maximum.point_error[k], minimum.point_error[k]);
    EXPECT_EQ(maximum.curvature[k], -minimum.curvature[k]);
    EXPECT_LT(maximum.curvature[k], 0.0);
  }
}

TEST_P(RefinementTest, TheEndsOfAnAxisAreNotPassed) {
  const Answer answer =
      Refined(MakeBowl({-3.0, 0.25}), {{0.0, 0.5, 9}, {-1.0, 0.5, 9}}, GetParam());
  EXPECT_TRUE(answer.at_edge);
  EXPECT_EQ(answer.point[0], 0.0);
  if (GetParam() != Refinement::kParabola) {
    EXPECT_EQ(answer.outcome, Outcome::kAtEdge);
    EXPECT_NEAR(answer.point[1], 0.25 - 0.25 * 3.0 / 2.0, 1e-6);
  }
}

// The part of the axis that was searched ends before its minimum.
TEST_P(RefinementTest, AMinimumBeyondTheBoxIsNotCalledOne) {
  Settings settings;
  settings.functional = testing::MakeFormula("(x-5)^2", 1);
  settings.grid = MakeGrid({{0.0, 1.0, 10}});
  settings.count = 3;
  settings.refinement = GetParam();
  const Answer answer = testing::SearchOnCpu(MakeProblem(settings));
  EXPECT_EQ(answer.grid_point[0], 2.0);
  EXPECT_EQ(answer.point[0], 3.0);
  EXPECT_EQ(answer.outcome, Outcome::kAtBox);
  EXPECT_FALSE(answer.at_edge);
}

TEST_P(RefinementTest, TheBottomOfAKinkIsFoundOrNotCalledOne) {
  const Answer answer = Refined("abs(x-0.123)", {{-2.0, 0.3, 15}}, GetParam());
  EXPECT_EQ(answer.outcome, Descends() ? Outcome::kConverged : Outcome::kOutOfRounds);
  if (Descends()) {
    EXPECT_NEAR(answer.point[0], 0.123, 0.3e-6);
    EXPECT_LE(std::abs(answer.point[0] - 0.123), answer.point_error[0]);
    EXPECT_TRUE(std::isnan(answer.curvature[0]));
  }
  // Of two axes it cannot be told from a cliff's edge.
  const Answer of_two =
      Refined("abs(x-0.123)+abs(y-x-0.1)", {{-2.0, 0.3, 15}, {-2.0, 0.3, 15}}, GetParam());
  EXPECT_THAT(of_two.outcome, AnyOf(Outcome::kUnresolved, Outcome::kOutOfRounds));
}

TEST_P(RefinementTest, NothingIsFoundWhereNothingIs) {
  for (const char* const formula : {"1+0*x", "select(x > 0.1, 1, 2)", "floor(10*x)^2"}) {
    const Answer answer = Refined(formula, {{-2.0, 0.3, 15}}, GetParam());
    // A fit of few points through steps sees a slope.
    EXPECT_THAT(answer.outcome, AnyOf(Outcome::kUnresolved, Outcome::kOutOfRounds)) << formula;
    if (Descends()) {
      EXPECT_EQ(answer.outcome, Outcome::kUnresolved) << formula;
    }
    EXPECT_LE(answer.value, answer.grid_value);
  }
}

TEST_P(RefinementTest, PointsWithoutAValueAreNoWayOut) {
  for (const char* const formula : {"sqrt(x)+0.001*x", "x*log(x)*0+x", "sqrt(0.55+x)"}) {
    const Answer answer = Refined(formula, {{-1.0, 0.3, 12}}, GetParam());
    EXPECT_LE(answer.value, answer.grid_value) << formula;
    EXPECT_THAT(answer.outcome, AnyOf(Outcome::kUnresolved, Outcome::kOutOfRounds)) << formula;
    EXPECT_GT(answer.num_nan, 0);
  }
}

TEST_P(RefinementTest, AStepLongerThanTheWellIsTold) {
  EXPECT_THAT(Refined("cos(x)+0.001*x", {{0.0, 10.0, 100}}, GetParam()).coarse_axes,
              ElementsAre(0));
  EXPECT_THAT(Refined("cos(x)+0.001*x", {{0.0, 0.5, 2000}}, GetParam()).coarse_axes, IsEmpty());
  if (Descends()) {
    EXPECT_THAT(
        Refined("(x-0.1)^2-exp(-100*(y-0.1)^2)", {{-2.0, 0.3, 15}, {-3.0, 1.0, 7}}, GetParam())
            .coarse_axes,
        ElementsAre(1));
  }
}

// 1e9 + x^2 is told from 1e9 to 1e-7: x to 1e-4 and better, but not to 1e-6.
TEST_P(RefinementTest, RoundingIsNotTakenForAMinimum) {
  const Answer answer = Refined("1e9+(x-0.1234)^2", {{-2.0, 0.03, 150}}, GetParam());
  EXPECT_NE(answer.outcome, Outcome::kConverged);
  EXPECT_LE(std::abs(answer.point[0] - 0.1234), answer.point_error[0]);
}

TEST_P(RefinementTest, CoordinatesFarFromZeroAreFoundToTheirRounding) {
  const Answer answer = Refined("(x-1e9-0.37)^2", {{1e9 - 5.0, 1.0, 15}}, GetParam());
  EXPECT_EQ(answer.outcome, Outcome::kConverged);
  EXPECT_NEAR(answer.point[0], 1e9 + 0.37, 1e-6);
  EXPECT_LE(std::abs(answer.point[0] - (1e9 + 0.37)), answer.point_error[0]);
}

TEST_P(RefinementTest, AxesOfOnePointStay) {
  const Answer answer = Refined(MakeBowl({0.3, 0.2}), {{-5.0, 1.0, 11}, {7.0, 0.0, 1}}, GetParam());
  EXPECT_EQ(answer.outcome, Outcome::kConverged);
  EXPECT_NEAR(answer.point[0], 0.3 - 0.25 * 6.8, 1e-6);
  EXPECT_EQ(answer.point[1], 7.0);
  const Answer none = Refined(MakeBowl({0.3}), {{7.0, 0.0, 1}}, GetParam());
  EXPECT_EQ(none.outcome, Outcome::kNone);
  EXPECT_EQ(none.point[0], 7.0);
}

// A function without any order, on which no method ends by itself soon.
TEST_P(RefinementTest, EvaluationsAreBounded) {
  int64_t evaluations = 0;
  Settings settings;
  settings.functional = std::make_shared<const testing::OfCoordinates>([&](const Coordinates& x) {
    ++evaluations;
    double value = 0.0;
    for (const double of_axis : x)
      value = std::fmod(value + std::abs(std::sin(1e9 * of_axis)), 1.0);
    return value;
  });
  settings.grid = MakeGrid(std::vector<Axis>(4, {-1.0, 0.5, 3}));
  settings.refinement = GetParam();
  settings.zoom_levels = kMaxZoomLevels;
  const Answer answer = testing::SearchOnCpu(MakeProblem(settings));
  EXPECT_LE(evaluations, settings.grid.num_points() + kMaxRefinementEvaluations + 2);
  EXPECT_NE(answer.outcome, Outcome::kConverged);
  EXPECT_LE(answer.value, answer.grid_value);
}

TEST_P(RefinementTest, EndsWhenPatienceDoes) {
  Settings settings;
  settings.functional = MakeBowl({0.33, -0.47});
  settings.grid = MakeGrid({{-5.0, 1.0, 11}, {-5.0, 1.0, 11}});
  settings.refinement = GetParam();
  const ProblemPtr problem = MakeProblem(settings);
  Search search = *Search::Create(problem, {});
  testing::RunSearch(&search, [&](const Piece& piece, uint8_t* output) {
    EvaluatePieceOnCpu(*problem, piece, &CpuWorkspace::OfThisThread(), output);
  });
  int asked = 0;
  const auto answer = search.Finish(
      [&asked] { return ++asked > 3 ? absl::CancelledError("enough") : absl::OkStatus(); });
  EXPECT_THAT(answer.status(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("enough")));
  EXPECT_EQ(asked, 4);
  EXPECT_THAT(search.Finish([] { return absl::OkStatus(); }), IsOk());
}

TEST(MinimizeRefineTest, WithoutARefinementTheGridsPointIsTheAnswer) {
  const Answer answer =
      Refined(MakeBowl({0.33, -0.47}), {{-5.0, 1.0, 11}, {-5.0, 1.0, 11}}, Refinement::kNone);
  EXPECT_EQ(answer.outcome, Outcome::kNone);
  EXPECT_EQ(answer.point, answer.grid_point);
  EXPECT_EQ(answer.value, answer.grid_value);
  EXPECT_NEAR(answer.curvature[0], 2.0, 1e-9);
  EXPECT_NEAR(answer.curvature[1], 4.0, 1e-9);
}

}  // namespace
}  // namespace baseband::minimize
