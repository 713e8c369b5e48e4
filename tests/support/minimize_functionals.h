// Functionals of tables and of C++ functions.
#ifndef BASEBAND_TESTS_SUPPORT_MINIMIZE_FUNCTIONALS_H_
#define BASEBAND_TESTS_SUPPORT_MINIMIZE_FUNCTIONALS_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "kernels/minimize/expression_functional.h"
#include "kernels/minimize/functional.h"
#include "kernels/minimize/problem.h"
#include "tests/support/minimize_search.h"

namespace baseband::testing {

// In [-0.5, 0.5], of x's bits: noise, but the same whenever it is asked for.
inline double NoiseOf(double x) {
  uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof(bits));
  bits = (bits ^ (bits >> 31)) * 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 29)) * 0xBF58476D1CE4E5B9U;
  return static_cast<double>((bits ^ (bits >> 32)) >> 11) * 0x1p-53 - 0.5;
}

// Any values on any grid.
class Table final : public minimize::Functional {
 public:
  explicit Table(std::vector<double> values) : values_(std::move(values)) {}
  minimize::FunctionalKind kind() const override { return minimize::FunctionalKind::kExpression; }
  absl::Status Check(const minimize::Grid&, minimize::Method) const override {
    return absl::OkStatus();
  }
  double Cost(const minimize::Grid&, minimize::Method) const override { return 1.0; }
  int64_t HostBytes() const override { return 0; }
  void Evaluate(const minimize::Run<float>& run, minimize::CpuWorkspace*) const override {
    Copy(run);
  }
  void Evaluate(const minimize::Run<double>& run, minimize::CpuWorkspace*) const override {
    Copy(run);
  }
  double At(const minimize::Coordinates& x) const override {
    return values_[static_cast<size_t>(std::llround(x[0]))];
  }

 private:
  template <typename T>
  void Copy(const minimize::Run<T>& run) const {
    for (size_t i = 0; i < run.count; ++i) {
      run.values[i] = static_cast<T>(values_[static_cast<size_t>(run.first) + i]);
    }
  }
  std::vector<double> values_;
};

// A function of the coordinates, in float64.
class OfCoordinates final : public minimize::Functional {
 public:
  using Function = std::function<double(const minimize::Coordinates& x)>;
  explicit OfCoordinates(Function function) : function_(std::move(function)) {}
  minimize::FunctionalKind kind() const override { return minimize::FunctionalKind::kExpression; }
  absl::Status Check(const minimize::Grid&, minimize::Method) const override {
    return absl::OkStatus();
  }
  double Cost(const minimize::Grid&, minimize::Method) const override { return 1.0; }
  int64_t HostBytes() const override { return 0; }
  void Evaluate(const minimize::Run<float>&, minimize::CpuWorkspace*) const override {}
  void Evaluate(const minimize::Run<double>& run, minimize::CpuWorkspace*) const override {
    for (size_t i = 0; i < run.count; ++i) {
      run.values[i] = At(run.grid->CoordinatesOf(run.first + static_cast<int64_t>(i)));
    }
  }
  double At(const minimize::Coordinates& x) const override { return function_(x); }

 private:
  Function function_;
};

// A smooth bowl, (x - centre)' A (x - centre) + 3, in one to four dimensions. A has 1, 2, 3, 4 on
// its diagonal and 1/4 beside it.
inline minimize::FunctionalPtr MakeBowl(const std::vector<double>& centre) {
  return std::make_shared<const OfCoordinates>([centre](const minimize::Coordinates& x) {
    double value = 3.0;
    for (size_t k = 0; k < centre.size(); ++k) {
      const double d = x[k] - centre[k];
      value += (1.0 + static_cast<double>(k)) * d * d;
      if (k > 0) value += 0.5 * d * (x[k - 1] - centre[k - 1]);
    }
    return value;
  });
}

// A formula of x, y, z and w, as many of them as there are axes.
inline minimize::FunctionalPtr MakeFormula(absl::string_view formula, size_t axes) {
  minimize::Names names;
  for (size_t k = 0; k < axes; ++k) names.variables.emplace_back(1, "xyzw"[k]);
  const auto expression = minimize::Expression::Parse(formula, names);
  EXPECT_TRUE(expression.ok()) << expression.status();
  return *minimize::ExpressionFunctional::Create(*expression, {}, {});
}

inline minimize::Settings TableSettings(std::vector<double> values) {
  minimize::Settings settings;
  settings.grid = MakeGrid({{0.0, 1.0, static_cast<int64_t>(values.size())}});
  settings.functional = std::make_shared<const Table>(std::move(values));
  return settings;
}

inline std::vector<double> RandomValues(size_t count, uint32_t seed, int levels = 1 << 20) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> level(0, levels - 1);
  std::vector<double> values(count);
  for (double& value : values) value = level(random) - levels / 2;
  return values;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_MINIMIZE_FUNCTIONALS_H_
