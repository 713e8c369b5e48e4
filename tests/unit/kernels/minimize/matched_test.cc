// Chirps, delay and Doppler: against direct sums in long double, and what is refused.
#include "kernels/minimize/matched.h"

#include <cmath>
#include <complex>
#include <random>
#include <string>
#include <vector>

#include "hwy/targets.h"
#include "kernels/minimize/functionals/dft.h"
#include "kernels/minimize/reference/reference.h"
#include "kernels/minimize/search.h"
#include "tests/support/matchers.h"
#include "tests/support/minimize_matched.h"
#include "tests/support/minimize_search.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::ComplexNoise;
using ::baseband::testing::kInterval;
using ::baseband::testing::MakeGrid;
using ::baseband::testing::Must;

using Complex = std::complex<double>;
using Signal = std::vector<Complex>;

// Every `stride`th value of `grid`, by all methods, precisions and instruction sets, is what
// `expected` says.
template <typename Expected>
void ExpectValues(const Functional& functional, const Signal& signal, const Grid& grid,
                  size_t stride, Expected expected) {
  const Axis& frequencies = grid.axis(grid.num_axes() - 1);
  const double tolerance = testing::MatchedTolerance<double>(signal, kInterval, frequencies);
  const double tolerance_float = testing::MatchedTolerance<float>(signal, kInterval, frequencies);
  const auto size = static_cast<size_t>(grid.num_points());
  std::vector<double> right(size);
  for (size_t i = 0; i < size; i += stride) {
    const Coordinates x = grid.CoordinatesOf(static_cast<int64_t>(i));
    right[i] = static_cast<double>(expected(x));
    EXPECT_NEAR(functional.At(x), right[i], tolerance);
  }
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const Method method : {Method::kHoisted, Method::kFast}) {
      const auto in_double = testing::Values<double>(functional, grid, method);
      const auto in_float = testing::Values<float>(functional, grid, method);
      for (size_t i = 0; i < size; i += stride) {
        const std::string where = std::string(hwy::TargetName(target)) + ", " +
                                  std::to_string(signal.size()) + " samples, point " +
                                  std::to_string(i) + ", method " +
                                  std::to_string(static_cast<int>(method));
        EXPECT_NEAR(in_double[i], right[i], tolerance) << where;
        EXPECT_NEAR(in_float[i], right[i], tolerance_float) << where;
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(DftTest, AnyLengthIsTheDefiningSum) {
  std::mt19937 random(1);
  for (const size_t size : {1, 2, 3, 8, 31, 64, 100, 341}) {
    const Signal x = ComplexNoise(size, &random);
    const Dft dft(size);
    Signal forward = x;
    dft.Forward(&forward);
    for (size_t k = 0; k < size; ++k) {
      std::complex<long double> sum = 0.0L;
      for (size_t n = 0; n < size; ++n) {
        const long double angle = -2.0L * std::acos(-1.0L) *
                                  static_cast<long double>(k * n % size) /
                                  static_cast<long double>(size);
        sum += std::complex<long double>(x[n]) *
               std::complex<long double>(std::cos(angle), std::sin(angle));
      }
      // 40 roundings, of sums as large as the result.
      EXPECT_LT(std::abs(forward[k] - Complex(sum)), 1e-14 * std::sqrt(static_cast<double>(size)));
    }
    dft.Backward(&forward);
    for (size_t n = 0; n < size; ++n) {
      EXPECT_LT(std::abs(forward[n] / static_cast<double>(size) - x[n]), 2e-14);
    }
  }
}

TEST(MinimizeChirpTest, EveryMethodAgreesWithTheDirectSum) {
  std::mt19937 random(2);
  for (const size_t size : {4, 20, 31, 64, 65, 500}) {
    const Signal signal = testing::WithNoise(Signal(size, 1.0), &random);
    const FunctionalPtr functional = Must(MakeChirp(signal, kInterval, 2));
    for (const double step : {3.7, 0.005}) {  // sparse, dense
      const Grid grid = MakeGrid({{-900.0, 313.7, 9}, {-190.0, step, 113}});
      ExpectValues(*functional, signal, grid, 31, [&](const Coordinates& x) {
        return ReferenceChirp(signal, kInterval, absl::MakeSpan(x.data(), 2));
      });
    }
  }
}

TEST(MinimizeChirpTest, TheRateMayChangeToo) {
  std::mt19937 random(3);
  for (const size_t size : {20, 65, 500}) {
    const Signal signal = testing::WithNoise(Signal(size, 1.0), &random);
    const FunctionalPtr functional = Must(MakeChirp(signal, kInterval, 3));
    const Grid grid = MakeGrid({{-7000.0, 3001.3, 5}, {-900.0, 613.7, 4}, {-190.0, 8.7, 41}});
    ExpectValues(*functional, signal, grid, 17, [&](const Coordinates& x) {
      return ReferenceChirp(signal, kInterval, absl::MakeSpan(x.data(), 3));
    });
  }
}

// Rates of millions of turns within the signal.
TEST(MinimizeChirpTest, PhasesOfManyTurnsAreAsExactAsOthers) {
  std::mt19937 random(4);
  const Signal signal = testing::WithNoise(Signal(501, 1.0), &random);
  const FunctionalPtr functional = Must(MakeChirp(signal, kInterval, 3));
  const Grid grid = MakeGrid({{1e9, 7.77e8, 3}, {1e9, 3.33e8, 4}, {-190.0, 8.7, 41}});
  ExpectValues(*functional, signal, grid, 17, [&](const Coordinates& x) {
    return ReferenceChirp(signal, kInterval, absl::MakeSpan(x.data(), 3));
  });
}

TEST(MinimizeDelayDopplerTest, EveryMethodAgreesWithTheDirectSum) {
  std::mt19937 random(5);
  for (const size_t size : {4, 5, 16, 31, 64, 65}) {
    const Signal replica = ComplexNoise(size, &random);
    const Signal signal = testing::WithNoise(replica, &random);
    const FunctionalPtr functional = Must(MakeDelayDoppler(signal, replica, kInterval));
    // Whole and fractional delays, before the first sample and past the last.
    for (const double step : {1.0, 0.5, 0.37}) {
      const double periods = std::ceil(1.5 * static_cast<double>(size) / (11.0 * step)) * step;
      for (const double frequency_step : {31.7, 0.005}) {  // sparse, dense
        const Grid grid =
            MakeGrid({{-3.0 * kInterval, periods * kInterval, 12}, {-190.0, frequency_step, 80}});
        Coordinates row{};
        std::vector<long double> values;
        ExpectValues(*functional, signal, grid, 19, [&](const Coordinates& x) {
          if (values.empty() || row[0] != x[0]) {
            std::vector<double> frequencies;
            for (int64_t i = 0; i < 80; ++i) frequencies.push_back(grid.axis(1).At(i));
            values = ReferenceDelayDoppler(signal, replica, kInterval, x[0], frequencies);
            row = x;
          }
          int64_t i = 0;
          while (grid.axis(1).At(i) != x[1]) ++i;
          return values[static_cast<size_t>(i)];
        });
      }
    }
  }
}

TEST(MinimizeDelayDopplerTest, WholeDelaysAreCyclicShiftsAndAllKeepTheEnergy) {
  std::mt19937 random(6);
  for (const size_t size : {64, 65}) {
    const Signal replica = ComplexNoise(size, &random);
    for (const size_t shift : {0, 1, 17, 63}) {
      Signal signal(size);
      for (size_t n = 0; n < size; ++n) {
        signal[n] = 3.0 * replica[(n + size - shift) % size];
      }
      const FunctionalPtr functional = Must(MakeDelayDoppler(signal, replica, 1.0));
      const auto delay = static_cast<double>(shift);
      const auto period = static_cast<double>(size);
      const double energy = 9.0 * period;
      for (const double turns : {-3.0, 0.0, 1.0, 1e6}) {
        EXPECT_NEAR(functional->At({{delay + turns * period, 0.0}}), 0.0, 1e-13 * energy);
      }
      // What the delays of one period explain together does not depend on where they begin.
      double observed = 0.0;
      for (const Complex& y : signal) observed += std::norm(y);
      double sum = 0.0;
      double sum_between = 0.0;
      for (size_t n = 0; n < size; ++n) {
        sum += observed - functional->At({{static_cast<double>(n), 0.0}});
        sum_between += observed - functional->At({{static_cast<double>(n) + 0.43, 0.0}});
      }
      EXPECT_NEAR(sum, sum_between, 1e-12 * sum);
    }
  }
}

void ExpectAnyCutOf(Settings settings) {
  settings.profile_axis = 0;
  settings.profile_bins = 7;
  settings.top_k = 4;
  settings.separation = {{3, 20, 1, 1}};
  for (const Method method : {Method::kHoisted, Method::kFast}) {
    for (const Precision precision : {Precision::kFloat64, Precision::kFloat32}) {
      settings.method = method;
      settings.precision = precision;
      const ProblemPtr problem = testing::MakeProblem(settings);
      EXPECT_EQ(testing::SearchOnCpu(problem).top.size(), 4);
      testing::ExpectNoDependenceOnTheCutting(problem, {1.0, 100.0, 777.0});
    }
  }
}

TEST(MinimizeMatchedTest, AnAnswerDoesNotDependOnTheCutting) {
  std::mt19937 random(7);
  const Signal signal = ComplexNoise(45, &random);
  Settings settings;
  settings.functional = Must(MakeDelayDoppler(signal, ComplexNoise(45, &random), kInterval));
  settings.grid = MakeGrid({{0.0, 0.7 * kInterval, 50}, {-100.0, 5.0, 41}});  // sparse
  ExpectAnyCutOf(settings);
  settings.functional = Must(MakeChirp(signal, kInterval, 2));
  settings.grid = MakeGrid({{-500.0, 100.0, 11}, {-100.0, 0.1, 201}});  // dense
  ExpectAnyCutOf(settings);
}

TEST(MinimizeMatchedTest, WhatHasNoMeaningIsRefusedByName) {
  std::mt19937 random(10);
  const Signal good = ComplexNoise(20, &random);
  const auto refusal = [](const absl::StatusOr<FunctionalPtr>& made, const char* name) {
    EXPECT_THAT(made, IsInvalid(name));
  };
  Signal bad = good;
  bad[7] = {1.5, INFINITY};
  refusal(MakeChirp(Signal(3), 1.0, 2), "number of samples 3");
  refusal(MakeChirp(bad, 1.0, 2), "signal[7] (1.5, inf) is not finite");
  refusal(MakeChirp(good, 0.0, 2), "sampling_interval_s 0");
  refusal(MakeChirp(good, 1.0, 1), "number of axes 1 is not 2");
  refusal(MakeDelayDoppler(good, Signal(19), 1.0), "replica has 19 samples, the signal 20");
  refusal(MakeDelayDoppler(good, bad, 1.0), "replica[7] (1.5, inf) is not finite");
  refusal(MakeDelayDoppler(good, Signal(20), 1.0), "replica's energy 0");
  refusal(MakeDelayDoppler(Signal(kMaxReplicaSamples + 1), good, 1.0), "number of samples 262145");

  Settings settings;
  settings.functional = Must(MakeDelayDoppler(good, good, 1.0));
  const auto refused = [&](const std::vector<Axis>& axes, const char* name) {
    settings.grid = MakeGrid(axes);
    EXPECT_THAT(Problem::Create(settings), IsInvalid(name));
  };
  refused({{0.0, 1.0, 5}}, "number of axes 1 is not 2");
  refused({{0.0, 1e300, 5}, {0.0, 1.0, 5}}, "axes[0]: a delay of 4e+300 s");
  settings.method = Method::kLiteral;
  refused({{0.0, 1.0, 5}, {0.0, 1.0, 5}}, "method: the literal one");
  settings.method = Method::kFast;
  settings.functional = Must(MakeChirp(good, 1.0, 3));
  refused({{0.0, 1.0, 5}, {0.0, 1.0, 5}}, "number of axes 2 is not 3");
}

}  // namespace
}  // namespace baseband::minimize
