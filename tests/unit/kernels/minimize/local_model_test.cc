// Slopes and curvatures from values alone, and what they may be wrong by.
#include "kernels/minimize/search/local_model.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/minimize_functionals.h"
#include "tests/support/minimize_search.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::MakeGrid;
using ::baseband::testing::MakeProblem;
using ::baseband::testing::NoiseOf;
using ::baseband::testing::OfCoordinates;

// The surroundings of the middle of a grid of nine points an axis, 1 apart, about 0.
class Field {
 public:
  Field(size_t axes, OfCoordinates::Function function)
      : problem_(MakeProblem(SettingsOf(axes, std::move(function)))),
        around_(*problem_, problem_->grid().num_points() / 2, nothing_) {}

  Surroundings* around() { return &around_; }
  Place At(const Vector& u) { return {u, around_.Value(u)}; }

 private:
  static Settings SettingsOf(size_t axes, OfCoordinates::Function function) {
    Settings settings;
    settings.functional = std::make_shared<const OfCoordinates>(std::move(function));
    settings.grid = MakeGrid(std::vector<Axis>(axes, {-4.0, 1.0, 9}));
    return settings;
  }
  const ContinueCheck nothing_;
  const ProblemPtr problem_;
  Surroundings around_;
};

LineFit FitAt(Field* field, double u) {
  const Line line = LineFrom(*field->around(), field->At({{u}}), {{1.0}});
  field->around()->MeasureRounding(line.from.u);
  return FitLineAtItsScale(field->around(), line, 1.0, kRefinementTolerance, 1.0, 14);
}

struct Known {
  const char* name;
  std::function<double(double)> value, slope, bend;
};
std::vector<Known> KnownFunctions() {
  return {
      {"quartic", [](double x) { return std::pow(x, 4) - 3 * x * x * x + 2; },
       [](double x) { return 4 * x * x * x - 9 * x * x; },
       [](double x) { return 12 * x * x - 18 * x; }},
      {"cos 50", [](double x) { return std::cos(50 * x); },
       [](double x) { return -50 * std::sin(50 * x); },
       [](double x) { return -2500 * std::cos(50 * x); }},
      {"exp", [](double x) { return std::exp(3 * x); },
       [](double x) { return 3 * std::exp(3 * x); }, [](double x) { return 9 * std::exp(3 * x); }},
      {"peak", [](double x) { return 1 / (1 + 1e4 * x * x); },
       [](double x) { return -2e4 * x / std::pow(1 + 1e4 * x * x, 2); },
       [](double x) {
         const double d = 1 + 1e4 * x * x;
         return -2e4 / (d * d) + 8e8 * x * x / (d * d * d);
       }},
      {"high", [](double x) { return 1e6 + x * x; }, [](double x) { return 2 * x; },
       [](double) { return 2.0; }},
  };
}

TEST(LineFitTest, SlopesAndCurvaturesErrByNoMoreThanTheySay) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> somewhere(-1.0, 1.0);
  for (const Known& f : KnownFunctions()) {
    Field field(1, [&](const Coordinates& x) { return f.value(x[0]); });
    for (int trial = 0; trial < 200; ++trial) {
      const double u = somewhere(random);
      const LineFit fit = FitAt(&field, u);
      EXPECT_LE(std::abs(fit.slope - f.slope(u)), fit.slope_error) << f.name << " at " << u;
      EXPECT_LE(std::abs(fit.bend - f.bend(u)), fit.bend_error) << f.name << " at " << u;
      // And that is little, unless it is rounding's.
      if (std::strcmp(f.name, "high") == 0) continue;
      EXPECT_LE(fit.slope_error, 1e-3 * (std::abs(f.slope(u)) + std::abs(f.bend(u))))
          << f.name << " at " << u;
    }
  }
}

TEST(LineFitTest, NoiseIsInTheErrors) {
  for (const double noise : {1e-9, 1e-6, 1e-3, 0.1}) {
    Field field(1, [&](const Coordinates& x) {
      return 0.5 * x[0] * x[0] + std::sin(x[0]) + noise * NoiseOf(x[0]);
    });
    int wrong = 0;
    std::mt19937 random(2);
    std::uniform_real_distribution<double> somewhere(-1.0, 1.0);
    for (int trial = 0; trial < 300; ++trial) {
      const double u = somewhere(random);
      const LineFit fit = FitAt(&field, u);
      if (!(std::abs(fit.slope - u - std::cos(u)) <= fit.slope_error)) ++wrong;
      if (!(std::abs(fit.bend - 1.0 + std::sin(u)) <= fit.bend_error)) ++wrong;
    }
    // Eight deviations that six degrees of freedom tell: Student's t is beyond them once in 5000,
    // and a fit is the best of up to 14.
    EXPECT_LE(wrong, 3) << noise;
  }
}

TEST(LineFitTest, AKinkHasNoSlope) {
  Field field(1, [](const Coordinates& x) { return std::abs(x[0] - 0.25) + 0.3 * x[0]; });
  const LineFit fit = FitAt(&field, 0.25);
  EXPECT_GE(fit.slope_error, 0.5);
  EXPECT_GE(fit.bend_error, std::abs(fit.bend) / 8.0);
}

TEST(SurroundingsTest, TheScatterOfValuesIsMeasured) {
  for (const double noise : {1e-12, 1e-7, 1e-2}) {
    Field field(2, [&](const Coordinates& x) {
      return std::exp(x[0]) + 3.0 * x[1] + noise * NoiseOf(x[0] + 3.0 * x[1]);
    });
    // A uniform deviate's deviation, from four differences.
    field.around()->MeasureRounding({{0.3, -0.2}});
    const double measured = field.around()->Rounding(0.0);
    EXPECT_GT(measured, 0.1 * noise / std::sqrt(12.0));
    EXPECT_LT(measured, 5.0 * noise / std::sqrt(12.0));
  }
}

Matrix RandomSymmetric(size_t n, std::mt19937* random) {
  std::uniform_real_distribution<double> element(-1.0, 1.0);
  Matrix a{};
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) a[i][j] = a[j][i] = element(*random);
  }
  return a;
}

TEST(LocalModelTest, NoPointOfABoxIsBelowTheLeast) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  for (size_t n = 1; n <= 4; ++n) {
    for (int trial = 0; trial < 100; ++trial) {
      LocalModel model;
      model.bend = RandomSymmetric(n, &random);
      Vector low{};
      Vector high{};
      for (size_t i = 0; i < n; ++i) {
        model.slope[i] = unit(random) - 0.5;
        low[i] = trial % 3 == 0 ? 0.0 : -unit(random);
        high[i] = unit(random);
      }
      const Vector least = LeastInBox(model, low, high, n);
      const double rise = model.Rise(least, n);
      for (size_t i = 0; i < n; ++i) {
        EXPECT_GE(least[i], low[i]);
        EXPECT_LE(least[i], high[i]);
      }
      for (int probe = 0; probe < 500; ++probe) {
        Vector d{};
        for (size_t i = 0; i < n; ++i) {
          const double t = 1.5 * unit(random) - 0.25;
          d[i] = t <= 0.0 ? low[i] : t >= 1.0 ? high[i] : low[i] + t * (high[i] - low[i]);
        }
        EXPECT_GE(model.Rise(d, n), rise - 1e-12);
      }
    }
  }
}

TEST(LocalModelTest, AQuadraticIsWhatItIs) {
  std::mt19937 random(4);
  for (size_t n = 1; n <= 4; ++n) {
    for (int trial = 0; trial < 20; ++trial) {
      const Matrix a = RandomSymmetric(n, &random);
      Field field(n, [&](const Coordinates& x) {
        double value = 0.0;
        for (size_t i = 0; i < n; ++i) {
          value += 0.1 * static_cast<double>(i + 1) * x[i];
          for (size_t j = 0; j < n; ++j) value += 0.5 * a[i][j] * x[i] * x[j];
        }
        return value;
      });
      const LocalModel model = MakeLocalModel(field.around(), field.At({}), {}, 14);
      for (size_t i = 0; i < n; ++i) {
        EXPECT_NEAR(model.slope[i], 0.1 * static_cast<double>(i + 1), 1e-9);
        for (size_t j = 0; j < n; ++j) {
          EXPECT_NEAR(model.bend[i][j], a[i][j], 1e-8);
          EXPECT_LE(std::abs(model.bend[i][j] - a[i][j]), model.bend_error[i][j] + 1e-14);
        }
      }
    }
  }
}

Verdict JudgeAt(Field* field, const Vector& u) {
  field->around()->MeasureRounding(u);
  return Judge(field->around(), MakeLocalModel(field->around(), field->At(u), {}, 14));
}

TEST(LocalModelTest, AVerdictKnowsMinimaSaddlesAndFaces) {
  Field bowl(2, [](const Coordinates& x) { return x[0] * x[0] + x[0] * x[1] + 2.0 * x[1] * x[1]; });
  EXPECT_TRUE(JudgeAt(&bowl, {{0.0, 0.0}}).is_settled);
  const Verdict off = JudgeAt(&bowl, {{0.25, -0.125}});
  EXPECT_FALSE(off.is_settled);
  EXPECT_TRUE(off.is_curved);
  EXPECT_NEAR(off.move[0], -0.25, 1e-9);
  EXPECT_NEAR(off.move[1], 0.125, 1e-9);

  Field saddle(2,
               [](const Coordinates& x) { return x[0] * x[0] + 3.0 * x[0] * x[1] + x[1] * x[1]; });
  EXPECT_FALSE(JudgeAt(&saddle, {{0.0, 0.0}}).is_curved);

  Field slope(2, [](const Coordinates& x) { return x[0] * x[0] - 3.0 * x[1]; });
  const Verdict face = JudgeAt(&slope, {{0.0, 1.0}});
  EXPECT_TRUE(face.is_settled);
  EXPECT_EQ(face.face[0], 0);
  EXPECT_EQ(face.face[1], 1);
  EXPECT_FALSE(JudgeAt(&slope, {{0.0, 0.5}}).is_settled);
}

// It falls between the axes, and along both axes it rises.
TEST(LocalModelTest, AMinimumOfTheAxesAloneIsNone) {
  Field ridge(2, [](const Coordinates& x) {
    return std::abs(x[0]) + std::abs(x[1]) - 3.0 * std::sqrt(std::abs(x[0] * x[1]));
  });
  EXPECT_FALSE(JudgeAt(&ridge, {{0.0, 0.0}}).is_settled);
}

}  // namespace
}  // namespace baseband::minimize
