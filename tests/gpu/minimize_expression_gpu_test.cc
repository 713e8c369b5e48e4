// Expressions on the GPU against the CPU evaluator, with the text that NVRTC compiles.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/minimize/cpu/evaluate_cpu.h"
#include "kernels/minimize/expression.h"
#include "kernels/minimize/expression/cuda_source.h"
#include "kernels/minimize/expression/cuda_texts.h"
#include "kernels/minimize/expression/nvrtc_library.h"
#include "tests/support/gpu_test.h"
#include "tests/support/matchers.h"
#include "tests/support/minimize_nan.h"
#include "tests/support/minimize_texts.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::ToDevice;

constexpr int kPoints = 256;
constexpr int kArray = 50;

const Names& TestNames() {
  static const auto* const kNames = new Names{{"x", "y"}, {"s", "t"}, {{"a", kArray}}};
  return *kNames;
}

// All texts in one translation unit; values[e][point].
template <typename T>
std::vector<std::vector<T>> OnGpu(const std::vector<ExpressionPtr>& expressions,
                                  const std::vector<std::vector<T>>& points,
                                  const std::vector<T>& scalars, const std::vector<T>& array) {
  const bool is_float = sizeof(T) == sizeof(float);
  std::string source =
      absl::StrCat("typedef ", is_float ? "float" : "double", " Real;\n", kFunctionsText);
  std::string cases;
  for (size_t e = 0; e < expressions.size(); ++e) {
    absl::StrAppend(
        &source, "namespace e", e, " {\n",
        CudaFunction(*expressions[e], is_float ? Precision::kFloat32 : Precision::kFloat64), "}\n");
    absl::StrAppend(&cases, "  values[", e, " * ", kPoints, " + i] = e", e,
                    "::Evaluate(point, scalars, arrays);\n");
  }
  absl::StrAppend(&source,
                  "extern \"C\" __global__ void Run(const Real* x, const Real* y, const Real* "
                  "scalars, const Real* array, Real* values) {\n"
                  "  const int i = threadIdx.x;\n"
                  "  const Real point[] = {x[i], y[i]};\n"
                  "  const Real* const arrays[] = {array};\n",
                  cases, "}\n");
  int device = 0;
  cudaDeviceProp properties;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, device), cudaSuccess);
  const auto cubin = CompileCuda(source, 10 * properties.major + properties.minor);
  EXPECT_THAT(cubin, IsOk());
  if (!cubin.ok()) return {};

  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  EXPECT_EQ(cudaLibraryLoadData(&library, cubin->data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
            cudaSuccess);
  EXPECT_EQ(cudaLibraryGetKernel(&kernel, library, "Run"), cudaSuccess);
  const auto x = ToDevice(points[0]);
  const auto y = ToDevice(points[1]);
  const auto device_scalars = ToDevice(scalars);
  const auto device_array = ToDevice(array);
  const auto values = ToDevice(std::vector<T>(expressions.size() * kPoints));
  T* addresses[] = {x.data(), y.data(), device_scalars.data(), device_array.data(), values.data()};
  void* arguments[] = {&addresses[0], &addresses[1], &addresses[2], &addresses[3], &addresses[4]};
  EXPECT_EQ(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(kPoints),
                             arguments, 0, nullptr),
            cudaSuccess);
  const std::vector<T> all = testing::ToHost(values);
  EXPECT_EQ(cudaLibraryUnload(library), cudaSuccess);
  std::vector<std::vector<T>> by_expression;
  for (size_t e = 0; e < expressions.size(); ++e) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(e * kPoints);
    by_expression.emplace_back(begin, begin + kPoints);
  }
  return by_expression;
}

template <typename T>
class MinimizeExpressionGpuTest : public ::baseband::testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!NvrtcStatus().ok()) GTEST_SKIP() << NvrtcStatus();
    std::uniform_real_distribution<double> even(-4.0, 4.0);
    for (auto& axis : points_) {
      for (int i = 0; i < kPoints; ++i) axis.push_back(static_cast<T>(even(random_)));
    }
    for (int i = 0; i < kArray; ++i) array_.push_back(static_cast<T>(even(random_)));
  }

  // The difference is what the tree allows; returns the points that could tell.
  int ExpectEqualValues(const std::vector<std::string>& texts) {
    std::vector<ExpressionPtr> expressions;
    for (const std::string& text : texts) {
      expressions.push_back(*Expression::Parse(text, TestNames()));
    }
    const std::vector<T> scalars(scalars_.begin(), scalars_.end());
    const auto gpu = OnGpu<T>(expressions, points_, scalars, array_);
    int told = 0;
    for (size_t e = 0; e < gpu.size(); ++e) {
      const std::vector<absl::Span<const T>> arrays = {array_};
      auto evaluator = Evaluator<T>::Create(expressions[e], scalars_, arrays);
      const T* const variables[] = {points_[0].data(), points_[1].data()};
      std::vector<T> cpu(kPoints);
      evaluator->Evaluate(variables, kPoints, cpu.data());
      for (size_t i = 0; i < kPoints; i += 8) {
        const double allowed =
            AllowedError<T>(*expressions[e], {points_[0][i], points_[1][i]}, scalars_, {array_},
                            static_cast<double>(cpu[i]), &random_);
        if (std::isinf(allowed)) continue;
        ++told;
        EXPECT_NEAR(gpu[e][i], cpu[i], allowed)
            << texts[e] << " at " << points_[0][i] << ", " << points_[1][i];
      }
    }
    return told;
  }

  std::mt19937_64 random_{99};
  const std::vector<double> scalars_ = {0.75, -2.5};
  std::vector<std::vector<T>> points_{2};
  std::vector<T> array_;
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MinimizeExpressionGpuTest, Precisions);

TYPED_TEST(MinimizeExpressionGpuTest, RandomExpressionsHaveTheCpusValues) {
  RandomText random_text(31);
  int told = 0;
  for (int unit = 0; unit < 10; ++unit) {
    std::vector<std::string> texts;
    for (int i = 0; i < 50; ++i) texts.push_back(random_text.Number(1 + i % 5));
    told += this->ExpectEqualValues(texts);
  }
  EXPECT_GT(told, 500 * kPoints / 8 / 2);
}

TYPED_TEST(MinimizeExpressionGpuTest, SumsHaveTheCpusValues) {
  std::string many = "x";  // more than are inlined
  for (int i = 1; i < 60; ++i) absl::StrAppend(&many, " + sin(x*", i, ")*cos(y)");
  EXPECT_GT(
      this->ExpectEqualValues(
          {"sum(j, 0, size(a)-1, a[j]*cos(x*j))^2 + sum(j, 0, size(a)-1, a[j]*sin(x*j))^2",
           "sum(i, -1, 3, sum(j, 0, 4, sum(k, 1, 3, a[7*(i+1) + j + k]*x - i*j*s)*y))",
           "sum(i, 1, 9, sin(s*i)*x) + sum(i, 1, 9, i)*y", "418.9829 - x*sin(sqrt(abs(x)))", many}),
      4 * kPoints / 8);
}

// Bit for bit: nothing in these is rounded by a function that is not the same on both. CPUs that do
// not fuse multiply-adds have other bits in trigonometric functions; those of GPU hosts do.
TYPED_TEST(MinimizeExpressionGpuTest, ArithmeticIsTheCpusBitForBit) {
  using T = TypeParam;
  const std::vector<std::string> texts = {
      "x*y + s",
      "(x - y)/(x + t) - x*y",
      "sqrt(abs(x))/3 + x^3 - y^-2",
      "fmod(x*1e30, y*1e-8) + fmod(x*1e15, y*1e-20) - fmod(x*1e9, y) + fmod(x, y/9)",
      "sum(j, 0, size(a)-1, a[j]*x + j/7)",
      "sum(j, 0, size(a)-1, a[j]*x)",
      "x*sin(sqrt(abs(x))) - y*cos(x*y/0.01)",
      "sin(x*25000) + cos(y*24999) + tan(x*y) - tan(x/1e9)",
      "sinpi(x*9)*cospi(y*11) + sinpi(x*y*1e6) + cospi(floor(x)/2)",
      "sum(j, 0, size(a)-1, a[j]*sin(x*j) + cos(y*j))",
      "select(x < y && !(x > s), floor(x*9), round(y*5)) + min(x, y, t)*max(x, s)*sign(y)"};
  std::vector<ExpressionPtr> expressions;
  for (const std::string& text : texts)
    expressions.push_back(*Expression::Parse(text, TestNames()));
  const std::vector<T> scalars(this->scalars_.begin(), this->scalars_.end());
  const auto gpu = OnGpu<T>(expressions, this->points_, scalars, this->array_);
  ASSERT_EQ(gpu.size(), texts.size());
  for (size_t e = 0; e < texts.size(); ++e) {
    const std::vector<absl::Span<const T>> arrays = {this->array_};
    auto evaluator = Evaluator<T>::Create(expressions[e], this->scalars_, arrays);
    const T* const variables[] = {this->points_[0].data(), this->points_[1].data()};
    std::vector<T> cpu(kPoints);
    evaluator->Evaluate(variables, kPoints, cpu.data());
    EXPECT_EQ(gpu[e], cpu) << texts[e];
  }
}

// Each operator and function with a NaN in each argument: lost on neither device (expression.h).
// The CPU's values are held against plain C++ by nan_test.cc.
TYPED_TEST(MinimizeExpressionGpuTest, NansAreWhereTheCpuHasThem) {
  using T = TypeParam;
  std::vector<std::string> texts;
  for (const auto& c : testing::NanCases()) texts.push_back(c.text);
  for (const auto& c : testing::NanConditions()) {
    texts.push_back(absl::StrCat("select(", c.text, ", 1, 0)"));
  }
  const std::vector<double>& operands = testing::NanOperands();
  std::vector<std::vector<T>> points(2);
  for (size_t i = 0; i < kPoints; ++i) {
    points[0].push_back(static_cast<T>(operands[i % operands.size()]));
    points[1].push_back(static_cast<T>(operands[i / operands.size() % operands.size()]));
  }
  ASSERT_LE(operands.size() * operands.size(), static_cast<size_t>(kPoints));
  const Names names{{"v", "z"}, {"s", "t"}, {{"a", kArray}}};
  const std::vector<T> scalars(this->scalars_.begin(), this->scalars_.end());
  constexpr size_t kUnit = 40;
  for (size_t first = 0; first < texts.size(); first += kUnit) {
    std::vector<ExpressionPtr> expressions;
    for (size_t e = first; e < std::min(first + kUnit, texts.size()); ++e) {
      expressions.push_back(*Expression::Parse(texts[e], names));
    }
    const auto gpu = OnGpu<T>(expressions, points, scalars, this->array_);
    ASSERT_EQ(gpu.size(), expressions.size());
    for (size_t e = 0; e < expressions.size(); ++e) {
      const std::vector<absl::Span<const T>> arrays = {this->array_};
      auto evaluator = Evaluator<T>::Create(expressions[e], this->scalars_, arrays);
      const T* const variables[] = {points[0].data(), points[1].data()};
      std::vector<T> cpu(kPoints);
      evaluator->Evaluate(variables, kPoints, cpu.data());
      const std::string& text = texts[first + e];
      const bool chooses = text.find("min(") == 0 || text.find("max(") == 0;
      for (size_t i = 0; i < kPoints; ++i) {
        SCOPED_TRACE(absl::StrCat(text, " at ", points[0][i], ", ", points[1][i]));
        EXPECT_EQ(std::isnan(gpu[e][i]), std::isnan(cpu[i]));
        if (std::isnan(cpu[i])) continue;
        EXPECT_EQ(std::isinf(gpu[e][i]), std::isinf(cpu[i]));
        if (chooses) {
          EXPECT_EQ(std::signbit(gpu[e][i]), std::signbit(cpu[i]));  // of zeros
        }
        if (std::isfinite(cpu[i])) {
          EXPECT_NEAR(gpu[e][i], cpu[i],
                      32 * std::numeric_limits<T>::epsilon() * (1 + std::fabs(cpu[i])));
        }
      }
    }
  }
}

}  // namespace
}  // namespace baseband::minimize
