// Evaluator::Evaluate allocates nothing. A program of its own, as it replaces the global operator
// new.
#include <cstdlib>
#include <new>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/minimize/evaluate_cpu.h"

namespace {
int num_allocations = 0;
}  // namespace

void* operator new(size_t bytes) {
  ++num_allocations;
  return std::malloc(bytes);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  ++num_allocations;
  const auto unit = static_cast<size_t>(alignment);
  return std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

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
