// The CUDA text of expressions: made of the tree alone, and accepted by NVRTC where there is one.
#include "kernels/minimize/expression/cuda_source.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/minimize/expression/cuda_texts.h"
#include "kernels/minimize/expression/functions.h"
#include "kernels/minimize/expression/nvrtc_library.h"
#include "tests/support/status_matchers.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::IsOk;
using ::testing::HasSubstr;
using ::testing::Not;

const Names& ClientNames() {
  static const auto* const kNames = new Names{
      {"client_x", "client_y"}, {"client_s", "client_t"}, {{"client_a", 500}, {"client_b", 3}}};
  return *kNames;
}

std::string Source(const std::string& text, Precision precision) {
  const auto expression = Expression::Parse(text, ClientNames());
  EXPECT_THAT(expression, IsOk()) << text;
  return CudaFunction(**expression, precision);
}

void ExpectCompiles(const std::string& text) {
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    const std::string unit = absl::StrCat(
        "using Real = ", precision == Precision::kFloat32 ? "float" : "double", ";\n",
        kFunctionsText, Source(text, precision),
        "extern \"C\" __global__ void Run(const Real* x, const Real* scalars, "
        "const Real* const* arrays, Real* value) { *value = Evaluate(x, scalars, arrays); }\n");
    const auto cubin = CompileCuda(unit, 90);
    ASSERT_THAT(cubin, IsOk()) << unit;
    EXPECT_GT(cubin->size(), 1000);
  }
}

TEST(MinimizeCudaSourceTest, OfSchwefelReadsSo) {
  EXPECT_EQ(Source("418.9829 - client_x*sin(sqrt(abs(client_x)))", Precision::kFloat32),
            R"(static __device__ __forceinline__ Real Evaluate(const Real* x, const Real* scalars,
                                                const Real* const* arrays) {
  const Real t0 = 0x1.a2fbap+8f;
  const Real t1 = x[0];
  const Real t2 = fabsf(t1);
  const Real t3 = sqrtf(t2);
  const Real t4 = baseband::minimize::Sine(t3);
  const Real t5 = fmaf(-t1, t4, t0);
  return t5;
}
)");
}

TEST(MinimizeCudaSourceTest, OfSumsReadsSo) {
  EXPECT_EQ(Source("sum(j, 1, 2, sum(k, 0, 9, client_a[10*j+k]*sin(k*client_y) + cos(k*client_y)))",
                   Precision::kFloat64),
            R"(static __device__ __forceinline__ Real Evaluate(const Real* x, const Real* scalars,
                                                const Real* const* arrays) {
  const Real* const a0 = arrays[0];
  const Real t0 = x[1];
  Real t8 = 0;
  for (int j0 = 1; j0 <= 2; ++j0) {
    Real t7 = 0;
    for (int j1 = 0; j1 <= 9; ++j1) {
      const Real t1 = a0[0 + 10 * j0 + 1 * j1];
      const Real t2 = (Real)(0 + 1 * j1);
      const Real t3 = t2 * t0;
      const Real t4 = baseband::minimize::Sine(t3);
      const Real t5 = baseband::minimize::Cosine(t3);
      const Real t6 = fma(t1, t4, t5);
      t7 = t7 + t6;
    }
    t8 = t8 + t7;
  }
  return t8;
}
)");
}

TEST(MinimizeCudaSourceTest, HoldsNoNameOfTheClients) {
  const std::string source = Source(
      "client_s*sum(client_j, 0, 2, client_b[client_j]*client_x^client_j) + client_t*client_y",
      Precision::kFloat64);
  EXPECT_THAT(source, Not(HasSubstr("client")));
}

TEST(MinimizeCudaSourceTest, ConstantsAreExact) {
  EXPECT_THAT(Source("0.1*client_x", Precision::kFloat64), HasSubstr("0x1.999999999999ap-4;"));
  EXPECT_THAT(Source("0.1*client_x", Precision::kFloat32), HasSubstr("0x1.99999ap-4f;"));
  EXPECT_THAT(Source("client_x - 1/0", Precision::kFloat64),
              HasSubstr("__longlong_as_double(0x7ff0000000000000LL)"));
  EXPECT_THAT(Source("client_x*1e300", Precision::kFloat32),
              HasSubstr("__int_as_float(0x7f800000)"));
}

class MinimizeCudaCompileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const absl::Status status = NvrtcStatus(); !status.ok()) {
      GTEST_SKIP() << "no NVRTC here: " << status;
    }
  }
};

TEST_F(MinimizeCudaCompileTest, AnExpressionWithEverythingCompiles) {
  std::string text =
      "select(!(client_x < 1 && client_y >= 2 || client_x != client_y), 1, -client_s)";
  for (const std::string& name : ReservedNames()) {
    const Function* const function = FindFunction(name);
    if (function == nullptr) continue;
    absl::StrAppend(&text, " + ", name, "(client_x",
                    function->num_arguments == 2 ? ", client_y" : "", ")");
  }
  absl::StrAppend(&text, " + sum(i, -3, 5, sum(j, 0, 9, sum(k, 1, 3, client_a[50*(i+3) + 5*j + k]",
                  " * client_x*i*1000000000 - client_b[3-k])))",
                  " + 1e-320*client_x - 1e300*client_y + client_x/0 + client_y*(0/0) + -1/0",
                  " + client_x^2.5 + client_x*client_y - client_s*client_x");
  ExpectCompiles(text);
}

TEST_F(MinimizeCudaCompileTest, AConstantCompiles) { ExpectCompiles("1"); }

TEST_F(MinimizeCudaCompileTest, ARefusalHoldsTheLog) {
  const auto cubin = CompileCuda("__global__ void Run() { undeclared = 1; }", 90);
  EXPECT_THAT(cubin, ::baseband::testing::StatusIs(absl::StatusCode::kInternal,
                                                   HasSubstr("\"undeclared\" is undefined")));
}

}  // namespace
}  // namespace baseband::minimize
