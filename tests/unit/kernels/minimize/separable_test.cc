// Separable least squares: against normal equations in long double, on the paper's signal, and in
// noise.
#include <cmath>
#include <random>
#include <vector>

#include "kernels/minimize/reference/reference.h"
#include "kernels/minimize/search.h"
#include "kernels/minimize/sinusoids.h"
#include "tests/support/matchers.h"
#include "tests/support/minimize_search.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::MakeGrid;
using ::baseband::testing::SearchOnCpu;
using ::baseband::testing::Values;

constexpr double kPaperEnergy = 1200.0;  // Q, nearly
constexpr double kLobe = 1.0 / (2400 * 2e-7);

FunctionalPtr Make(const Observation& observation) {
  auto functional = MakeSinusoids(observation);
  EXPECT_TRUE(functional.ok()) << functional.status();
  return *functional;
}

Observation RandomObservation(size_t size, size_t columns, bool is_complex, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const auto draw = [&] {
    std::vector<std::complex<double>> x(size);
    for (auto& v : x) v = {normal(random), is_complex ? normal(random) : 0.0};
    return x;
  };
  Observation observation;
  observation.sampling_interval_s = 1e-3;
  observation.is_complex = is_complex;
  observation.signal = draw();
  for (size_t i = 0; i < columns; ++i) observation.columns.push_back(draw());
  return observation;
}

// Rounding of sums of N terms of size Q / N, and of phases of N turns: a few 1e-16 each, times what
// the elimination of the columns may magnify.
double Tolerance(const Observation& observation) {
  double energy = 0.0;
  for (const auto& x : observation.signal) energy += std::norm(x);
  return 1e-15 * energy * std::sqrt(static_cast<double>(observation.signal.size())) * 20.0;
}

TEST(MinimizeSeparableTest, EveryMethodAgreesWithNormalEquationsInLongDouble) {
  for (const bool is_complex : {false, true}) {
    for (const size_t columns : {0, 1, 2, 3, 5, 8}) {
      for (const size_t size : {20, 31, 64, 65, 500}) {
        const Observation observation = RandomObservation(
            size, columns, is_complex, static_cast<uint32_t>(size * 10 + columns));
        const FunctionalPtr functional = Make(observation);
        for (const double step : {0.37, 0.0005}) {  // sparse, dense
          const Grid grid = MakeGrid({{is_complex ? -310.0 : 3.0, step, 1000}});
          std::vector<std::vector<double>> values;
          values.push_back(Values<double>(*functional, grid, Method::kHoisted));
          values.push_back(Values<double>(*functional, grid, Method::kFast));
          if (!is_complex) values.push_back(Values<double>(*functional, grid, Method::kLiteral));
          for (int64_t i = 0; i < 1000; i += 37) {
            const double frequency = grid.axis(0).At(i);
            const auto expected = static_cast<double>(ReferenceSinusoids(observation, {frequency}));
            const double tolerance = Tolerance(observation);
            for (const auto& of_method : values) {
              EXPECT_NEAR(of_method[static_cast<size_t>(i)], expected, tolerance)
                  << is_complex << " " << columns << " " << size << " " << frequency;
            }
            EXPECT_NEAR(functional->At({{frequency}}), expected, tolerance);
          }
        }
      }
    }
  }
}

TEST(MinimizeSeparableTest, TheMethodsAgreeOnThePapersSignal) {
  const FunctionalPtr functional = Make(testing::PaperObservation());
  for (const double step : {0.17, 1.0, 1041.67}) {
    const Grid grid = MakeGrid({{testing::kPaperFrequency - 500 * step, step, 1000}});
    const auto literal = Values<double>(*functional, grid, Method::kLiteral);
    const auto hoisted = Values<double>(*functional, grid, Method::kHoisted);
    const auto fast = Values<double>(*functional, grid, Method::kFast);
    for (size_t i = 0; i < literal.size(); ++i) {
      EXPECT_NEAR(hoisted[i], literal[i], 1e-12 * kPaperEnergy);
      EXPECT_NEAR(fast[i], literal[i], 1e-12 * kPaperEnergy);
    }
  }
}

// The column of zeros that sin is at 0 Hz, frequencies that are a fixed column's own, aliases.
TEST(MinimizeSeparableTest, DependentColumnsCountOnce) {
  Observation observation = RandomObservation(100, 1, false, 3);
  const Observation without_column = [&] {
    Observation o = observation;
    o.columns.clear();
    return o;
  }();
  const double energy_without = [&] {
    double sum = 0.0;
    double mean = 0.0;
    for (const auto& x : observation.signal) mean += x.real() / 100.0;
    for (const auto& x : observation.signal) sum += (x.real() - mean) * (x.real() - mean);
    return sum;
  }();
  const Grid grid = MakeGrid({{0.0, 500.0, 3}});  // 0, half the sampling rate, all of it
  const auto check = [&](const Functional& functional) {
    for (const Method method : {Method::kLiteral, Method::kHoisted, Method::kFast}) {
      const auto values = Values<double>(functional, grid, method);
      EXPECT_NEAR(values[0], energy_without, 1e-10);
      EXPECT_NEAR(values[2], energy_without, 1e-10);
      EXPECT_TRUE(std::isfinite(values[1]));
    }
    EXPECT_NEAR(functional.At({{0.0}}), energy_without, 1e-10);
  };
  check(*Make(without_column));
  for (auto& x : observation.columns[0]) x = 1.0;  // a constant: what cos is at 0 Hz
  check(*Make(observation));
  observation.columns.push_back(observation.columns[0]);
  check(*Make(observation));
}

// The acceptance of issue 5, point 1.
TEST(MinimizeSeparableTest, ThePapersInterfererIsFoundWithinHalfAStep) {
  Settings settings;
  settings.functional = Make(testing::PaperObservation());
  settings.refinement = Refinement::kBrent;
  // 6 kHz: the literal method takes as long as all of the fast one's 14,444,445 points.
  settings.grid = MakeGrid({{464000.0, 0.17, 35294}});
  for (const Method method : {Method::kLiteral, Method::kHoisted, Method::kFast}) {
    settings.method = method;
    const Answer answer = SearchOnCpu(testing::MakeProblem(settings));
    EXPECT_NEAR(answer.grid_point[0], testing::kPaperFrequency, 0.5 * 0.17 + 1e-9);
    EXPECT_GE(answer.value, 0.0);
    EXPECT_LE(answer.value, 1e-6 * kPaperEnergy);
    EXPECT_LE(answer.top.front().value, 1e-6 * kPaperEnergy);
    EXPECT_GE(answer.top.front().value, -1e-12 * kPaperEnergy);
    EXPECT_NEAR(answer.point[0], testing::kPaperFrequency, 2e-5);
    EXPECT_NEAR(answer.curvature[0], 2.0 * 8.8e-4, 0.1e-3);
  }
  settings.method = Method::kLiteral;
  settings.precision = Precision::kFloat32;
  const Answer as_published = SearchOnCpu(testing::MakeProblem(settings));
  // Float32 does not resolve the grid: 24 bits of Q are 7e-5, of the phase far more.
  const double error_hz = as_published.grid_point[0] - testing::kPaperFrequency;
  const double error_of_value = as_published.top.front().value;
  RecordProperty("float32_error_hz", std::to_string(error_hz));
  RecordProperty("float32_least_value", std::to_string(error_of_value));
  std::printf("literal, float32: %+.2f Hz, least value %.2e (float64: %.1e Hz)\n", error_hz,
              error_of_value, 0.5 * 0.17);
  EXPECT_LT(std::abs(error_hz), 20.0);
  EXPECT_LT(std::abs(error_of_value), 0.1);
}

TEST(MinimizeSeparableTest, TheFastMethodFindsTheLiteralsPointInNoise) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 5; ++trial) {
    Observation observation = testing::PaperObservation();
    for (auto& x : observation.signal) x += normal(random);
    Settings settings;
    settings.functional = Make(observation);
    settings.grid = MakeGrid({{467000.0 + 13.0 * trial, 0.17, 4000}});
    settings.method = Method::kLiteral;
    const Peak literal = SearchOnCpu(testing::MakeProblem(settings)).top.front();
    for (const Method method : {Method::kHoisted, Method::kFast}) {
      settings.method = method;
      const Peak peak = SearchOnCpu(testing::MakeProblem(settings)).top.front();
      EXPECT_EQ(peak.index, literal.index);
      EXPECT_NEAR(peak.value, literal.value, 1e-12 * 3600.0);
    }
  }
}

TEST(MinimizeSeparableTest, TheFastMethodsAnswerDoesNotDependOnTheCutting) {
  Settings settings;
  settings.functional = Make(testing::PaperObservation());
  settings.grid = MakeGrid({{400000.0, 1.7, 60000}});
  settings.profile_axis = 0;
  settings.profile_bins = 100;
  settings.top_k = 4;
  settings.separation = {{2000, 1, 1, 1}};
  const ProblemPtr problem = testing::MakeProblem(settings);
  EXPECT_EQ(SearchOnCpu(problem).top.size(), 4);
  testing::ExpectNoDependenceOnTheCutting(problem, {100.0, 777.0, 12345.0});
}

// The textbook's bound, for a sinusoid without fixed columns.
TEST(MinimizeSeparableTest, TheBoundIsTheTextbooks) {
  std::mt19937 random(12);
  std::normal_distribution<double> normal;
  for (const bool is_complex : {false, true}) {
    Observation observation;
    observation.is_complex = is_complex;
    observation.sampling_interval_s = 2e-7;
    const double size = 2400;
    for (size_t n = 0; n < 2400; ++n) {
      const double phase = 6.283185307179586 * 467321.36 * 2e-7 * static_cast<double>(n);
      observation.signal.emplace_back(std::cos(phase) + 0.1 * normal(random),
                                      is_complex ? std::sin(phase) + 0.1 * normal(random) : 0.0);
    }
    const FunctionalPtr functional = Make(observation);
    const NoiseBound bound = *functional->Deviation({{testing::kPaperFrequency}}, nullptr);
    ASSERT_TRUE(bound.known);
    const double variance = is_complex ? 0.02 : 0.01;
    EXPECT_NEAR(bound.noise_variance, variance, 0.1 * variance);
    // Rife and Boorstyn 1974: complex 6 variance / (A^2 N (N^2 - 1) (2 pi Ts)^2); real four times.
    const double textbook =
        std::sqrt((is_complex ? 6.0 : 24.0) * bound.noise_variance / (size * (size * size - 1))) /
        (6.283185307179586 * 2e-7);
    EXPECT_NEAR(bound.deviation[0], textbook, 0.01 * textbook);
  }
}

// Two and three sinusoids: every point of small grids against the normal equations.
TEST(MinimizeSeparableTest, SeveralSinusoidsAgreeWithNormalEquations) {
  for (const bool is_complex : {false, true}) {
    for (const size_t columns : {0, 2, 3}) {
      for (const size_t size : {40, 65}) {
        const Observation observation = RandomObservation(size, columns, is_complex, 7);
        for (const size_t count : {2, 3}) {
          std::vector<Axis> axes = {{13.0, 31.7, 9}, {20.0, 29.3, 10}, {25.5, 37.1, 7}};
          axes.resize(count);
          const Grid grid = MakeGrid(axes);
          const auto functional = MakeManySinusoids(observation, grid);
          ASSERT_THAT(functional, IsOk());
          const auto values = Values<double>(**functional, grid, Method::kFast);
          for (int64_t i = 0; i < grid.num_points(); i += 11) {
            const Coordinates x = grid.CoordinatesOf(i);
            const auto expected = static_cast<double>(
                ReferenceSinusoids(observation, absl::MakeSpan(x.data(), count)));
            EXPECT_NEAR(values[static_cast<size_t>(i)], expected, Tolerance(observation) * 10.0);
            EXPECT_NEAR((*functional)->At(x), expected, Tolerance(observation) * 10.0);
          }
        }
      }
    }
  }
}

TEST(MinimizeSeparableTest, TwoInterferersCloserThanALobeAreToldApart) {
  std::mt19937 random(14);
  std::normal_distribution<double> normal;
  Observation observation = testing::PaperObservation();
  const double first = 467321.36;
  const double second = first + 0.8 * kLobe;
  for (size_t n = 0; n < observation.signal.size(); ++n) {
    const double t = static_cast<double>(n) * 2e-7;
    observation.signal[n] = std::cos(6.283185307179586 * first * t + 1.0) +
                            0.7 * std::sin(6.283185307179586 * second * t) + 0.05 * normal(random) +
                            observation.columns[1][n];
  }
  Settings settings;
  settings.grid = MakeGrid({{460000.0, 100.0, 150}, {460000.0, 100.0, 150}});
  settings.functional = *MakeManySinusoids(observation, settings.grid);
  settings.refinement = Refinement::kNewton;
  const Answer answer = SearchOnCpu(testing::MakeProblem(settings));
  const double low = std::min(answer.point[0], answer.point[1]);
  const double high = std::max(answer.point[0], answer.point[1]);
  ASSERT_TRUE(answer.bound.known);
  EXPECT_NEAR(answer.bound.noise_variance, 0.0025, 0.0005);
  EXPECT_GT(answer.bound.deviation[0], 0.0);
  EXPECT_NEAR(low, first, 5.0 * std::max(answer.bound.deviation[0], answer.bound.deviation[1]));
  EXPECT_NEAR(high, second, 5.0 * std::max(answer.bound.deviation[0], answer.bound.deviation[1]));
}

TEST(MinimizeSeparableTest, SeveralSinusoidsAreForTheirOwnGrid) {
  const Grid grid = MakeGrid({{0.0, 1.0, 10}, {0.0, 1.0, 10}});
  Settings settings;
  settings.functional = *MakeManySinusoids(RandomObservation(20, 1, false, 1), grid);
  settings.grid = MakeGrid({{0.0, 1.0, 10}, {0.0, 1.0, 11}});
  EXPECT_THAT(Problem::Create(settings), IsInvalid("another grid"));
  EXPECT_THAT(MakeManySinusoids(RandomObservation(20, 1, false, 1),
                                MakeGrid({{0.0, 1.0, 1 << 20}, {0.0, 1.0, 10}})),
              IsInvalid("1048586 points together"));
}

// A table takes up to seconds: who asks for it may leave, and others want their turn meanwhile.
TEST(MinimizeSeparableTest, TheTablesOfSeveralSinusoidsAreMadeAsLongAsTheCheckSaysSo) {
  const Observation observation = RandomObservation(20, 1, false, 1);
  const Grid grid = MakeGrid({{0.0, 1e-3, 5000}, {0.0, 1e-3, 5000}});
  constexpr int kAsked = 2 * ((5000 + 63) / 64);
  int asked = 0;
  const auto counts = [&asked] {
    ++asked;
    return absl::OkStatus();
  };
  EXPECT_TRUE(MakeManySinusoids(observation, grid, counts).ok());
  EXPECT_GE(asked, kAsked);

  asked = 0;
  const auto gives_up = [&asked] {
    return ++asked < 3 ? absl::OkStatus() : absl::CancelledError("gone");
  };
  EXPECT_TRUE(absl::IsCancelled(MakeManySinusoids(observation, grid, gives_up).status()));
  EXPECT_EQ(asked, 3);
}

TEST(MinimizeSeparableTest, BrokenObservationsAreRefusedByName) {
  const Observation good = RandomObservation(20, 2, false, 1);
  const auto refusal = [&](auto change, const char* name) {
    Observation observation = good;
    change(&observation);
    EXPECT_THAT(MakeSinusoids(observation), IsInvalid(name));
  };
  refusal([](Observation* o) { o->signal.resize(3); }, "number of samples 3");
  refusal([](Observation* o) { o->columns.resize(9); }, "number of columns 9");
  refusal([](Observation* o) { o->columns[1].resize(19); }, "columns[1] has 19");
  refusal([](Observation* o) { o->columns[1][5] = INFINITY; }, "columns[1][5] inf is not finite");
  refusal([](Observation* o) { o->signal[19] = std::nan(""); }, "signal[19] nan is not finite");
  refusal([](Observation* o) { o->sampling_interval_s = 0.0; }, "sampling_interval_s");
}

}  // namespace
}  // namespace baseband::minimize
