// Matched filters on a GPU against the CPU device.
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/minimize/matched.h"
#include "tests/support/gpu_test.h"
#include "tests/support/minimize_gpu.h"
#include "tests/support/minimize_matched.h"
#include "tests/support/minimize_search.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::Acquisition;
using ::baseband::testing::MatchedTolerance;
using ::baseband::testing::SearchOnGpu;

class MinimizeMatchedGpuTest : public ::baseband::testing::GpuTest {};

// Rows of one point, rows longer than a block of points, sparse and dense ones.
std::vector<std::vector<Axis>> MatchedAxes() {
  return {{{-2.3e-3, 0.37e-3, 300}, {7.0, 3.1, 1}},
          {{-2.3e-3, 0.37e-3, 40}, {-90.0, 3.1, 41}},
          {{-1e-3, 1e-3, 3}, {-90.0, 0.013, 2000}},
          {{0.0, 0.5e-3, 7}, {-90.0, 1e-4, 5000}}};
}

TEST_F(MinimizeMatchedGpuTest, DelayAndDopplerGiveTheCpusValues) {
  std::mt19937 random(7);
  for (const size_t size : {4, 31, 64, 65, 1000, 1023, 4092}) {
    const auto replica = testing::ComplexNoise(size, &random);
    const auto signal = testing::WithNoise(replica, &random);
    Settings settings;
    settings.functional = *MakeDelayDoppler(signal, replica, 1e-3);
    for (const auto& axes : MatchedAxes()) {
      settings.grid = testing::MakeGrid(axes);
      for (const Method method : {Method::kHoisted, Method::kFast}) {
        settings.method = method;
        const std::string what = std::to_string(size) + " samples";
        settings.precision = Precision::kFloat64;
        testing::ExpectNear(settings, 2.0 * MatchedTolerance<double>(signal, 1e-3, axes[1]), what);
        settings.precision = Precision::kFloat32;
        testing::ExpectNear(settings, 2.0 * MatchedTolerance<float>(signal, 1e-3, axes[1]), what);
      }
    }
  }
}

TEST_F(MinimizeMatchedGpuTest, ChirpsGiveTheCpusValues) {
  std::mt19937 random(8);
  for (const size_t size : {4, 31, 64, 65, 1000, 1023, 4092}) {
    const auto signal = testing::WithNoise(std::vector<std::complex<double>>(size, 1.0), &random);
    for (auto axes : MatchedAxes()) {
      axes[0] = {-800.0, 97.3, axes[0].count};  // Hz/s
      for (const int num_axes : {2, 3}) {
        // The third: up to millions of turns.
        if (num_axes == 3) axes.insert(axes.begin(), {-1e3, 1e6, 3});
        Settings settings;
        settings.functional = *MakeChirp(signal, 1e-3, num_axes);
        settings.grid = testing::MakeGrid(axes);
        for (const Method method : {Method::kHoisted, Method::kFast}) {
          settings.method = method;
          const std::string what = std::to_string(size) + " samples";
          settings.precision = Precision::kFloat64;
          testing::ExpectNear(settings, 2.0 * MatchedTolerance<double>(signal, 1e-3, axes.back()),
                              what);
          settings.precision = Precision::kFloat32;
          testing::ExpectNear(settings, 2.0 * MatchedTolerance<float>(signal, 1e-3, axes.back()),
                              what);
        }
      }
    }
  }
}

TEST_F(MinimizeMatchedGpuTest, MatchedFiltersDoNotDependOnTheCutting) {
  std::mt19937 random(9);
  const auto signal = testing::ComplexNoise(333, &random);
  Settings settings;
  settings.top_k = 5;
  settings.separation = {{3, 20, 1, 1}};
  settings.profile_axis = 0;
  settings.profile_bins = 7;
  const std::vector<std::vector<Axis>> grids = {{{0.0, 0.7e-3, 500}, {-100.0, 5.0, 41}},
                                                {{0.0, 0.7e-3, 11}, {-100.0, 0.01, 3001}}};
  for (const auto& axes : grids) {
    settings.grid = testing::MakeGrid(axes);
    for (const bool is_chirp : {false, true}) {
      settings.functional =
          is_chirp ? *MakeChirp(signal, 1e-3, 2)
                   : *MakeDelayDoppler(signal, testing::ComplexNoise(333, &random), 1e-3);
      for (const Method method : {Method::kHoisted, Method::kFast}) {
        for (const Precision precision : {Precision::kFloat64, Precision::kFloat32}) {
          settings.method = method;
          settings.precision = precision;
          const ProblemPtr problem = testing::MakeProblem(settings);
          const Answer expected = SearchOnGpu(problem, testing::GpuLimits());
          for (const double points : {7000.0, 777.0, 100.0}) {
            PieceLimits limits = testing::GpuLimits();
            limits.operations = points * problem->cost_per_point();
            testing::ExpectSame(SearchOnGpu(problem, limits, 3), expected);
          }
          // Little scratch memory cuts, too.
          PieceLimits limits = testing::GpuLimits();
          limits.scratch_bytes = 1 << 16;
          testing::ExpectSame(SearchOnGpu(problem, limits, 4), expected);
        }
      }
    }
  }
}

TEST_F(MinimizeMatchedGpuTest, ASatellitesSignalIsAcquired) {
  const Acquisition acquisition = testing::MakeAcquisition(6.0);
  Settings settings;
  settings.functional =
      *MakeDelayDoppler(acquisition.signal, acquisition.replica, Acquisition::kInterval);
  settings.grid = testing::MakeGrid(acquisition.Axes());
  settings.refinement = Refinement::kNewton;
  for (const Precision precision : {Precision::kFloat64, Precision::kFloat32}) {
    settings.precision = precision;
    const Answer answer = SearchOnGpu(testing::MakeProblem(settings), testing::GpuLimits());
    EXPECT_EQ(answer.evaluations, 2046 * 41);
    EXPECT_NEAR(answer.point[0], Acquisition::kDelay * Acquisition::kInterval,
                4.0 * answer.bound.deviation[0]);
    EXPECT_NEAR(answer.point[1], Acquisition::kDoppler, 4.0 * answer.bound.deviation[1]);
  }
}

}  // namespace
}  // namespace baseband::minimize
