// The kernel that NVRTC is given: it has to compile without a header and without a GPU.
#include <string>

#include "gtest/gtest.h"
#include "kernels/minimize/expression.h"
#include "kernels/minimize/expression/nvrtc_library.h"
#include "kernels/minimize/gpu/gpu_launch.h"
#include "tests/support/status_matchers.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::IsOk;

TEST(MinimizeGpuSourceTest, TheSearchAroundAnExpressionCompiles) {
  if (!NvrtcStatus().ok()) GTEST_SKIP() << NvrtcStatus();
  for (const size_t num_axes : {1, 4}) {
    Names names;
    std::string text = "a + sum(j, 0, size(y) - 1, y[j] * sin(x))";
    for (size_t k = 0; k < num_axes; ++k) {
      names.variables.push_back(std::string(1, "xyzw"[k]) + (k == 0 ? "" : "1"));
      text += " + " + names.variables.back();
    }
    names.scalars = {"a"};
    names.arrays = {{"y", 100}};
    const auto expression = Expression::Parse(text, names);
    ASSERT_THAT(expression, IsOk());
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      const auto code = CompileCuda(ExpressionSource(**expression, precision), 90);
      ASSERT_THAT(code, IsOk());
      EXPECT_NE(code->find(kExpressionKernel), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace baseband::minimize
