// 10,000 random expressions against muParser, in double.
//
// How far two right answers may be apart differs from one expression to the next: sin(exp(x)) has
// few digits. So the tree is walked with every rounded result disturbed at random by as much as it
// may be wrong (Vignes 1974, stochastic arithmetic), and the largest deviation found so, times
// kSafety, is what is allowed. Where that is more than kLoose of the value, a jump or a pole is
// near, and the point tells nothing; most points must tell.
#include <muParser.h>

#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/minimize/cpu/evaluate_cpu.h"
#include "kernels/minimize/expression.h"
#include "kernels/minimize/expression/functions.h"
#include "tests/support/minimize_texts.h"
#include "tests/support/status_matchers.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::IsOk;

constexpr int kExpressions = 10000;
constexpr int kPoints = 9;

const Names& RandomNames() {
  static const auto* const kNames = new Names{{"x", "y"}, {"s", "t"}, {}};
  return *kNames;
}
constexpr double kScalars[] = {0.75, -2.5};

template <Op op>
double Unary(double a) {
  return Apply(op, a, 0, 0);
}
template <Op op>
double Binary(double a, double b) {
  return Apply(op, a, b, 0);
}
double Select(double a, double b, double c) { return a != 0 ? b : c; }

// muParser does the grammar and the arithmetic; all functions are the C library's.
class MuParser {
 public:
  MuParser() {
    parser_.DefineVar("x", &x_);
    parser_.DefineVar("y", &y_);
    parser_.DefineConst("s", kScalars[0]);
    parser_.DefineConst("t", kScalars[1]);
    parser_.DefineConst("pi", 3.14159265358979323846);
    Define<Op::kSin>("sin");
    Define<Op::kCos>("cos");
    Define<Op::kTan>("tan");
    Define<Op::kAsin>("asin");
    Define<Op::kAcos>("acos");
    Define<Op::kAtan>("atan");
    Define<Op::kSinh>("sinh");
    Define<Op::kCosh>("cosh");
    Define<Op::kTanh>("tanh");
    Define<Op::kExp>("exp");
    Define<Op::kLog>("log");
    Define<Op::kLog2>("log2");
    Define<Op::kLog10>("log10");
    Define<Op::kSqrt>("sqrt");
    Define<Op::kCbrt>("cbrt");
    Define<Op::kAbs>("abs");
    Define<Op::kFloor>("floor");
    Define<Op::kCeil>("ceil");
    Define<Op::kRound>("round");
    Define<Op::kTrunc>("trunc");
    Define<Op::kSign>("sign");
    Define<Op::kSinPi>("sinpi");
    Define<Op::kCosPi>("cospi");
    parser_.DefineFun("atan2", Binary<Op::kAtan2>);
    parser_.DefineFun("fmod", Binary<Op::kFmod>);
    parser_.DefineFun("hypot", Binary<Op::kHypot>);
    parser_.DefineFun("pow", Binary<Op::kPow>);
    parser_.DefineFun("min", Binary<Op::kMin>);
    parser_.DefineFun("max", Binary<Op::kMax>);
    parser_.DefineFun("select", Select);
  }

  void SetText(const std::string& text) { parser_.SetExpr(text); }
  double ValueAt(double x, double y) {
    x_ = x;
    y_ = y;
    return parser_.Eval();
  }

 private:
  template <Op op>
  void Define(const char* name) {
    parser_.DefineFun(name, Unary<op>);
  }

  mu::Parser parser_;
  double x_ = 0.0;
  double y_ = 0.0;
};

TEST(MinimizeMuParserTest, TenThousandRandomExpressionsAgree) {
  RandomText texts(20250117);
  std::mt19937_64 random(42);
  std::uniform_real_distribution<double> even(-4.0, 4.0);
  MuParser parser;
  int told = 0;
  int total = 0;
  for (int i = 0; i < kExpressions; ++i) {
    const std::string text = texts.Number(1 + i % 6);
    const auto expression = Expression::Parse(text, RandomNames());
    ASSERT_THAT(expression, IsOk()) << text;
    auto evaluator = Evaluator<double>::Create(*expression, kScalars, {});
    std::array<std::vector<double>, 2> points;
    for (auto& axis : points) {
      for (int k = 0; k < kPoints; ++k) axis.push_back(even(random));
    }
    const double* const variables[] = {points[0].data(), points[1].data()};
    std::vector<double> values(kPoints);
    evaluator->Evaluate(variables, kPoints, values.data());
    try {
      parser.SetText(text);
      for (size_t k = 0; k < kPoints; ++k) {
        const double theirs = parser.ValueAt(points[0][k], points[1][k]);
        const double allowed =
            AllowedError<double>(**expression, {points[0][k], points[1][k]},
                                 {kScalars[0], kScalars[1]}, {}, theirs, &random);
        ++total;
        if (std::isinf(allowed)) continue;
        ++told;
        ASSERT_NEAR(values[k], theirs, allowed)
            << text << " at " << points[0][k] << ", " << points[1][k];
      }
    } catch (const mu::Parser::exception_type& error) {
      FAIL() << text << ": " << error.GetMsg();
    }
  }
  EXPECT_GT(told, total * 6 / 10);
  RecordProperty("points_compared", told);
}

}  // namespace
}  // namespace baseband::minimize
