#include "kernels/minimize/expression_functional.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "kernels/base/status_macros.h"
#include "kernels/minimize/cpu/coordinates_cpu.h"
#include "kernels/minimize/cpu/evaluate_cpu.h"
#include "kernels/minimize/cpu/workspace_cpu.h"

namespace baseband::minimize {
namespace {

uint64_t NextNumber() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(2, std::memory_order_relaxed);
}

template <typename T>
absl::StatusOr<Evaluator<T>> MakeEvaluator(const ExpressionFunctional& functional) {
  std::vector<absl::Span<const T>> arrays;
  for (const std::vector<T>& array : functional.Arrays<T>()) arrays.emplace_back(array);
  return Evaluator<T>::Create(functional.shared_expression(), functional.Scalars<double>(), arrays);
}

// The thread's own evaluator, made when it is first asked for.
template <typename T>
Evaluator<T>* EvaluatorOf(const ExpressionFunctional& functional, uint64_t number,
                          CpuWorkspace* workspace) {
  void* kept = workspace->Kept(number);
  if (kept == nullptr) {
    // Create checked everything: this one succeeds.
    auto made = std::make_shared<Evaluator<T>>(*MakeEvaluator<T>(functional));
    kept = made.get();
    workspace->Keep(number, std::move(made));
  }
  return static_cast<Evaluator<T>*>(kept);
}

}  // namespace

absl::StatusOr<FunctionalPtr> ExpressionFunctional::Create(
    std::shared_ptr<const Expression> expression, std::vector<double> scalars,
    std::vector<std::vector<double>> arrays) {
  std::shared_ptr<ExpressionFunctional> functional(
      new ExpressionFunctional(std::move(expression), std::move(scalars), std::move(arrays)));
  BASEBAND_RETURN_IF_ERROR(MakeEvaluator<double>(*functional).status());
  return FunctionalPtr(std::move(functional));
}

ExpressionFunctional::ExpressionFunctional(std::shared_ptr<const Expression> expression,
                                           std::vector<double> scalars,
                                           std::vector<std::vector<double>> arrays)
    : expression_(std::move(expression)),
      scalars_(std::move(scalars)),
      arrays_(std::move(arrays)),
      number_(NextNumber()) {
  for (const double scalar : scalars_) scalars_float_.push_back(static_cast<float>(scalar));
  for (const std::vector<double>& array : arrays_) {
    arrays_float_.emplace_back(array.size());
    std::transform(array.begin(), array.end(), arrays_float_.back().begin(),
                   [](double x) { return static_cast<float>(x); });
  }
}

template <>
const std::vector<double>& ExpressionFunctional::Scalars<double>() const {
  return scalars_;
}
template <>
const std::vector<float>& ExpressionFunctional::Scalars<float>() const {
  return scalars_float_;
}
template <>
const std::vector<std::vector<double>>& ExpressionFunctional::Arrays<double>() const {
  return arrays_;
}
template <>
const std::vector<std::vector<float>>& ExpressionFunctional::Arrays<float>() const {
  return arrays_float_;
}

absl::Status ExpressionFunctional::Check(const Grid& grid, Method /*method*/) const {
  if (grid.num_axes() == expression_->num_variables()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("number of axes ", grid.num_axes(),
                                                 " is not that of the expression's variables, ",
                                                 expression_->num_variables()));
}

double ExpressionFunctional::Cost(const Grid& /*grid*/, Method /*method*/) const {
  return 4.0 + expression_->cost();  // a point's own cost, whatever is computed there
}

int64_t ExpressionFunctional::HostBytes() const {
  // A node also stands in the structure's key.
  size_t bytes = 2 * expression_->nodes().size() * sizeof(Node);
  constexpr size_t kNumber = sizeof(double) + sizeof(float);
  bytes += scalars_.size() * kNumber;
  for (const std::vector<double>& array : arrays_) bytes += array.size() * kNumber;
  return static_cast<int64_t>(bytes);
}

template <typename T>
void ExpressionFunctional::EvaluateAs(const Run<T>& run, CpuWorkspace* workspace) const {
  const auto x = RunCoordinates<T>(*run.grid, run.first, run.count, workspace);
  EvaluatorOf<T>(*this, number_ + (sizeof(T) == 4 ? 1 : 0), workspace)
      ->Evaluate(x.data(), static_cast<int>(run.count), run.values);
}

void ExpressionFunctional::Evaluate(const Run<float>& run, CpuWorkspace* workspace) const {
  EvaluateAs(run, workspace);
}
void ExpressionFunctional::Evaluate(const Run<double>& run, CpuWorkspace* workspace) const {
  EvaluateAs(run, workspace);
}

double ExpressionFunctional::At(const Coordinates& x) const {
  double value = 0.0;
  AtMany(&x, 1, &value);
  return value;
}

void ExpressionFunctional::AtMany(const Coordinates* x, int count, double* values) const {
  std::array<std::array<double, kMaxAtOnce>, kMaxAxes> columns;
  std::array<const double*, kMaxAxes> variables{};
  for (size_t k = 0; k < kMaxAxes; ++k) {
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) columns[k][i] = x[i][k];
    variables[k] = columns[k].data();
  }
  EvaluatorOf<double>(*this, number_, &CpuWorkspace::OfThisThread())
      ->Evaluate(variables.data(), count, values);
}

}  // namespace baseband::minimize
