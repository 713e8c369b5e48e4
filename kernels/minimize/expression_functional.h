// An expression (expression.h) as what is minimised: its variables are the grid's axes.
#ifndef BASEBAND_KERNELS_MINIMIZE_EXPRESSION_FUNCTIONAL_H_
#define BASEBAND_KERNELS_MINIMIZE_EXPRESSION_FUNCTIONAL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/minimize/expression.h"
#include "kernels/minimize/functional.h"

namespace baseband::minimize {

class ExpressionFunctional final : public Functional {
 public:
  // `scalars` and `arrays` in the order of the expression's Names; searches in float32 round them.
  // InvalidArgument: a number of scalars or arrays, or an array's size, that is not the
  // expression's.
  static absl::StatusOr<FunctionalPtr> Create(std::shared_ptr<const Expression> expression,
                                              std::vector<double> scalars,
                                              std::vector<std::vector<double>> arrays);

  FunctionalKind kind() const override { return FunctionalKind::kExpression; }
  absl::Status Check(const Grid& grid, Method method) const override;
  double Cost(const Grid& grid, Method method) const override;
  int64_t HostBytes() const override;
  void Evaluate(const Run<float>& run, CpuWorkspace* workspace) const override;
  void Evaluate(const Run<double>& run, CpuWorkspace* workspace) const override;
  double At(const Coordinates& x) const override;
  int AtOnce() const override { return kMaxAtOnce; }
  void AtMany(const Coordinates* x, int count, double* values) const override;

  const Expression& expression() const { return *expression_; }
  const std::shared_ptr<const Expression>& shared_expression() const { return expression_; }
  template <typename T>
  const std::vector<T>& Scalars() const;
  template <typename T>
  const std::vector<std::vector<T>>& Arrays() const;

 private:
  ExpressionFunctional(std::shared_ptr<const Expression> expression, std::vector<double> scalars,
                       std::vector<std::vector<double>> arrays);
  template <typename T>
  void EvaluateAs(const Run<T>& run, CpuWorkspace* workspace) const;

  const std::shared_ptr<const Expression> expression_;
  const std::vector<double> scalars_;
  const std::vector<std::vector<double>> arrays_;
  std::vector<float> scalars_float_;
  std::vector<std::vector<float>> arrays_float_;
  const uint64_t number_;  // of this functional, odd: what workspaces keep its evaluators by
};

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_EXPRESSION_FUNCTIONAL_H_
