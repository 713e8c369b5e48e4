// The search: ties, NaNs, cutting, progress and refusals.
#include "kernels/minimize/search.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/minimize/expression_functional.h"
#include "kernels/minimize/schwefel.h"
#include "tests/support/matchers.h"
#include "tests/support/minimize_functionals.h"
#include "tests/support/minimize_search.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::kInfinity;
using ::baseband::testing::kNan;
using ::baseband::testing::MakeProblem;
using ::baseband::testing::SearchOnCpu;
using ::baseband::testing::TableSettings;
using ::testing::_;

// The last piece of a grid of 2^40 points, alone.
TEST(MinimizeSearchTest, TheEndOfAHugeGridIsSearched) {
  Settings settings;
  settings.functional = testing::MakeBowl({1048575.0, 1048570.0});
  settings.grid = testing::MakeGrid({{0.0, 1.0, int64_t{1} << 20}, {0.0, 1.0, int64_t{1} << 20}});
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
  settings.grid = testing::MakeGrid({{0.0, 1.0, int64_t{1} << 32}});
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
  settings.grid =
      testing::MakeGrid(std::vector<Axis>(static_cast<size_t>(n), {-500.0, step, count}));
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
  settings.grid =
      testing::MakeGrid(std::vector<Axis>(static_cast<size_t>(n), {-500.0, step, counts[n]}));
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
  std::vector<double> values = testing::RandomValues(5000, 1);
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
  std::vector<double> values = testing::RandomValues(3000, 2);
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
  const std::vector<double> values = testing::RandomValues(20000, 3);
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
  std::vector<double> values = testing::RandomValues(20000, 3);
  values[777] = kNan;
  Settings settings = TableSettings(values);
  settings.nan_policy = NanPolicy::kFail;
  const ProblemPtr problem = MakeProblem(settings);
  Search search = *Search::Create(problem, PieceLimits());
  testing::RunSearch(&search, [&](const Piece& piece, uint8_t* output) {
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
  std::vector<double> values = testing::RandomValues(24000, 5, 3000);
  for (size_t i = 0; i < values.size(); i += 97) values[i] = kNan;
  for (const std::vector<Axis>& axes :
       {std::vector<Axis>{{0, 1, 24000}}, std::vector<Axis>{{0, 1, 20}, {0, 1, 30}, {0, 1, 40}},
        std::vector<Axis>{{0, 1, 8000}, {0, 1, 3}}}) {
    Settings settings = TableSettings(values);
    settings.grid = testing::MakeGrid(axes);
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
  const std::vector<double> values = testing::RandomValues(10000, 6);
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

TEST(MinimizeSearchTest, ProgressCountsPointsOnce) {
  const ProblemPtr problem = MakeProblem(TableSettings(testing::RandomValues(1000, 9)));
  PieceLimits limits;
  limits.operations = 300;
  Search search = *Search::Create(problem, limits);
  int64_t before = 0;
  EXPECT_EQ(search.progress().index, -1);
  testing::RunSearch(&search, [&](const Piece& piece, uint8_t* output) {
    EXPECT_GE(search.progress().done, before);
    before = search.progress().done;
    EvaluatePieceOnCpu(*problem, piece, &CpuWorkspace::OfThisThread(), output);
  });
  EXPECT_EQ(search.progress().done, 1000);
  EXPECT_EQ(search.progress().total, 1000);
}

// By what devices are compared: seeds 10786 and 15726 of differential_gpu_test had no value at all
// outside the searched part, and were to agree within 0.
TEST(MinimizeSearchTest, TheSizeOfValuesIsThatOfTheSearchedPart) {
  std::vector<double> values(1000, kNan);
  for (size_t i = 500; i < 700; ++i) values[i] = i % 2 == 0 ? -3.0 : 2.0;
  for (size_t i = 700; i < 1000; ++i) values[i] = 1e9;
  Settings settings = TableSettings(values);
  settings.first = 500;
  settings.count = 200;
  const ProblemPtr problem = MakeProblem(settings);
  EXPECT_EQ(testing::SizeOfValues(*problem, SearchOnCpu(problem)), 3.0);
  values[999] = kInfinity;  // of one number among many that are none
  for (size_t i = 0; i < 999; ++i) values[i] = i == 17 ? -0.5 : kNan;
  const ProblemPtr rare = MakeProblem(TableSettings(values));
  EXPECT_EQ(testing::SizeOfValues(*rare, SearchOnCpu(rare)), 0.5);
}

TEST(MinimizeSearchTest, BrokenSettingsAreRefusedByName) {
  const Settings good = TableSettings(testing::RandomValues(100, 10));
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
