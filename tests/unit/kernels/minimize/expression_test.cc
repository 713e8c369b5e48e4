// The expression language: what it accepts, what it means and how it refuses.
#include "kernels/minimize/expression.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/minimize/cpu/evaluate_cpu.h"
#include "tests/support/matchers.h"

namespace baseband::minimize {
namespace {

constexpr double kPi = 3.14159265358979323846;

// x = 3, y = -2, two scalars (0.5, 7) and two arrays.
const Names& TestNames() {
  static const auto* const kNames = new Names{{"x", "y"}, {"half", "seven"}, {{"a", 5}, {"b", 3}}};
  return *kNames;
}
const std::vector<double>& ArrayA() {
  static const auto* const kA = new std::vector<double>{10, 20, 30, 40, 50};
  return *kA;
}
const std::vector<double>& ArrayB() {
  static const auto* const kB = new std::vector<double>{1, -1, 0.25};
  return *kB;
}

double ValueOf(const std::string& text) {
  const auto expression = Expression::Parse(text, TestNames());
  EXPECT_THAT(expression, IsOk()) << text;
  if (!expression.ok()) return NAN;
  const std::vector<absl::Span<const double>> arrays = {ArrayA(), ArrayB()};
  auto evaluator = Evaluator<double>::Create(*expression, {0.5, 7.0}, arrays);
  EXPECT_THAT(evaluator, IsOk());
  const double x = 3.0;
  const double y = -2.0;
  const double* const variables[] = {&x, &y};
  double value = 0.0;
  evaluator->Evaluate(variables, 1, &value);
  return value;
}

std::string Refusal(const std::string& text, const Names& names = TestNames()) {
  const auto expression = Expression::Parse(text, names);
  EXPECT_FALSE(expression.ok()) << text;
  EXPECT_EQ(expression.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(expression.status().message());
}

size_t NumNodes(const std::string& text) {
  const auto expression = Expression::Parse(text, TestNames());
  EXPECT_THAT(expression, IsOk()) << text;
  return expression.ok() ? (*expression)->nodes().size() : 0;
}

size_t CountOf(const std::string& text, Op op) {
  const auto expression = Expression::Parse(text, TestNames());
  EXPECT_THAT(expression, IsOk()) << text;
  const auto& nodes = (*expression)->nodes();
  return static_cast<size_t>(
      std::count_if(nodes.begin(), nodes.end(), [op](const Node& n) { return n.op == op; }));
}

TEST(MinimizeExpressionTest, OperatorsGroupAsInMathematics) {
  EXPECT_EQ(ValueOf("1+2*3"), 7);
  EXPECT_EQ(ValueOf("(1+2)*3"), 9);
  EXPECT_EQ(ValueOf("x-1-1"), 1);
  EXPECT_EQ(ValueOf("24/x/2"), 4);
  EXPECT_EQ(ValueOf("24/x*2"), 16);
  EXPECT_EQ(ValueOf("-x^2"), -9);
  EXPECT_EQ(ValueOf("(-x)^2"), 9);
  EXPECT_EQ(ValueOf("2^-x"), 0.125);
  EXPECT_EQ(ValueOf("2^x^2"), 512);
  EXPECT_EQ(ValueOf("-x*y"), 6);
  EXPECT_EQ(ValueOf("x*-y"), 6);
  EXPECT_EQ(ValueOf("x - -y"), 1);
  EXPECT_EQ(ValueOf("--x"), 3);
  EXPECT_EQ(ValueOf("+x"), 3);
  EXPECT_EQ(ValueOf("7/2"), 3.5);  // integers are reals here
  EXPECT_EQ(ValueOf("size(a)/2"), 2.5);
}

TEST(MinimizeExpressionTest, NumbersAndConstantsAreRead) {
  EXPECT_EQ(ValueOf("12"), 12);
  EXPECT_EQ(ValueOf(".5"), 0.5);
  EXPECT_EQ(ValueOf("5."), 5);
  EXPECT_EQ(ValueOf("1e3"), 1000);
  EXPECT_EQ(ValueOf("1.25E-2"), 0.0125);
  EXPECT_EQ(ValueOf("0.1"), 0.1);
  EXPECT_EQ(ValueOf("pi"), kPi);
  EXPECT_EQ(ValueOf("e"), std::exp(1.0));
  EXPECT_EQ(ValueOf("1e-400"), 0);
  EXPECT_EQ(ValueOf("12345678901234567890"), 12345678901234567890.0);
  EXPECT_EQ(ValueOf(" \t\n x "), 3);
  EXPECT_EQ(ValueOf("half*seven"), 3.5);
}

TEST(MinimizeExpressionTest, ConditionsSelect) {
  EXPECT_EQ(ValueOf("select(x > 2, 10, 20)"), 10);
  EXPECT_EQ(ValueOf("select(x > 2 && y > 0, 10, 20)"), 20);
  EXPECT_EQ(ValueOf("select(x > 2 || y > 0, 10, 20)"), 10);
  EXPECT_EQ(ValueOf("select(!(x > 2), 10, 20)"), 20);
  EXPECT_EQ(ValueOf("select(!(x > 2) || y == -2 && x != 4, 10, 20)"), 10);
  EXPECT_EQ(ValueOf("select(x <= 3, 1, 0) + select(x >= 3, 1, 0) + select(x < 3, 1, 0)"), 2);
  EXPECT_EQ(ValueOf("select(1 < 2, x, y)"), 3);
  EXPECT_EQ(ValueOf("select(0/0 == 0/0, x, y)"), -2);
}

TEST(MinimizeExpressionTest, FunctionsAreTheCLibrarys) {
  EXPECT_EQ(ValueOf("min(x, y, 1)"), -2);
  EXPECT_EQ(ValueOf("max(x, y, 1, 4)"), 4);
  EXPECT_EQ(ValueOf("round(2.5) + 100*round(-y-4.5)"), 3 + 100 * -3);
  EXPECT_EQ(ValueOf("fmod(-7, x)"), -1);
  EXPECT_EQ(ValueOf("sign(y) + 10*sign(x) + 100*sign(x-3)"), 9);
  EXPECT_NEAR(ValueOf("hypot(x, 4) + atan2(x, y) + cbrt(27)"), 8 + std::atan2(3, -2), 1e-14);
  EXPECT_NEAR(ValueOf("pow(x, 1.5)"), std::pow(3, 1.5), 1e-14);
  EXPECT_EQ(ValueOf("sinpi(1e9+1)"), 0);
  EXPECT_EQ(ValueOf("cospi(x/2)"), 0);
  EXPECT_EQ(ValueOf("cospi(x)"), -1);
  EXPECT_EQ(ValueOf("sinpi(x/6)"), 1);
}

TEST(MinimizeExpressionTest, SumsAddTheirTerms) {
  EXPECT_EQ(ValueOf("sum(j, 1, 4, j)"), 10);
  EXPECT_EQ(ValueOf("sum(j, -2, 2, j*j)"), 10);
  EXPECT_EQ(ValueOf("sum(j, 0, size(a)-1, a[j]*x)"), 450);
  EXPECT_EQ(ValueOf("sum(j, 1, size(a)-1, a[j] - a[j-1])"), 40);
  EXPECT_EQ(ValueOf("sum(j, 0, 4, a[4-j]*j)"), 40 + 60 + 60 + 40);
  EXPECT_EQ(ValueOf("sum(j, 0, 1, sum(k, 0, 2, a[2*j+k]*b[k]))"),
            (10 - 20 + 7.5) + (30 - 40 + 12.5));
  EXPECT_EQ(ValueOf("sum(i, 0, 1, sum(j, 0, 1, sum(k, 0, 1, 100*i + 10*j + k)))"), 444);
  EXPECT_EQ(ValueOf("sum(j, 5, 4, a[j])"), 0);
  EXPECT_EQ(ValueOf("sum(j, 1, 3, x)"), 9);
  EXPECT_EQ(ValueOf("sum(j, 1, 2, j) + sum(j, 3, 4, j)"), 10);  // the name is free again
  EXPECT_EQ(ValueOf("a[0] + a[size(a)-1]"), 60);
  EXPECT_EQ(ValueOf("sum(j, 1, 3, 1/j)"), 1 + 0.5 + 1.0 / 3);
}

TEST(MinimizeExpressionTest, EqualSubtreesAreOne) {
  EXPECT_EQ(CountOf("sin(x)*sin(x) + sin(x)", Op::kSin), 1);
  EXPECT_EQ(CountOf("sin(x*y) + cos(y*x)", Op::kMultiply), 1);
  EXPECT_EQ(CountOf("exp(sum(j, 0, 4, a[j]*x)) + sum(k, 0, 4, a[k]*x)", Op::kSum), 1);
  EXPECT_EQ(CountOf("sum(j, 0, 4, a[j]*x) + sum(k, 0, 3, a[k]*x)", Op::kSum), 2);
  EXPECT_EQ(CountOf("sum(i, 0, 2, sum(j, 0, 2, b[i]*b[j]*x)) + "
                    "sum(k, 0, 2, sum(l, 0, 2, b[k]*b[l]*x))",
                    Op::kSum),
            2);
  EXPECT_EQ(CountOf("sum(i, 0, 2, sum(j, 0, 2, b[i]*b[j])) + "
                    "sum(i, 0, 2, sum(j, 0, 2, b[i]*b[i]*b[j]))",
                    Op::kSum),
            4);
}

TEST(MinimizeExpressionTest, ConstantsAreFoldedAndPowersReduced) {
  EXPECT_EQ(NumNodes("sin(2*pi/7)^2 + log(3)"), 1);
  EXPECT_EQ(NumNodes("x*1"), 1);
  EXPECT_EQ(NumNodes("x^1"), 1);
  EXPECT_EQ(NumNodes("x^0"), 4);  // select(x == x, 1, x)
  EXPECT_EQ(NumNodes("7^0"), 1);
  EXPECT_EQ(NumNodes("select(2 > 1, x, sin(y))"), 1);
  EXPECT_EQ(CountOf("x^2 + y^3 + x^4 + 1/y^-1 + x^-2 + y^0.5 + x^-0.5", Op::kPow), 0);
  EXPECT_EQ(CountOf("x^2.5", Op::kPow), 1);
  EXPECT_EQ(CountOf("x/8", Op::kDivide), 0);
  EXPECT_EQ(CountOf("x/10", Op::kDivide), 1);
  EXPECT_EQ(ValueOf("x^2 + 10*x^3 + 100*x^4"), 9 + 270 + 8100);
  EXPECT_EQ(ValueOf("y^-1 + 10*y^-2"), -0.5 + 2.5);
  EXPECT_EQ(ValueOf("(x+1)^0.5 + (x+1)^-0.5"), 2.5);
}

TEST(MinimizeExpressionTest, ProductsUsedOnceAreFused) {
  EXPECT_EQ(CountOf("x*y + 1", Op::kMultiplyAdd), 1);
  EXPECT_EQ(CountOf("x*y - 1", Op::kMultiplySub), 1);
  EXPECT_EQ(CountOf("1 - x*y", Op::kNegMultiplyAdd), 1);
  EXPECT_EQ(CountOf("x*y + sin(x*y)", Op::kMultiplyAdd), 0);
  EXPECT_EQ(CountOf("half*seven + x", Op::kMultiplyAdd), 0);  // the product is the same everywhere
}

TEST(MinimizeExpressionTest, WhatDoesNotDependOnAnIndexLeavesTheSum) {
  const auto expression = *Expression::Parse(
      "sum(j, 0, 4, a[j]*sin(x*y) + sum(k, 0, 2, b[k]*cos(y)) + a[3])", TestNames());
  for (const Node& node : expression->nodes()) {
    const bool leaves = node.op == Op::kSin || node.op == Op::kCos || node.op == Op::kSum;
    EXPECT_TRUE(!leaves || node.depth == 0);  // the inner sum, too
  }
}

TEST(MinimizeExpressionTest, NodesStandInOrder) {
  const auto expression = *Expression::Parse(
      "x + sum(i, 0, 2, b[i] + sum(j, 0, 4, a[j]*sin(x*i) + sum(k, 0, 1, a[j+k-k]*i*j*k)))*y",
      TestNames());
  const auto& nodes = expression->nodes();
  for (size_t id = 0; id < nodes.size(); ++id) {
    for (const int operand : nodes[id].operands) EXPECT_LT(operand, static_cast<int>(id));
    EXPECT_EQ(nodes[id].op == Op::kSum, nodes[id].begin <= nodes[id].end);
    if (nodes[id].op != Op::kSum) continue;
    for (auto inner = static_cast<size_t>(nodes[id].body); inner < id; ++inner) {
      EXPECT_GT(nodes[inner].depth, nodes[id].depth);
    }
  }
}

TEST(MinimizeExpressionTest, HashIsOfTheStructureAlone) {
  const auto parse = [](const std::string& text, const Names& names) {
    return *Expression::Parse(text, names);
  };
  const Names original{{"x"}, {"s"}, {{"d", 4}}};
  const Names renamed{{"u"}, {"w"}, {{"data", 4}}};
  const Names longer{{"x"}, {"s"}, {{"d", 5}}};
  const std::string text = "s*sum(j, 0, size(d)-1, d[j]*x^j)";
  const auto expression = parse(text, original);
  const auto same = parse(" w * sum(i,0, 3, data[i] * u^i)", renamed);
  EXPECT_TRUE(expression->hash() == same->hash());
  EXPECT_TRUE(expression->HasStructureOf(*same));
  for (const auto& other : {parse(text, longer), parse("s*sum(j, 0, 3, d[j]*x^(j+1))", original),
                            parse("x*2", original), parse("x*3", original)}) {
    EXPECT_FALSE(expression->hash() == other->hash());
    EXPECT_FALSE(expression->HasStructureOf(*other));
  }
}

TEST(MinimizeExpressionTest, CostCountsTermsOfSums) {
  const auto cost = [](const std::string& text) {
    return (*Expression::Parse(text, TestNames()))->cost();
  };
  EXPECT_EQ(cost("x"), 0);
  EXPECT_EQ(cost("x + y"), 1);
  EXPECT_EQ(cost("sin(x)"), 8);
  EXPECT_EQ(cost("sum(j, 0, 99, sin(j*x))"), 100 * (1 + 1 + 8 + 1));
  EXPECT_EQ(cost("sum(j, 1, 10, sum(k, 1, 10, sin(x)*k))"), 8 + 10 * (1 + 1) + 10);
}

TEST(MinimizeExpressionTest, ErrorsSayWhereAndWhatWasExpected) {
  EXPECT_EQ(Refusal("1 + sin(x, y)"),
            "expression, column 10: expected ')' after the arguments of sin, not ','");
  EXPECT_EQ(Refusal(""), "expression, column 1: expected a number, a name or '(', not the end");
  EXPECT_EQ(Refusal("x +"), "expression, column 4: expected a number, a name or '(', not the end");
  EXPECT_EQ(Refusal("x y"), "expression, column 3: expected an operator or the end, not 'y'");
  EXPECT_EQ(Refusal("2x"), "expression, column 2: expected an operator or the end, not 'x'");
  EXPECT_EQ(Refusal("(x + 1"),
            "expression, column 7: expected ')' for the '(' in column 1, not "
            "the end");
  EXPECT_EQ(Refusal("atan2(x)"),
            "expression, column 8: expected ',' and a second argument of atan2, not ')'");
  EXPECT_EQ(Refusal("min(x)"),
            "expression, column 6: expected ',' and a second argument of min, not ')'");
  EXPECT_EQ(Refusal("sin x"), "expression, column 5: expected '(' after sin, not 'x'");
  EXPECT_EQ(Refusal("x + sevem"),
            "expression, column 5: unknown name 'sevem'; did you mean 'seven'?");
  EXPECT_EQ(Refusal("sim(x)"), "expression, column 1: unknown name 'sim'; did you mean 'sin'?");
  EXPECT_EQ(Refusal("x = 1"), "expression, column 3: '=' has no meaning here");
  EXPECT_EQ(Refusal("x + \x01"), "expression, column 5: '\\x01' has no meaning here");
  EXPECT_EQ(Refusal("1e999"), "expression, column 1: the number 1e999 is too large");
  EXPECT_EQ(Refusal("a"), "expression, column 2: expected '[' after the array a, not the end");
  EXPECT_EQ(Refusal("size(x)"), "expression, column 6: expected an array's name, not 'x'");
}

TEST(MinimizeExpressionTest, TypesAreKeptApart) {
  EXPECT_EQ(Refusal("x < y"),
            "expression, column 1: a condition is no value: write select(condition, 1, 0)");
  EXPECT_EQ(Refusal("1 + (x < y)"),
            "expression, column 5: the right of '+' must be a number, not a condition");
  EXPECT_EQ(Refusal("select(x < y < 2, 1, 0)"),
            "expression, column 8: the left of '<' must be a number, not a condition");
  EXPECT_EQ(Refusal("select(x, 1, 0)"),
            "expression, column 8: the first argument of select must be a condition, not a number");
  EXPECT_EQ(Refusal("select(x < 1 && y, 1, 0)"),
            "expression, column 17: both sides of '&&' must be conditions, this one is a number");
  EXPECT_EQ(Refusal("select(!x, 1, 0)"),
            "expression, column 9: the operand of '!' must be a condition, not a number");
  EXPECT_EQ(Refusal("sin(x < 1)"),
            "expression, column 5: the first argument of sin must be a number, not a condition");
  EXPECT_EQ(Refusal("-(x < 1)"),
            "expression, column 2: the operand of '-' must be a number, not a condition");
}

TEST(MinimizeExpressionTest, IndicesAreProvedToStayInsideTheArray) {
  EXPECT_EQ(Refusal("a[5]"),
            "expression, column 3: the index of a takes values in [5, 5], but it "
            "has 5 elements, [0, 4]");
  EXPECT_EQ(Refusal("sum(j, 0, size(a), a[j])"),
            "expression, column 22: the index of a takes values in [0, 5], but it has 5 elements, "
            "[0, 4]");
  EXPECT_THAT(Refusal("sum(j, 0, 4, a[j-1])"), HasSubstr("values in [-1, 3]"));
  EXPECT_THAT(Refusal("sum(j, 0, 4, a[3-j])"), HasSubstr("values in [-1, 3]"));
  EXPECT_THAT(Refusal("sum(i, 0, 2, sum(j, 0, 2, a[i+j*2-1]))"), HasSubstr("values in [-1, 5]"));
  EXPECT_THAT(Refusal("sum(i, 0, 1073741824, sum(j, 0, 1073741824, a[1073741824*i-1073741824*j]))"),
              HasSubstr("values in [-1152921504606846976, 1152921504606846976]"));
  EXPECT_THAT(Expression::Parse("sum(i, 0, 2, sum(j, 0, 2, a[i+j]))", TestNames()), IsOk());
  EXPECT_THAT(Expression::Parse("sum(i, 0, 400, a[i-i])", TestNames()), IsOk());
  const std::string not_linear =
      "expression, column 3: the index of a must be a linear combination of indices of sums, with "
      "integer constants";
  for (const char* const index : {"x", "half", "1.0", "2^1", "4/2", "abs(1)", "a[0]"}) {
    EXPECT_EQ(Refusal(absl::StrCat("a[", index, "]")), not_linear);
  }
  EXPECT_THAT(Refusal("sum(j, 0, 2, a[j*j])"), HasSubstr("must be a linear combination"));
  EXPECT_THAT(Refusal("a[x < 1]"), HasSubstr("must be a linear combination"));
  // Beyond kMaxIndex, integers are reals.
  EXPECT_THAT(Refusal("a[1073741825 - 1073741825]"), HasSubstr("must be a linear combination"));
  EXPECT_THAT(Refusal("a[40000*40000]"), HasSubstr("must be a linear combination"));
}

TEST(MinimizeExpressionTest, SumsHaveNewNamesAndConstantBounds) {
  EXPECT_THAT(Refusal("sum(x, 0, 1, x)"), HasSubstr("expected a new name for the index of sum"));
  EXPECT_THAT(Refusal("sum(j, 0, 1, sum(j, 0, 1, j))"),
              HasSubstr("column 18: expected a new name"));
  EXPECT_THAT(Refusal("sum(sin, 0, 1, x)"), HasSubstr("expected a new name"));
  EXPECT_THAT(Refusal("sum(1, 0, 1, x)"), HasSubstr("expected a new name"));
  EXPECT_EQ(Refusal("sum(j, x, 1, j)"),
            "expression, column 8: the first index of sum must be an integer constant");
  EXPECT_EQ(Refusal("sum(j, 0, 1.5, j)"),
            "expression, column 11: the last index of sum must be an integer constant");
  EXPECT_THAT(Refusal("sum(j, 0, 3, sum(k, 0, j, k))"), HasSubstr("must be an integer constant"));
  EXPECT_THAT(Refusal("sum(j, 0, j, 1)"), HasSubstr("unknown name 'j'"));
  EXPECT_THAT(Refusal("sum(j, 0, 1, 1) + j"), HasSubstr("unknown name 'j'"));
  EXPECT_EQ(Refusal("sum(h,0,1,sum(i,0,1,sum(j,0,1,sum(k,0,1,1))))"),
            "expression, column 31: sums nested deeper than 3");
}

}  // namespace
}  // namespace baseband::minimize
