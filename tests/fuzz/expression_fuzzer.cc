// Any text with any names: refused with a place, or parsed; then it is evaluated in both precisions
// at a few points, each alone as in a block, and written as CUDA. Every EXPRESSION_FUZZER_NVRTC-th
// accepted text (an environment variable, default 0: none) is compiled by NVRTC, too.
//
// Input: up to the first line feed the names, "x y;s t;a=12 b=3": variables; scalars; arrays with
// their sizes. The text is the rest.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/minimize/cpu/evaluate_cpu.h"
#include "kernels/minimize/expression.h"
#include "kernels/minimize/expression/cuda_source.h"
#include "kernels/minimize/expression/cuda_texts.h"
#include "kernels/minimize/expression/nvrtc_library.h"

namespace baseband::minimize {
namespace {

// What takes longer than this to evaluate is parsed and written, but not evaluated.
constexpr double kMaxEvaluated = 2e4;
constexpr int kPoints = 19;

void Check(bool holds) {
  if (!holds) std::abort();
}

Names NamesOf(absl::string_view line) {
  Names names;
  const std::vector<absl::string_view> groups = absl::StrSplit(line, absl::MaxSplits(';', 2));
  const auto words = [&groups](size_t group) -> std::vector<std::string> {
    if (group >= groups.size()) return {};
    return absl::StrSplit(groups[group], ' ', absl::SkipEmpty());
  };
  names.variables = words(0);
  names.scalars = words(1);
  for (const std::string& word : words(2)) {
    const std::vector<std::string> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
    int64_t size = 1;
    if (parts.size() > 1 && !absl::SimpleAtoi(parts[1], &size)) size = -1;
    names.arrays.push_back({parts[0], size});
  }
  return names;
}

template <typename T>
bool IsSame(T a, T b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

template <typename T>
void Evaluate(const std::shared_ptr<const Expression>& expression) {
  std::vector<std::vector<T>> data;
  for (const int64_t size : expression->array_sizes()) {
    data.emplace_back();
    for (int64_t i = 0; i < size; ++i) data.back().push_back(static_cast<T>(i % 7) - T{2.5});
  }
  const std::vector<absl::Span<const T>> arrays(data.begin(), data.end());
  std::vector<double> scalars;
  for (int i = 0; i < expression->num_scalars(); ++i) scalars.push_back(1.5 * i - 2.0);
  auto evaluator = Evaluator<T>::Create(expression, scalars, arrays);
  Check(evaluator.ok());

  constexpr T kSpecial[] = {T{0},
                            std::numeric_limits<T>::quiet_NaN(),
                            std::numeric_limits<T>::infinity(),
                            std::numeric_limits<T>::denorm_min(),
                            -std::numeric_limits<T>::max(),
                            T{1e5F}};
  std::vector<std::vector<T>> points;
  std::vector<const T*> variables;
  for (int v = 0; v < expression->num_variables(); ++v) {
    points.emplace_back();
    for (int i = 0; i < kPoints; ++i) {
      const int special = (i + v) % 11;
      points.back().push_back(special < 6 ? kSpecial[special] : static_cast<T>(0.37 * i - v));
    }
  }
  for (const std::vector<T>& axis : points) variables.push_back(axis.data());
  std::vector<T> values(kPoints);
  evaluator->Evaluate(variables.data(), kPoints, values.data());
  for (int i = 0; i < kPoints; i += 5) {
    std::vector<const T*> at;
    for (const std::vector<T>& axis : points) at.push_back(axis.data() + i);
    T alone = 0;
    evaluator->Evaluate(at.data(), 1, &alone);
    Check(IsSame(alone, values[static_cast<size_t>(i)]));
  }
}

void Compile(const std::string& function, const char* real) {
  const auto cubin = CompileCuda(
      absl::StrCat("using Real = ", real, ";\n", kFunctionsText, function,
                   "extern \"C\" __global__ void Run(const Real* x, const Real* scalars,"
                   " const Real* const* arrays, Real* value) {"
                   " *value = Evaluate(x, scalars, arrays); }\n"),
      90);
  if (cubin.ok() || absl::IsUnavailable(cubin.status())) return;
  std::fprintf(stderr, "%s\n%s", function.c_str(), std::string(cubin.status().message()).c_str());
  std::abort();
}

void Try(absl::string_view input) {
  static const char* const setting = std::getenv("EXPRESSION_FUZZER_NVRTC");
  static const int every = setting == nullptr ? 0 : std::atoi(setting);
  static int64_t accepted = 0;

  const std::vector<absl::string_view> parts = absl::StrSplit(input, absl::MaxSplits('\n', 1));
  const Names names = NamesOf(parts[0]);
  const absl::string_view text = parts.size() > 1 ? parts[1] : "";
  const auto parsed = Expression::Parse(text, names);
  if (!parsed.ok()) {
    Check(absl::IsInvalidArgument(parsed.status()) && !parsed.status().message().empty());
    return;
  }
  const Expression& expression = **parsed;
  Check(expression.cost() <= kMaxOperations);
  const std::string single = CudaFunction(expression, Precision::kFloat32);
  const std::string twice = CudaFunction(expression, Precision::kFloat64);
  Check(!absl::StrContains(single, "$") && !absl::StrContains(twice, "$"));
  if (expression.cost() <= kMaxEvaluated) {
    Evaluate<float>(*parsed);
    Evaluate<double>(*parsed);
  }
  if (every > 0 && accepted++ % every == 0) {
    Compile(single, "float");
    Compile(twice, "double");
  }
}

}  // namespace
}  // namespace baseband::minimize

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  baseband::minimize::Try(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
