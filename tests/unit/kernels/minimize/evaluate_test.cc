// The CPU evaluator: against the C library in long double, a slow walk over the tree, and muParser.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/work_steps.h"
#include "kernels/minimize/cpu/evaluate_cpu.h"
#include "kernels/minimize/expression.h"
#include "kernels/minimize/expression/fast_fmod.h"
#include "tests/support/matchers.h"
#include "tests/support/minimize_evaluate.h"
#include "tests/support/minimize_oracle.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::Evaluate;
using ::baseband::testing::ForEveryTarget;
using ::baseband::testing::Parse;

// Units in the last place of `expected`, by which `value` misses it; 0 for the same infinity or
// NaN.
template <typename T>
double UlpsApart(T value, long double expected) {
  const T rounded = static_cast<T>(expected);
  if (std::isnan(value) || std::isnan(rounded)) {
    return std::isnan(value) && std::isnan(rounded) ? 0.0 : INFINITY;
  }
  if (value == rounded) return 0.0;
  if (std::isinf(value) || std::isinf(rounded)) {
    // Just past the greatest number is as good as infinite.
    const long double greatest = std::numeric_limits<T>::max();
    return std::fabs(static_cast<long double>(value) - rounded) == INFINITY &&
                   std::min(std::fabs(static_cast<long double>(value)), std::fabs(expected)) <
                       greatest * (1 - 4 * std::numeric_limits<T>::epsilon())
               ? INFINITY
               : 0.0;
  }
  const T magnitude = std::max(std::fabs(rounded), std::numeric_limits<T>::min());
  const T ulp = magnitude - std::nextafter(magnitude, T{0});
  const T next = std::nextafter(magnitude, std::numeric_limits<T>::infinity()) - magnitude;
  return static_cast<double>(std::fabs(static_cast<long double>(value) - expected) /
                             std::max(ulp, std::isinf(next) ? ulp : next));
}

struct FunctionCase {
  const char* name;
  long double (*exact)(long double);
  double greatest;      // |x| of the even part of the test
  double double_range;  // the same, wider, for double
};

constexpr long double kLongPi = 3.14159265358979323846264338L;

long double SinPi(long double x) {
  long double r = std::remainder(x, 2.0L);
  if (std::fabs(r) > 0.5L) r = std::copysign(1.0L, r) - r;
  return std::sin(kLongPi * r);
}

long double CosPi(long double x) {
  return std::sin(kLongPi * (0.5L - std::fabs(std::remainder(x, 2.0L))));
}

const FunctionCase kFunctions[] = {
    {"sin", std::sin, 1e5, 1e9},   {"cos", std::cos, 1e5, 1e9},   {"tan", std::tan, 1e5, 1e9},
    {"asin", std::asin, 1, 1},     {"acos", std::acos, 1, 1},     {"atan", std::atan, 20, 20},
    {"sinh", std::sinh, 90, 720},  {"cosh", std::cosh, 90, 720},  {"tanh", std::tanh, 12, 25},
    {"exp", std::exp, 104, 760},   {"log", std::log, 10, 10},     {"log2", std::log2, 10, 10},
    {"log10", std::log10, 10, 10}, {"sqrt", std::sqrt, 1e5, 1e5}, {"cbrt", std::cbrt, 1e5, 1e5},
    {"sinpi", SinPi, 1e4, 1e6},    {"cospi", CosPi, 1e4, 1e6},    {"floor", std::floor, 10, 10},
    {"ceil", std::ceil, 10, 10},   {"round", std::round, 10, 10}, {"trunc", std::trunc, 10, 10},
    {"abs", std::fabs, 10, 10},
};

// Evenly over [-greatest, greatest], over all magnitudes, near zeros of sin and cos, and what is
// special.
template <typename T>
std::vector<T> ArgumentsOf(double greatest) {
  std::mt19937_64 random(20240613);
  std::uniform_real_distribution<double> even(-greatest, greatest);
  std::uniform_real_distribution<double> exponent(std::log2(std::numeric_limits<T>::min()) - 5,
                                                  std::log2(std::numeric_limits<T>::max()));
  std::vector<T> arguments;
  for (int i = 0; i < 40000; ++i) arguments.push_back(static_cast<T>(even(random)));
  for (int i = 0; i < 4000; ++i) {
    arguments.push_back(static_cast<T>(std::copysign(std::exp2(exponent(random)), even(random))));
    const auto quarters = std::floor(std::fabs(even(random)));
    arguments.push_back(static_cast<T>(quarters * 1.5707963267948966L));
    arguments.push_back(static_cast<T>(quarters / 2));
    arguments.push_back(static_cast<T>(1 + even(random) / greatest * 1e-3));
  }
  using Limits = std::numeric_limits<T>;
  for (const T value :
       {T{0}, T{0.5}, T{1}, T{1.5}, T{2.5}, Limits::min(), Limits::denorm_min(), Limits::max(),
        Limits::infinity(), Limits::quiet_NaN(), std::nextafter(T{0.5}, T{0}),
        std::nextafter(T{1}, T{0}), T{2} / Limits::epsilon() + 1, T{1} / Limits::epsilon() + 1,
        T{0.5} / Limits::epsilon() + T{0.5}, static_cast<T>(1e5)}) {
    arguments.push_back(value);
    arguments.push_back(-value);
  }
  return arguments;
}

template <typename T>
class MinimizeEvaluateTest : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MinimizeEvaluateTest, Precisions);

TYPED_TEST(MinimizeEvaluateTest, FunctionsAreWithinTheirBound) {
  using T = TypeParam;
  const bool is_float = sizeof(T) == sizeof(float);
  ForEveryTarget([&](bool) {
    for (const FunctionCase& function : kFunctions) {
      const auto expression = Parse(absl::StrCat(function.name, "(x)"), {{"x"}, {}, {}});
      const auto arguments = ArgumentsOf<T>(is_float ? function.greatest : function.double_range);
      const std::vector<T> values = Evaluate<T>(expression, {arguments});
      double worst = 0.0;
      T worst_argument = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        const double ulps =
            UlpsApart(values[i], function.exact(static_cast<long double>(arguments[i])));
        if (ulps > worst) worst_argument = arguments[i];
        worst = std::max(worst, ulps);
      }
      EXPECT_LE(worst, kMaxFunctionUlps) << function.name << "(" << worst_argument << ")";
      this->RecordProperty(absl::StrCat(function.name, is_float ? "_float" : "_double"),
                           absl::StrCat(worst));
    }
  });
}

// Nothing here is rounded otherwise on one processor than on another, fused products apart.
TYPED_TEST(MinimizeEvaluateTest, ArithmeticIsThatOfTheTreeBitForBit) {
  using T = TypeParam;
  const Names names{{"x", "y"}, {"s"}, {{"a", 40}}};
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> even(-3, 3);
  std::vector<std::vector<T>> points(2);
  for (auto& axis : points) {
    for (int i = 0; i < 700; ++i) axis.push_back(static_cast<T>(even(random)));
  }
  points[0][3] = std::numeric_limits<T>::quiet_NaN();
  points[0][5] = std::numeric_limits<T>::infinity();
  points[1][8] = T{0};
  std::vector<T> a;
  for (int i = 0; i < 40; ++i) a.push_back(static_cast<T>(even(random)));
  const char* const texts[] = {
      "x",
      "s",
      "7",
      "x*y + s",
      "x - x*y",
      "x*y - 1",
      "(x+y)/(x-y)*s",
      "select(x < y, x^3, select(x == y || !(x > s) && y >= 1, -y, x/3))",
      "sum(j, 0, 39, a[j]*x + j)",
      "sum(j, 0, 39, a[j]*a[39-j])",
      "sum(j, 0, 39, a[j])*x",
      "sum(i, 0, 3, x + sum(j, 0, 9, a[10*i+j]*y + sum(k, 1, 3, x*k - a[i+j+k]*i)))",
      "sum(i, 1, 3, sum(j, 1, 3, i*j*y))^2 + sum(k, 1, 5, x)",
      "min(x, y) + 2*max(x, s, y)",
      "sqrt(abs(x))*floor(y) + round(x*2)*ceil(y)*trunc(s*x)*sign(x)"};
  for (const char* const text : texts) {
    SCOPED_TRACE(text);
    const auto expression = Parse(text, names);
    ForEveryTarget([&](bool has_fma) {
      const std::vector<T> values = Evaluate<T>(expression, points, {1.25}, {a});
      for (size_t i = 0; i < values.size(); ++i) {
        const Oracle<T> oracle(*expression, {points[0][i], points[1][i]}, {1.25}, {a});
        if (std::isnan(oracle.value())) {
          EXPECT_TRUE(std::isnan(values[i])) << i;
        } else if (has_fma || std::isinf(oracle.greatest())) {
          ASSERT_EQ(values[i], oracle.value()) << i;
        } else {
          ASSERT_NEAR(values[i], oracle.value(),
                      100 * std::numeric_limits<T>::epsilon() * oracle.greatest());
        }
      }
    });
  }
}

TYPED_TEST(MinimizeEvaluateTest, APointsValueDoesNotDependOnItsPlace) {
  using T = TypeParam;
  const auto expression =
      Parse("x*sin(y) + log(abs(x)) + sum(j, 1, 3, cos(j*x)) + y^2.5", {{"x", "y"}, {}, {}});
  std::vector<std::vector<T>> points(2);
  for (int i = 0; i < 1100; ++i) {
    points[0].push_back(static_cast<T>(0.37 * i - 20));
    points[1].push_back(static_cast<T>(0.01 * i));
  }
  ForEveryTarget([&](bool) {
    const std::vector<T> all = Evaluate<T>(expression, points);
    for (const size_t count : {1, 2, 7, 8, 15, 16, 17, 31, 255, 256, 257, 511, 512, 513, 1025}) {
      const size_t first = 1100 - count;
      std::vector<std::vector<T>> part(2);
      for (size_t v = 0; v < 2; ++v) {
        part[v].assign(points[v].begin() + static_cast<std::ptrdiff_t>(first), points[v].end());
      }
      const std::vector<T> values = Evaluate<T>(expression, part);
      EXPECT_TRUE(std::equal(values.begin(), values.end(),
                             all.begin() + static_cast<std::ptrdiff_t>(first)))
          << count;
    }
  });
}

TYPED_TEST(MinimizeEvaluateTest, ValuesMayTakeAVariablesPlace) {
  using T = TypeParam;
  for (const char* const text : {"x*2 + sin(x)", "sum(j, 1, 3, x*j)", "x", "sum(j, 1, 3, j)"}) {
    const auto expression = Parse(text, {{"x"}, {}, {}});
    std::vector<T> x;
    for (int i = 0; i < 1000; ++i) x.push_back(static_cast<T>(i) / 8);
    const std::vector<T> expected = Evaluate<T>(expression, {x});
    auto evaluator = Evaluator<T>::Create(expression, {}, {});
    const T* const variables[] = {x.data()};
    evaluator->Evaluate(variables, 1000, x.data());
    EXPECT_EQ(x, expected) << text;
    evaluator->Evaluate(variables, 0, nullptr);
  }
}

// 420.9687.. in every coordinate. Its value is 1.2728e-5 in each dimension, for the constant is
// 418.98288727.. rounded.
TYPED_TEST(MinimizeEvaluateTest, SchwefelsMinimaAreWhereTheyAre) {
  using T = TypeParam;
  std::string text = "0";
  Names names;
  for (const char* const name : {"x", "y", "z", "w"}) {
    names.variables.push_back(name);
    absl::StrAppend(&text, " + 418.9829 - ", name, "*sin(sqrt(abs(", name, ")))");
    const auto expression = Parse(text, names);
    const auto dimensions = static_cast<double>(names.variables.size());
    std::vector<T> along;
    for (int i = 0; i <= 100000; ++i) along.push_back(static_cast<T>(-500 + 0.01 * i));
    std::vector<std::vector<T>> points(names.variables.size(), along);
    const std::vector<T> values = Evaluate<T>(expression, points);
    const auto least = std::min_element(values.begin(), values.end());
    // float: values of up to 419 are resolved to 3e-5, the minimum's curvature is about 1/4.
    const bool is_float = sizeof(T) == sizeof(float);
    EXPECT_NEAR(along[static_cast<size_t>(least - values.begin())], 420.9687,
                is_float ? 0.05 : 0.005);
    EXPECT_NEAR(*least, 1.2728e-5 * dimensions, dimensions * (is_float ? 2e-4 : 3e-6));
  }
}

TEST(MinimizeEvaluateCreateTest, RefusesWhatIsNotTheExpressions) {
  const auto expression = Parse("s*a[1]*x", {{"x"}, {"s"}, {{"a", 2}}});
  const std::vector<double> data(3);
  const auto span = [&](size_t size) { return absl::MakeConstSpan(data).first(size); };
  const auto create = [&](std::vector<double> scalars,
                          std::vector<absl::Span<const double>> arrays) {
    return Evaluator<double>::Create(expression, scalars, arrays).status();
  };
  EXPECT_THAT(create({1.0}, {span(2)}), IsOk());
  EXPECT_THAT(create({}, {span(2)}), IsInvalid("0 scalars, but the expression has 1"));
  EXPECT_THAT(create({1.0}, {}), IsInvalid("0 arrays, but"));
  EXPECT_THAT(create({1.0}, {span(3)}), IsInvalid("3 elements in arrays[0]"));
}

// The C library's is exact, and so is this.
TEST(FastFmodTest, IsTheLibrarysForNumbersOfAllSizes) {
  std::mt19937_64 random(5);
  const double special[] = {0.0, -0.0, 1.0, -3.0, 5e-324, -1e-310, 1.7e308, INFINITY, NAN, 3e-300};
  const auto draw = [&] {
    if (random() % 8 == 0) return special[random() % std::size(special)];
    const double fraction = std::ldexp(static_cast<double>(random() >> 11), -52) - 1.0;
    return std::ldexp(fraction, static_cast<int>(random() % 2098) - 1073);
  };
  const auto expect_same = [](auto a, auto b) {
    const auto value = FastFmod(a, b);
    const auto expected = std::fmod(a, b);
    EXPECT_TRUE(std::isnan(expected)
                    ? std::isnan(value)
                    : value == expected && std::signbit(value) == std::signbit(expected))
        << a << " " << b << ": " << value << ", not " << expected;
  };
  for (int i = 0; i < 200000; ++i) {
    const double a = draw();
    const double b = draw();
    expect_same(a, b);
    expect_same(static_cast<float>(a), static_cast<float>(b));
  }
}

TEST(MinimizeEvaluateStepsTest, EachTermOfASumIsAStepAndItEndsWhereNobodyWantsIt) {
  const auto expression = Parse("sum(j, 0, 9999, sin(x + j))", {{"x"}, {}, {}});
  for (const bool unwanted : {false, true}) {
    const std::atomic<bool> flag{unwanted};
    WorkSteps steps;
    const StepsScope counted(&steps);
    const WantedScope wanted(&flag);
    Evaluate<double>(expression, {{0.5}});
    EXPECT_EQ(steps.count, unwanted ? 1 : 10000);
  }
}

TEST(MinimizeEvaluateCreateTest, RegistersAreUsedAgain) {
  std::string text = "sin(x)";
  for (int i = 1; i < 300; ++i) absl::StrAppend(&text, " + sin(x*", i, ")");
  const auto evaluator = Evaluator<float>::Create(Parse(text, {{"x"}, {}, {}}), {}, {});
  EXPECT_LT(evaluator->workspace_bytes(), 300 * 64 + 4 * 2048 + 5 * 64);
}

}  // namespace
}  // namespace baseband::minimize
