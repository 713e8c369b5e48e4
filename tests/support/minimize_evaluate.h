// Expressions evaluated on the CPU, by each instruction set that there is.
#ifndef BASEBAND_TESTS_SUPPORT_MINIMIZE_EVALUATE_H_
#define BASEBAND_TESTS_SUPPORT_MINIMIZE_EVALUATE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "kernels/minimize/cpu/evaluate_cpu.h"
#include "kernels/minimize/expression.h"
#include "tests/support/minimize_oracle.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {

inline minimize::ExpressionPtr Parse(const std::string& text, const minimize::Names& names) {
  auto expression = minimize::Expression::Parse(text, names);
  EXPECT_THAT(expression, IsOk()) << text;
  return *expression;
}

template <typename T>
std::vector<T> Evaluate(const minimize::ExpressionPtr& expression,
                        const std::vector<std::vector<T>>& points,
                        const std::vector<double>& scalars = {},
                        const std::vector<std::vector<T>>& arrays = {}) {
  const std::vector<absl::Span<const T>> spans(arrays.begin(), arrays.end());
  auto evaluator = minimize::Evaluator<T>::Create(expression, scalars, spans);
  EXPECT_THAT(evaluator, IsOk());
  std::vector<const T*> variables;
  for (const auto& axis : points) variables.push_back(axis.data());
  std::vector<T> values(points[0].size(), T{-1});
  evaluator->Evaluate(variables.data(), static_cast<int>(values.size()), values.data());
  return values;
}

// Runs `test` with every instruction set that this processor has.
inline void ForEveryTarget(const std::function<void(bool has_fma)>& test) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    SCOPED_TRACE(hwy::TargetName(target));
    test(target < HWY_SSE4);  // better targets are smaller numbers
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_MINIMIZE_EVALUATE_H_
