// The search: grids, ties, NaNs, cutting, top K, profiles and refinement.
#include "kernels/minimize/search.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/minimize/expression_functional.h"
#include "kernels/minimize/schwefel.h"
#include "tests/support/minimize_search.h"
#include "tests/support/status_matchers.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::MakeGrid;
using ::baseband::testing::MakeProblem;
using ::baseband::testing::RunSearch;
using ::baseband::testing::SearchOnCpu;
using ::baseband::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Any values on any grid.
class Table final : public Functional {
 public:
  explicit Table(std::vector<double> values) : values_(std::move(values)) {}
  FunctionalKind kind() const override { return FunctionalKind::kExpression; }
  absl::Status Check(const Grid&, Method) const override { return absl::OkStatus(); }
  double Cost(const Grid&, Method) const override { return 1.0; }
  int64_t HostBytes() const override { return 0; }
  void Evaluate(const Run<float>& run, CpuWorkspace*) const override { Copy(run); }
  void Evaluate(const Run<double>& run, CpuWorkspace*) const override { Copy(run); }
  double At(const Coordinates& x) const override {
    return values_[static_cast<size_t>(std::llround(x[0]))];
  }

 private:
  template <typename T>
  void Copy(const Run<T>& run) const {
    for (size_t i = 0; i < run.count; ++i) {
      run.values[i] = static_cast<T>(values_[static_cast<size_t>(run.first) + i]);
    }
  }
  std::vector<double> values_;
};

// A smooth bowl off the grid, (x - centre)' A (x - centre) + 3, in one to four dimensions.
class Bowl final : public Functional {
 public:
  explicit Bowl(std::vector<double> centre) : centre_(std::move(centre)) {}
  FunctionalKind kind() const override { return FunctionalKind::kExpression; }
  absl::Status Check(const Grid&, Method) const override { return absl::OkStatus(); }
  double Cost(const Grid&, Method) const override { return 1.0; }
  int64_t HostBytes() const override { return 0; }
  void Evaluate(const Run<float>&, CpuWorkspace*) const override {}
  void Evaluate(const Run<double>& run, CpuWorkspace*) const override {
    for (size_t i = 0; i < run.count; ++i) {
      run.values[i] = At(run.grid->CoordinatesOf(run.first + static_cast<int64_t>(i)));
    }
  }
  double At(const Coordinates& x) const override {
    double value = 3.0;
    for (size_t k = 0; k < centre_.size(); ++k) {
      const double d = x[k] - centre_[k];
      value += (1.0 + static_cast<double>(k)) * d * d;
      if (k > 0) value += 0.5 * d * (x[k - 1] - centre_[k - 1]);
    }
    return value;
  }

 private:
  std::vector<double> centre_;
};

Settings TableSettings(std::vector<double> values) {
  Settings settings;
  settings.grid = MakeGrid({{0.0, 1.0, static_cast<int64_t>(values.size())}});
  settings.functional = std::make_shared<const Table>(std::move(values));
  return settings;
}

std::vector<double> RandomValues(size_t count, uint32_t seed, int levels = 1 << 20) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> level(0, levels - 1);
  std::vector<double> values(count);
  for (double& value : values) value = level(random) - levels / 2;
  return values;
}

TEST(MinimizeGridTest, IndicesAreRowMajorAndCoordinatesRoundedOnce) {
  const Grid grid = MakeGrid({{1.0, 0.1, 3}, {-5.0, 2.0, 4}, {0.0, -0.3, 5}});
  ASSERT_EQ(grid.num_points(), 60);
  for (int64_t index = 0; index < 60; ++index) {
    const Indices i = grid.IndicesOf(index);
    EXPECT_EQ(i, (Indices{{index / 20, index / 5 % 4, index % 5, 0}}));
    EXPECT_EQ(grid.IndexOf(i), index);
    const Coordinates x = grid.CoordinatesOf(index);
    EXPECT_EQ(x[0], std::fma(static_cast<double>(i[0]), 0.1, 1.0));
    EXPECT_EQ(x[2], std::fma(static_cast<double>(i[2]), -0.3, 0.0));
  }
}

TEST(MinimizeGridTest, TwoToTheFortiethPointIsReached) {
  const Grid grid = MakeGrid({{0.0, 1e-6, int64_t{1} << 20}, {7.0, 0.17, int64_t{1} << 20}});
  const int64_t last = kMaxPoints - 1;
  EXPECT_EQ(grid.num_points(), kMaxPoints);
  EXPECT_EQ(grid.IndicesOf(last), (Indices{{(1 << 20) - 1, (1 << 20) - 1, 0, 0}}));
  EXPECT_EQ(grid.IndexOf(grid.IndicesOf(last)), last);
  EXPECT_EQ(grid.CoordinatesOf(last)[1], std::fma(1048575.0, 0.17, 7.0));
  EXPECT_THAT(Grid::Create(std::vector<Axis>{{0, 1, int64_t{1} << 20}, {0, 1, (1 << 20) + 1}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2^40")));
}

TEST(MinimizeGridTest, BrokenAxesAreRefused) {
  const auto refused = [](std::vector<Axis> axes) { return !Grid::Create(axes).ok(); };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused(std::vector<Axis>(5)));
  EXPECT_TRUE(refused({{0.0, 1.0, 0}}));
  EXPECT_TRUE(refused({{0.0, 0.0, 2}}));
  EXPECT_FALSE(refused({{0.0, 0.0, 1}}));
  EXPECT_TRUE(refused({{kNan, 1.0, 2}}));
  EXPECT_TRUE(refused({{1e308, 1e308, 2}}));
}

// The last piece of a grid of 2^40 points, alone.
TEST(MinimizeSearchTest, TheEndOfAHugeGridIsSearched) {
  Settings settings;
  settings.functional = std::make_shared<const Bowl>(std::vector<double>{1048575.0, 1048570.0});
  settings.grid = MakeGrid({{0.0, 1.0, int64_t{1} << 20}, {0.0, 1.0, int64_t{1} << 20}});
  settings.first = kMaxPoints - 5000;
  const Answer answer = SearchOnCpu(MakeProblem(settings));
  EXPECT_EQ(answer.top.front().index, kMaxPoints - 1 - 5);
  EXPECT_EQ(answer.evaluations, 5000);
  EXPECT_TRUE(answer.at_edge);
}

// |x - a| - b is zero at two points beyond 2^31; every number here is exact in float64.
TEST(MinimizeSearchTest, TwoToTheThirtySecondPointsInOneRun) {
  const auto expression = Expression::Parse("abs(abs(x - 3000000000) - 7)", {{"x"}, {}, {}});
  ASSERT_TRUE(expression.ok()) << expression.status();
  Settings settings;
  settings.functional = *ExpressionFunctional::Create(*expression, {}, {});
  settings.grid = MakeGrid({{0.0, 1.0, int64_t{1} << 32}});
  const Answer answer = SearchOnCpu(MakeProblem(settings));
  EXPECT_EQ(answer.top.front().index, 2999999993);
  EXPECT_EQ(answer.value, 0.0);
  EXPECT_EQ(answer.evaluations, int64_t{1} << 32);
}

class SchwefelTest : public ::testing::TestWithParam<int> {};

TEST_P(SchwefelTest, TheKnownMinimumIsFoundInBothPrecisions) {
  const int n = GetParam();
  Settings settings;
  settings.functional = MakeSchwefel(n);
  // Float32 resolves 3e-5 of the value, and so 0.02 of a coordinate.
  const int64_t counts[] = {0, 10001, 1001, 101, 41};
  const int64_t count = counts[n];
  const double step = 1000.0 / static_cast<double>(count - 1);
  settings.grid = MakeGrid(std::vector<Axis>(static_cast<size_t>(n), {-500.0, step, count}));
  settings.refinement = Refinement::kBrent;
  for (const Precision precision : {Precision::kFloat64, Precision::kFloat32}) {
    settings.precision = precision;
    const Answer answer = SearchOnCpu(MakeProblem(settings));
    for (size_t k = 0; k < static_cast<size_t>(n); ++k) {
      EXPECT_NEAR(answer.grid_point[k], 420.968746, 0.5 * step + 1e-9);
      EXPECT_NEAR(answer.point[k], 420.968746, 1e-4);
      EXPECT_GT(answer.curvature[k], 0.0);
    }
    EXPECT_NEAR(answer.value, 0.0, 1e-7 * n);
    EXPECT_FALSE(answer.at_edge);
    EXPECT_EQ(answer.evaluations, settings.grid.num_points());
  }
}

TEST_P(SchwefelTest, TheExpressionHasTheBuiltInsValuesBitForBit) {
  const int n = GetParam();
  Names names;
  std::string text = std::to_string(n) + " * 418.9828872724339";
  for (int k = 0; k < n; ++k) {
    const std::string x(1, "xyzw"[k]);
    names.variables.push_back(x);
    text += " - " + x + " * sin(sqrt(abs(" + x + ")))";
  }
  const auto expression = Expression::Parse(text, names);
  ASSERT_TRUE(expression.ok()) << expression.status();
  Settings settings;
  const int64_t counts[] = {0, 1000001, 1001, 101, 41};
  const double step = 1000.0 / static_cast<double>(counts[n] - 1);
  settings.grid = MakeGrid(std::vector<Axis>(static_cast<size_t>(n), {-500.0, step, counts[n]}));
  settings.profile_axis = n - 1;
  settings.profile_bins = 41;
  settings.top_k = 10;
  settings.separation = {{5, 5, 5, 5}};
  for (const Precision precision : {Precision::kFloat64, Precision::kFloat32}) {
    settings.precision = precision;
    settings.functional = MakeSchwefel(n);
    const Answer built_in = SearchOnCpu(MakeProblem(settings));
    settings.functional = *ExpressionFunctional::Create(*expression, {}, {});
    const Answer written = SearchOnCpu(MakeProblem(settings));
    ASSERT_EQ(written.top.size(), 10u);
    for (size_t i = 0; i < 10; ++i) {
      EXPECT_EQ(written.top[i].index, built_in.top[i].index);
      EXPECT_EQ(written.top[i].value, built_in.top[i].value);
    }
    EXPECT_EQ(written.profile, built_in.profile);
  }
}

INSTANTIATE_TEST_SUITE_P(Dimensions, SchwefelTest, ::testing::Range(1, 5));

TEST(MinimizeSearchTest, TiesGoToTheLowestIndex) {
  std::vector<double> values = RandomValues(5000, 1);
  values[4321] = values[1234] = values[3000] = -1e9;
  for (const Precision precision : {Precision::kFloat64, Precision::kFloat32}) {
    Settings settings = TableSettings(values);
    settings.precision = precision;
    EXPECT_EQ(SearchOnCpu(MakeProblem(settings)).top.front().index, 1234);
    PieceLimits limits;
    limits.operations = 7;
    EXPECT_EQ(SearchOnCpu(MakeProblem(settings), limits, 5).top.front().index, 1234);
  }
}

TEST(MinimizeSearchTest, ZerosOfBothSignsTie) {
  for (const Goal goal : {Goal::kMinimum, Goal::kMaximum}) {
    Settings settings = TableSettings({0.0, -0.0, 0.0});
    settings.goal = goal;
    EXPECT_EQ(SearchOnCpu(MakeProblem(settings)).top.front().index, 0);
  }
}

TEST(MinimizeSearchTest, InfinitiesAreValues) {
  EXPECT_EQ(SearchOnCpu(MakeProblem(TableSettings({kInfinity, kInfinity}))).top.front().index, 0);
  EXPECT_EQ(SearchOnCpu(MakeProblem(TableSettings({5, -kInfinity, 1}))).top.front().index, 1);
}

TEST(MinimizeSearchTest, AMaximumIsTheMinimumOfTheNegative) {
  std::vector<double> values = RandomValues(3000, 2);
  std::vector<double> negative = values;
  for (double& value : negative) value = -value;
  Settings settings = TableSettings(values);
  settings.goal = Goal::kMaximum;
  settings.top_k = 5;
  settings.profile_axis = 0;
  settings.profile_bins = 7;
  Settings other = TableSettings(negative);
  other.top_k = 5;
  other.profile_axis = 0;
  other.profile_bins = 7;
  const Answer maximum = SearchOnCpu(MakeProblem(settings));
  const Answer minimum = SearchOnCpu(MakeProblem(other));
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(maximum.top[i].index, minimum.top[i].index);
    EXPECT_EQ(maximum.top[i].value, -minimum.top[i].value);
  }
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(maximum.profile[i], -minimum.profile[i]);
}

TEST(MinimizeSearchTest, NansChangeNothingButTheCount) {
  const std::vector<double> values = RandomValues(20000, 3);
  const Answer expected = SearchOnCpu(MakeProblem(TableSettings(values)));
  std::mt19937 random(4);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> broken = values;
    int64_t lowest = std::numeric_limits<int64_t>::max();
    int64_t count = 0;
    for (int i = 0; i <= trial; ++i) {
      const size_t at = random() % values.size();
      if (static_cast<int64_t>(at) == expected.top.front().index || std::isnan(broken[at]))
        continue;
      broken[at] = kNan;
      lowest = std::min(lowest, static_cast<int64_t>(at));
      ++count;
    }
    const Answer answer = SearchOnCpu(MakeProblem(TableSettings(broken)));
    EXPECT_EQ(answer.top.front().index, expected.top.front().index);
    EXPECT_EQ(answer.top.front().value, expected.top.front().value);
    EXPECT_EQ(answer.num_nan, count);
    EXPECT_EQ(answer.first_nan, lowest);
  }
}

TEST(MinimizeSearchTest, NansEndTheSearchIfThatIsThePolicy) {
  std::vector<double> values = RandomValues(20000, 3);
  values[777] = kNan;
  Settings settings = TableSettings(values);
  settings.nan_policy = NanPolicy::kFail;
  const ProblemPtr problem = MakeProblem(settings);
  Search search = *Search::Create(problem, PieceLimits());
  RunSearch(&search, [&](const Piece& piece, uint8_t* output) {
    EvaluatePieceOnCpu(*problem, piece, &CpuWorkspace::OfThisThread(), output);
  });
  EXPECT_THAT(search.Finish(), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("point 777")));
}

TEST(MinimizeSearchTest, NothingButNansHasNoMinimum) {
  const Answer answer = SearchOnCpu(MakeProblem(TableSettings(std::vector<double>(300, kNan))));
  EXPECT_TRUE(answer.top.empty());
  EXPECT_EQ(answer.num_nan, 300);
}

bool Same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Pieces of any size, results in any order, in one and more dimensions.
TEST(MinimizeSearchTest, TheAnswerDoesNotDependOnTheCutting) {
  std::vector<double> values = RandomValues(24000, 5, 3000);
  for (size_t i = 0; i < values.size(); i += 97) values[i] = kNan;
  for (const std::vector<Axis>& axes :
       {std::vector<Axis>{{0, 1, 24000}}, std::vector<Axis>{{0, 1, 20}, {0, 1, 30}, {0, 1, 40}},
        std::vector<Axis>{{0, 1, 8000}, {0, 1, 3}}}) {
    Settings settings = TableSettings(values);
    settings.grid = MakeGrid(axes);
    settings.top_k = 9;
    settings.separation = {{3, 2, 4, 1}};
    settings.first = 55;
    settings.count = 23000;
    settings.refinement = Refinement::kNone;
    for (int axis = 0; axis < static_cast<int>(axes.size()); ++axis) {
      settings.profile_axis = axis;
      settings.profile_bins =
          static_cast<int>(std::min<int64_t>(13, axes[static_cast<size_t>(axis)].count));
      const ProblemPtr problem = MakeProblem(settings);
      const Answer expected = SearchOnCpu(problem);
      ASSERT_EQ(expected.top.size(), 9u);
      for (const double operations : {1e9, 5000.0, 1000.0, 129.0, 128.0, 37.0}) {
        PieceLimits limits;
        limits.operations = operations;
        const Answer answer = SearchOnCpu(problem, limits, static_cast<uint32_t>(operations));
        ASSERT_EQ(answer.top.size(), expected.top.size());
        for (size_t i = 0; i < answer.top.size(); ++i) {
          EXPECT_EQ(answer.top[i].index, expected.top[i].index);
          EXPECT_EQ(answer.top[i].value, expected.top[i].value);
        }
        EXPECT_EQ(answer.num_nan, expected.num_nan);
        EXPECT_EQ(answer.first_nan, expected.first_nan);
        for (size_t i = 0; i < answer.profile.size(); ++i) {
          EXPECT_TRUE(Same(answer.profile[i], expected.profile[i])) << i;
        }
      }
    }
  }
}

TEST(MinimizeSearchTest, ARangeCanBeResumed) {
  const std::vector<double> values = RandomValues(10000, 6);
  const int64_t expected = SearchOnCpu(MakeProblem(TableSettings(values))).top.front().index;
  Peak best{-1, kInfinity};
  for (int64_t first = 0; first < 10000; first += 3333) {
    Settings settings = TableSettings(values);
    settings.first = first;
    settings.count = std::min<int64_t>(3333, 10000 - first);
    const Peak peak = SearchOnCpu(MakeProblem(settings)).top.front();
    EXPECT_GE(peak.index, first);
    EXPECT_LT(peak.index, first + 3333);
    if (peak.value < best.value) best = peak;
  }
  EXPECT_EQ(best.index, expected);
}

// The greedy definition, word for word.
std::vector<int64_t> BruteTop(const Settings& settings, const std::vector<double>& values) {
  std::vector<int64_t> chosen;
  while (static_cast<int>(chosen.size()) < settings.top_k) {
    int64_t best = -1;
    for (int64_t index = 0; index < static_cast<int64_t>(values.size()); ++index) {
      const Indices at = settings.grid.IndicesOf(index);
      bool excluded = std::isnan(values[static_cast<size_t>(index)]);
      for (const int64_t other : chosen) {
        const Indices centre = settings.grid.IndicesOf(other);
        bool inside = true;
        for (size_t k = 0; k < kMaxAxes; ++k) {
          inside = inside && std::abs(at[k] - centre[k]) < settings.separation[k];
        }
        excluded = excluded || inside;
      }
      if (!excluded &&
          (best < 0 || values[static_cast<size_t>(index)] < values[static_cast<size_t>(best)])) {
        best = index;
      }
    }
    if (best < 0) break;
    chosen.push_back(best);
  }
  return chosen;
}

TEST(MinimizeSearchTest, TheTopKAreTheGreedyOnes) {
  std::mt19937 random(7);
  const std::vector<std::vector<Axis>> grids = {{{0, 1, 2000}},
                                                {{0, 1, 40}, {0, 1, 50}},
                                                {{0, 1, 5}, {0, 1, 20}, {0, 1, 20}},
                                                {{0, 1, 500}, {0, 1, 4}}};
  for (int trial = 0; trial < 40; ++trial) {
    // Smooth in places, so that neighbours of a peak are the next best; coarse, so that many tie.
    std::vector<double> values(2000);
    const double period = 20.0 + 5.0 * trial;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = std::round(50.0 * std::sin(static_cast<double>(i) / period)) +
                  static_cast<double>(random() % 5);
      if (random() % 50 == 0) values[i] = kNan;
    }
    Settings settings = TableSettings(values);
    settings.grid = MakeGrid(grids[static_cast<size_t>(trial) % grids.size()]);
    settings.top_k = 1 + trial % 12;
    for (int64_t& steps : settings.separation) steps = 1 + static_cast<int64_t>(random() % 30);
    const std::vector<int64_t> expected = BruteTop(settings, values);
    PieceLimits limits;
    limits.operations = 100.0 * (1 + trial);
    const Answer answer = SearchOnCpu(MakeProblem(settings), limits, 1);
    ASSERT_EQ(answer.top.size(), expected.size()) << trial;
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(answer.top[i].index, expected[i]);
  }
}

TEST(MinimizeSearchTest, AProfileKeepsEveryMinimum) {
  const std::vector<double> values = RandomValues(30 * 70, 8);
  for (const int axis : {0, 1}) {
    for (const int bins : {1, 7, 30}) {
      Settings settings = TableSettings(values);
      settings.grid = MakeGrid({{0, 1, 30}, {0, 1, 70}});
      settings.profile_axis = axis;
      settings.profile_bins = bins;
      std::vector<double> expected(static_cast<size_t>(bins), kInfinity);
      for (int64_t index = 0; index < 30 * 70; ++index) {
        const int64_t i = axis == 0 ? index / 70 : index % 70;
        double& least = expected[static_cast<size_t>(i * bins / (axis == 0 ? 30 : 70))];
        least = std::min(least, values[static_cast<size_t>(index)]);
      }
      EXPECT_EQ(SearchOnCpu(MakeProblem(settings)).profile, expected);
    }
  }
}

class RefinementTest : public ::testing::TestWithParam<Refinement> {};

TEST_P(RefinementTest, TheBottomOfABowlIsReached) {
  const std::vector<double> centre = {0.33, -0.47, 0.21, 0.05};
  for (size_t n = 1; n <= 4; ++n) {
    Settings settings;
    settings.functional =
        std::make_shared<const Bowl>(std::vector<double>(centre.begin(), centre.begin() + n));
    settings.grid = MakeGrid(std::vector<Axis>(n, {-5.0, 1.0, 11}));
    settings.refinement = GetParam();
    settings.zoom_levels = 12;
    const Answer answer = SearchOnCpu(MakeProblem(settings));
    // A parabola an axis knows nothing of the slanted terms. Zoom: a simplex-free search on grids
    // ends within its last one.
    const bool rough = GetParam() == Refinement::kParabola && n > 1;
    EXPECT_LE(answer.value, answer.grid_value);
    for (size_t k = 0; k < n; ++k) {
      EXPECT_NEAR(answer.point[k], centre[k], rough ? 0.2 : 1e-5) << n;
      EXPECT_NEAR(answer.curvature[k], 2.0 * (1.0 + static_cast<double>(k)), 1e-6);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, RefinementTest,
                         ::testing::Values(Refinement::kZoom, Refinement::kParabola,
                                           Refinement::kBrent, Refinement::kNewton));

TEST_P(RefinementTest, TheEndsOfAnAxisAreNotPassed) {
  Settings settings;
  settings.functional = std::make_shared<const Bowl>(std::vector<double>{-3.0, 0.25});
  settings.grid = MakeGrid({{0.0, 0.5, 9}, {-1.0, 0.5, 9}});
  settings.refinement = GetParam();
  const Answer answer = SearchOnCpu(MakeProblem(settings));
  EXPECT_TRUE(answer.at_edge);
  EXPECT_GE(answer.point[0], 0.0);
  EXPECT_NEAR(answer.point[0], 0.0, 1e-6);
}

TEST_P(RefinementTest, EndsWhenPatienceDoes) {
  Settings settings;
  settings.functional = std::make_shared<const Bowl>(std::vector<double>{0.33, -0.47});
  settings.grid = MakeGrid({{-5.0, 1.0, 11}, {-5.0, 1.0, 11}});
  settings.refinement = GetParam();
  const ProblemPtr problem = MakeProblem(settings);
  Search search = *Search::Create(problem, {});
  RunSearch(&search, [&](const Piece& piece, uint8_t* output) {
    EvaluatePieceOnCpu(*problem, piece, &CpuWorkspace::OfThisThread(), output);
  });
  int asked = 0;
  const auto answer = search.Finish(
      [&asked] { return ++asked > 3 ? absl::CancelledError("enough") : absl::OkStatus(); });
  EXPECT_THAT(answer.status(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("enough")));
  EXPECT_EQ(asked, 4);
  EXPECT_THAT(search.Finish([] { return absl::OkStatus(); }), IsOk());
}

TEST(MinimizeSearchTest, ProgressCountsPointsOnce) {
  const ProblemPtr problem = MakeProblem(TableSettings(RandomValues(1000, 9)));
  PieceLimits limits;
  limits.operations = 300;
  Search search = *Search::Create(problem, limits);
  int64_t before = 0;
  EXPECT_EQ(search.progress().index, -1);
  RunSearch(&search, [&](const Piece& piece, uint8_t* output) {
    EXPECT_GE(search.progress().done, before);
    before = search.progress().done;
    EvaluatePieceOnCpu(*problem, piece, &CpuWorkspace::OfThisThread(), output);
  });
  EXPECT_EQ(search.progress().done, 1000);
  EXPECT_EQ(search.progress().total, 1000);
}

TEST(MinimizeSearchTest, BrokenSettingsAreRefusedByName) {
  const Settings good = TableSettings(RandomValues(100, 10));
  const auto refusal = [&](auto change, const char* name) {
    Settings settings = good;
    change(&settings);
    EXPECT_THAT(Problem::Create(settings),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(name)));
  };
  refusal([](Settings* s) { s->functional = nullptr; }, "functional");
  refusal([](Settings* s) { s->top_k = 0; }, "top_k 0 is not in [1, 64]");
  refusal([](Settings* s) { s->top_k = 65; }, "top_k");
  refusal([](Settings* s) { s->separation[2] = 0; }, "separation");
  refusal([](Settings* s) { s->profile_axis = 1; }, "profile_axis");
  refusal([](Settings* s) { s->profile_axis = 0; }, "profile_bins");
  refusal([](Settings* s) { s->profile_axis = 0, s->profile_bins = 101; }, "profile_bins");
  refusal([](Settings* s) { s->first = 100; }, "first");
  refusal([](Settings* s) { s->first = 50, s->count = 51; }, "count");
  refusal([](Settings* s) { s->refinement = Refinement::kZoom, s->zoom_levels = 0; }, "zoom");
  Settings schwefel = good;
  schwefel.functional = MakeSchwefel(2);
  EXPECT_THAT(Problem::Create(schwefel), StatusIs(absl::StatusCode::kInvalidArgument, _));
}

}  // namespace
}  // namespace baseband::minimize
