// The grid search on a GPU against the CPU device: bit for bit where all operations are exact.
#include "kernels/minimize/minimize_gpu.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/minimize/expression_functional.h"
#include "kernels/minimize/schwefel.h"
#include "kernels/minimize/sinusoids.h"
#include "tests/support/gpu_test.h"
#include "tests/support/matchers.h"
#include "tests/support/minimize_gpu.h"
#include "tests/support/minimize_search.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::MakeGrid;
using ::baseband::testing::MakeProblem;
using ::baseband::testing::SearchOnGpu;

class MinimizeGpuTest : public ::baseband::testing::GpuTest {};

FunctionalPtr MakeExpression(const std::string& text, int num_axes,
                             std::vector<std::pair<std::string, double>> scalars = {},
                             std::vector<std::pair<std::string, std::vector<double>>> arrays = {}) {
  Names names;
  for (int k = 0; k < num_axes; ++k) names.variables.push_back(std::string(1, "xyzw"[k]));
  std::vector<double> scalar_values;
  std::vector<std::vector<double>> array_values;
  for (const auto& [name, value] : scalars) {
    names.scalars.push_back(name);
    scalar_values.push_back(value);
  }
  for (const auto& [name, values] : arrays) {
    names.arrays.push_back({name, static_cast<int64_t>(values.size())});
    array_values.push_back(values);
  }
  auto expression = Expression::Parse(text, names);
  EXPECT_THAT(expression, IsOk());
  auto functional = ExpressionFunctional::Create(*expression, scalar_values, array_values);
  EXPECT_THAT(functional, IsOk());
  return *functional;
}

std::string SchwefelText(int num_axes) {
  std::string text = std::to_string(num_axes) + " * 418.9828872724339";
  for (int k = 0; k < num_axes; ++k) {
    const std::string x(1, "xyzw"[k]);
    text += " - " + x + " * sin(sqrt(abs(" + x + ")))";
  }
  return text;
}

// Whole numbers, square roots and NaNs: every operation is exact or correctly rounded. Many ties.
std::string ExactText(int num_axes) {
  const std::string more[] = {"", " + 17 * x * y", " + 3 * z", " + 11 * w * z"};
  std::string text = "sqrt(fmod(31 * x * x + 5 * x";
  for (int k = 0; k < num_axes; ++k) text += more[k];
  return text + ", 97) - 3)";
}

TEST_F(MinimizeGpuTest, ExactValuesGiveTheSameBytesAsOnTheCpu) {
  const std::vector<std::vector<Axis>> grids = {{{0, 1, 700}},
                                                {{0, 1, 3000}, {-5, 1, 70}},
                                                {{0, 1, 40}, {0, 1, 50}, {0, 1, 3}},
                                                {{0, 1, 9}, {0, 1, 1}, {0, 1, 130}, {-3, 1, 128}},
                                                {{0, 1, 2}, {0, 1, 40000}}};
  std::mt19937 random(1);
  for (const auto& axes : grids) {
    Settings settings;
    settings.grid = MakeGrid(axes);
    const int num_axes = settings.grid.num_axes();
    settings.functional = MakeExpression(ExactText(num_axes), num_axes);
    settings.separation = {{5, 4, 3, 2}};
    settings.top_k = 8;
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      for (const Goal goal : {Goal::kMinimum, Goal::kMaximum}) {
        settings.precision = precision;
        settings.goal = goal;
        settings.profile_axis = static_cast<int>(random()) % num_axes;
        if (settings.profile_axis < 0) settings.profile_axis += num_axes;
        settings.profile_bins = static_cast<int>(
            std::min<int64_t>(settings.grid.axis(settings.profile_axis).count, 37));
        const ProblemPtr problem = MakeProblem(settings);
        const int64_t points = settings.grid.num_points();
        for (int trial = 0; trial < 6; ++trial) {
          Piece piece;
          piece.first = trial == 0 ? 0 : static_cast<int64_t>(random()) % points;
          piece.count =
              trial == 0 ? points : 1 + static_cast<int64_t>(random()) % (points - piece.first);
          if (trial > 3) {
            auto excluded = std::make_shared<std::vector<int64_t>>();
            for (int i = 0; i < (trial == 4 ? 3 : 63); ++i) excluded->push_back(random() % points);
            piece.excluded = excluded;
          }
          EXPECT_EQ(testing::OnGpu(problem, piece), testing::OnCpu(problem, piece))
              << num_axes << " " << trial;
        }
      }
    }
  }
}

TEST_F(MinimizeGpuTest, WholeSearchesGiveTheCpusAnswerHoweverTheyAreCut) {
  Settings settings;
  settings.functional = MakeExpression(ExactText(2), 2);
  settings.grid = MakeGrid({{0, 1, 500}, {0, 1, 600}});
  settings.top_k = 20;
  settings.separation = {{20, 30, 1, 1}};
  settings.profile_axis = 0;
  settings.profile_bins = 100;
  settings.first = 77;
  const ProblemPtr problem = MakeProblem(settings);
  const Answer expected = testing::SearchOnCpu(problem);
  for (const double points : {1e9, 10000.0, 1000.0}) {
    PieceLimits limits = testing::GpuLimits();
    limits.operations = points * problem->cost_per_point();
    testing::ExpectSame(SearchOnGpu(problem, limits, 3), expected);
  }
}

TEST_F(MinimizeGpuTest, TheExpressionAndTheBuiltInSchwefelAgreeBitForBit) {
  for (int n = 1; n <= 4; ++n) {
    const int64_t counts[] = {0, 1000001, 1001, 101, 41};
    Settings settings;
    settings.grid = MakeGrid(std::vector<Axis>(
        static_cast<size_t>(n), {-500.0, 1000.0 / static_cast<double>(counts[n] - 1), counts[n]}));
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      settings.precision = precision;
      settings.functional = MakeSchwefel(n);
      const ProblemPtr built_in = MakeProblem(settings);
      settings.functional = MakeExpression(SchwefelText(n), n);
      const ProblemPtr expression = MakeProblem(settings);
      const Piece all{0, settings.grid.num_points(), nullptr};
      EXPECT_EQ(testing::OnGpu(built_in, all), testing::OnGpu(expression, all)) << n;
      const Answer gpu = SearchOnGpu(built_in, testing::GpuLimits());
      const Answer cpu = testing::SearchOnCpu(built_in);
      const double rounding = precision == Precision::kFloat32 ? 2e-4 * n : 1e-12 * n;
      EXPECT_NEAR(gpu.top[0].value, cpu.top[0].value, rounding);
      if (precision == Precision::kFloat64) {
        EXPECT_EQ(gpu.top[0].index, cpu.top[0].index);
      }
      for (size_t k = 0; k < static_cast<size_t>(n); ++k) {
        EXPECT_NEAR(gpu.grid_point[k], 420.968746, 0.5 * settings.grid.axis(0).step + 0.05);
      }
    }
  }
}

TEST_F(MinimizeGpuTest, ScalarsAndArraysReachAnExpression) {
  std::vector<double> y(200);
  std::vector<double> t(200);
  for (size_t i = 0; i < y.size(); ++i) {
    t[i] = 0.01 * static_cast<double>(i);
    y[i] = 1.5 * std::cos(3.0 * t[i]) - 0.5;
  }
  Settings settings;
  settings.functional = MakeExpression("sum(j, 0, size(y) - 1, (y[j] - a * cos(x * t[j]) - y0)^2)",
                                       1, {{"a", 1.5}, {"y0", -0.5}}, {{"y", y}, {"t", t}});
  settings.grid = MakeGrid({{0.0, 0.001, 10000}});
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    settings.precision = precision;
    const ProblemPtr problem = MakeProblem(settings);
    const Answer answer = SearchOnGpu(problem, testing::GpuLimits());
    EXPECT_EQ(answer.top[0].index, 3000);
    EXPECT_NEAR(answer.top[0].value, testing::SearchOnCpu(problem).top[0].value, 1e-6);
  }
}

TEST_F(MinimizeGpuTest, AnExpressionIsCompiledOnce) {
  Settings settings;
  settings.functional = MakeExpression("x * x - 0.7531 * x", 1);
  settings.grid = MakeGrid({{0, 1, 10}});
  const ProblemPtr problem = MakeProblem(settings);
  EXPECT_EQ(FindProgram(*problem), nullptr);
  bool compiled = false;
  const auto program = PrepareProgram(*problem, &compiled);
  ASSERT_THAT(program, IsOk());
  EXPECT_TRUE(compiled);
  EXPECT_EQ(FindProgram(*problem), *program);
  settings.functional = MakeExpression("x*x - 0.7531*x", 1);  // the same structure
  EXPECT_EQ(*PrepareProgram(*MakeProblem(settings), &compiled), *program);
  EXPECT_FALSE(compiled);
  settings.precision = Precision::kFloat32;
  EXPECT_EQ(FindProgram(*MakeProblem(settings)), nullptr);
}

TEST_F(MinimizeGpuTest, SinusoidsGiveTheCpusValues) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (const bool is_complex : {false, true}) {
    for (const size_t columns : {0, 1, 2, 3, 5, 8}) {
      for (const size_t size : {31, 64, 65, 1000}) {
        Observation observation;
        observation.sampling_interval_s = 1e-3;
        observation.is_complex = is_complex;
        const auto draw = [&] {
          std::vector<std::complex<double>> x(size);
          for (auto& v : x) v = {normal(random), is_complex ? normal(random) : 0.0};
          return x;
        };
        observation.signal = draw();
        for (size_t i = 0; i < columns; ++i) observation.columns.push_back(draw());
        Settings settings;
        settings.functional = *MakeSinusoids(observation);
        const double energy = static_cast<double>(size) * (is_complex ? 2 : 1);
        for (const double step : {0.37, 0.0005}) {  // sparse, dense
          settings.grid = MakeGrid({{3.0, step, 1000}});
          for (const Method method : {Method::kLiteral, Method::kHoisted, Method::kFast}) {
            if (is_complex && method == Method::kLiteral) continue;
            settings.method = method;
            const std::string what = std::to_string(columns) + " columns, " + std::to_string(size) +
                                     " samples, method " + std::to_string(static_cast<int>(method));
            settings.precision = Precision::kFloat64;
            testing::ExpectNear(settings, 1e-12 * energy, what);
            // Phases of up to N / 2 turns in float32, for the literal method; else sums of N terms.
            // Elimination of nearly dependent columns of few samples magnifies both.
            settings.precision = Precision::kFloat32;
            testing::ExpectNear(settings, (method == Method::kLiteral ? 2e-3 : 2e-5) * energy,
                                what);
          }
        }
      }
    }
  }
}

TEST_F(MinimizeGpuTest, SeveralSinusoidsGiveTheCpusValues) {
  std::mt19937 random(6);
  std::normal_distribution<double> normal;
  for (const bool is_complex : {false, true}) {
    Observation observation;
    observation.sampling_interval_s = 1e-3;
    observation.is_complex = is_complex;
    observation.columns.resize(3);
    for (int n = 0; n < 200; ++n) {
      for (auto& column : observation.columns) {
        column.emplace_back(normal(random), is_complex ? normal(random) : 0.0);
      }
      observation.signal.emplace_back(normal(random), is_complex ? normal(random) : 0.0);
    }
    for (const size_t count : {2, 3}) {
      std::vector<Axis> axes = {{13.0, 1.7, 200}, {20.0, 2.3, 30}, {25.5, 3.1, 50}};
      axes.resize(count);
      Settings settings;
      settings.grid = MakeGrid(axes);
      settings.functional = *MakeManySinusoids(observation, settings.grid);
      for (const Precision precision : {Precision::kFloat64, Precision::kFloat32}) {
        settings.precision = precision;
        // Pairs of frequencies as near as 0.02 of a lobe: their columns nearly depend.
        testing::ExpectNear(settings, precision == Precision::kFloat64 ? 1e-8 : 1e-4,
                            "several sinusoids");
      }
    }
  }
}

TEST_F(MinimizeGpuTest, ThePapersInterfererIsFoundByEveryMethod) {
  Settings settings;
  settings.functional = *MakeSinusoids(testing::PaperObservation());
  settings.refinement = Refinement::kBrent;
  settings.grid = MakeGrid({{0.0, 0.17, 14444445}});
  settings.profile_axis = 0;
  settings.profile_bins = 4096;
  for (const Method method : {Method::kLiteral, Method::kHoisted, Method::kFast}) {
    settings.method = method;
    const Answer answer = SearchOnGpu(MakeProblem(settings), testing::GpuLimits());
    EXPECT_NEAR(answer.grid_point[0], testing::kPaperFrequency, 0.5 * 0.17 + 1e-9);
    EXPECT_NEAR(answer.top[0].value, 0.0, 1e-6 * 1200.0);
    EXPECT_NEAR(answer.point[0], testing::kPaperFrequency, 2e-5);
    EXPECT_EQ(answer.num_nan, 0);
    EXPECT_EQ(answer.evaluations, 14444445);
    if (method == Method::kFast) {
      const Answer cpu = testing::SearchOnCpu(MakeProblem(settings));
      EXPECT_EQ(answer.top[0].index, cpu.top[0].index);
      for (size_t i = 0; i < 4096; ++i) EXPECT_NEAR(answer.profile[i], cpu.profile[i], 1e-9);
    }
  }
}

TEST_F(MinimizeGpuTest, FourBillionPointsInOneRun) {
  Settings settings;
  settings.functional = MakeSchwefel(2);
  settings.precision = Precision::kFloat32;
  settings.grid = MakeGrid({{-500.0, 1000.0 / 65535, 65536}, {-500.0, 1000.0 / 65535, 65536}});
  const Answer answer = SearchOnGpu(MakeProblem(settings), testing::GpuLimits());
  EXPECT_EQ(answer.evaluations, int64_t{1} << 32);
  EXPECT_NEAR(answer.grid_point[0], 420.968746, 0.1);
  EXPECT_NEAR(answer.grid_point[1], 420.968746, 0.1);
}

}  // namespace
}  // namespace baseband::minimize
