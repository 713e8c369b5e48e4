// NaNs in every argument of every function and operator of the language, by every instruction set,
// in both precisions, as variables, scalars, elements and constants: never lost.
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "kernels/minimize/expression/functions.h"
#include "kernels/minimize/expression_functional.h"
#include "tests/support/minimize_evaluate.h"
#include "tests/support/minimize_nan.h"
#include "tests/support/minimize_search.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::NanCase;
using ::baseband::testing::NanOperands;
using ::baseband::testing::Parse;

bool IsNan(const NanCase& c, double x, double y) {
  return (c.of_v && std::isnan(x)) || (c.of_z && std::isnan(y)) || std::isnan(c.value(x, y));
}

// All pairs of operands.
template <typename T>
std::vector<std::vector<T>> Pairs() {
  std::vector<std::vector<T>> points(2);
  for (const double x : NanOperands()) {
    for (const double y : NanOperands()) {
      points[0].push_back(static_cast<T>(x));
      points[1].push_back(static_cast<T>(y));
    }
  }
  return points;
}

template <typename T>
class MinimizeNanTest : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MinimizeNanTest, Precisions);

TYPED_TEST(MinimizeNanTest, OfVariablesAreNeverLost) {
  using T = TypeParam;
  const auto points = Pairs<T>();
  for (const NanCase& c : testing::NanCases()) {
    const auto expression = Parse(c.text, {{"v", "z"}, {}, {}});
    testing::ForEveryTarget([&](bool) {
      const std::vector<T> values = testing::Evaluate<T>(expression, points);
      for (size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(std::isnan(values[i]), IsNan(c, points[0][i], points[1][i]))
            << c.text << " at " << points[0][i] << ", " << points[1][i] << ": " << values[i];
      }
    });
  }
}

TYPED_TEST(MinimizeNanTest, ConditionsOfNansDoNotHoldButThatTheyDiffer) {
  using T = TypeParam;
  const auto points = Pairs<T>();
  for (const testing::NanCondition& c : testing::NanConditions()) {
    const auto expression = Parse(absl::StrCat("select(", c.text, ", 1, 0)"), {{"v", "z"}, {}, {}});
    testing::ForEveryTarget([&](bool) {
      const std::vector<T> values = testing::Evaluate<T>(expression, points);
      for (size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(values[i], c.holds(points[0][i], points[1][i]) ? T{1} : T{0})
            << c.text << " at " << points[0][i] << ", " << points[1][i];
      }
    });
  }
}

// The same of numbers that are the same at all points: computed once, or here and there.
TYPED_TEST(MinimizeNanTest, OfScalarsElementsAndConstantsAreNeverLost) {
  using T = TypeParam;
  const Names names{{"u"}, {"s", "t"}, {{"a", 2}}};
  const std::vector<std::vector<T>> points = {{T{1}}};
  const auto constant = [](double x) {
    return std::isnan(x)   ? "(0/0)"
           : std::isinf(x) ? (x > 0 ? "(1/0)" : "(-1/0)")
                           : absl::StrCat("(", x, ")");
  };
  const auto with = [](const std::string& text, const std::string& v, const std::string& z) {
    return absl::StrReplaceAll(text, {{"v", v}, {"z", z}});
  };
  for (const NanCase& c : testing::NanCases()) {
    const auto of_scalars = Parse(with(c.text, "s", "t"), names);
    const auto of_elements = Parse(with(c.text, "a[0]", "a[1]"), names);
    const auto of_both = Parse(with(c.text, "(s*u)", "a[1]"), names);
    for (const double x : NanOperands()) {
      for (const double y : NanOperands()) {
        const std::vector<std::vector<T>> arrays = {{static_cast<T>(x), static_cast<T>(y)}};
        const bool expected = IsNan(c, x, y);
        const auto of_constants = Parse(with(c.text, constant(x), constant(y)), names);
        for (const auto& expression : {of_scalars, of_elements, of_both, of_constants}) {
          const T value = testing::Evaluate<T>(expression, points, {x, y}, arrays)[0];
          EXPECT_EQ(std::isnan(value), expected) << c.text << " of " << x << ", " << y;
        }
      }
    }
  }
}

TYPED_TEST(MinimizeNanTest, OneInAnArrayIsInItsSum) {
  using T = TypeParam;
  for (const char* const text :
       {"sum(j, 0, 9, a[j])", "sum(j, 0, 9, a[j]*x)", "x + sum(j, 0, 9, a[j]*j)",
        "sum(j, 0, 9, min(a[j], x))", "sum(j, 0, 9, (a[j] - x)^2)"}) {
    const auto expression = Parse(text, {{"x"}, {}, {{"a", 10}}});
    for (size_t at = 0; at < 10; ++at) {
      std::vector<std::vector<T>> arrays(1, std::vector<T>(10, T{1}));
      arrays[0][at] = std::numeric_limits<T>::quiet_NaN();
      EXPECT_TRUE(std::isnan(testing::Evaluate<T>(expression, {{T{2}}}, {}, arrays)[0])) << text;
    }
  }
}

TEST(MinimizeNanCasesTest, NoFunctionIsLeftOut) {
  std::set<std::string> missing;
  for (const std::string& name : ReservedNames()) {
    if (name == "select" || name == "sum" || name == "size" || name == "pi" || name == "e")
      continue;
    missing.insert(name);
  }
  for (const NanCase& c : testing::NanCases()) missing.erase(c.text.substr(0, c.text.find('(')));
  EXPECT_TRUE(missing.empty()) << *missing.begin();
}

// Where the search counts them.
TEST(MinimizeNanSearchTest, PointsWhereMinAndMaxHaveANanAreCounted) {
  Settings settings;
  settings.grid = testing::MakeGrid({{-5.0, 1.0, 11}});
  for (const char* const text :
       {"min(sqrt(x), 2)", "max(2, sqrt(x))", "hypot(sqrt(x), 1/0)", "select(x < 0, 0/0, 1)^0"}) {
    settings.functional = *ExpressionFunctional::Create(Parse(text, {{"x"}, {}, {}}), {}, {});
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      settings.precision = precision;
      const Answer answer = testing::SearchOnCpu(testing::MakeProblem(settings));
      EXPECT_EQ(answer.num_nan, 5) << text;
      EXPECT_EQ(answer.first_nan, 0) << text;
    }
  }
}

}  // namespace
}  // namespace baseband::minimize
