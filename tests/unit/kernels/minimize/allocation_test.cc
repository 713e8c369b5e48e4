// Evaluator::Evaluate allocates nothing. A program of its own, as it replaces the global operator
// new.
#include <vector>

#include "gtest/gtest.h"
#include "kernels/minimize/cpu/evaluate_cpu.h"
#include "tests/support/count_allocations.h"

namespace baseband::minimize {
namespace {

TEST(MinimizeAllocationTest, EvaluatingAllocatesNothing) {
  const auto expression = Expression::Parse(
      "sum(j, 0, 9, a[j]*cos(x*j*s)) + pow(x, 1.5) + select(x < 1e6, sin(1e7*x), log(-x))",
      {{"x"}, {"s"}, {{"a", 10}}});
  const std::vector<double> data(10, 0.5);
  auto evaluator = Evaluator<double>::Create(*expression, {2.0}, {data});
  std::vector<double> x;
  for (int i = 0; i < 1000; ++i) x.push_back(3.7 * i);
  std::vector<double> values(x.size());
  const double* const variables[] = {x.data()};
  const int before = num_allocations;
  evaluator->Evaluate(variables, static_cast<int>(x.size()), values.data());
  EXPECT_EQ(num_allocations, before);
}

}  // namespace
}  // namespace baseband::minimize
