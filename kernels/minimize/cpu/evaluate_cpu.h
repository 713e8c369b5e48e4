// Evaluates expressions on the CPU, in blocks of points: one instruction of a small program at a
// time for a whole block, with the widest vectors that the processor has.
//
// Accuracy, and so the difference from the GPU's values. Both devices do the operations of the tree
// in its order; + - * / sqrt, fused multiply-adds, and all that is exact are the same on both, bit
// for bit (processors without fused multiply-adds, from before AVX2, round twice there). Other
// functions are within kMaxFunctionUlps of the true value here, and there, as the CUDA C++
// Programming Guide says. So the two differ as if each function's value had been off by twice that.
// What becomes of it depends on the formula: in Schwefel's it is less than kRelativeBound of the
// largest intermediate, where a function has a pole or a condition a jump it may be anything.
#ifndef BASEBAND_KERNELS_MINIMIZE_CPU_EVALUATE_CPU_H_
#define BASEBAND_KERNELS_MINIMIZE_CPU_EVALUATE_CPU_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/minimize/expression.h"

namespace baseband::minimize {

// sin, cos, tan: for |x| <= 1e5 (float) and 1e9 (double) by vectors, beyond by the C library, point
// by point and much slower; the bound holds throughout.
inline constexpr double kMaxFunctionUlps = 4.0;

template <typename T>
inline constexpr double kRelativeBound = 1e-13;
template <>
inline constexpr double kRelativeBound<float> = 1e-6;

// T is float or double. Thread-compatible: one thread at a time, as it owns its registers; threads
// have an evaluator each and share the expression and the arrays.
template <typename T>
class Evaluator {
 public:
  // `scalars` and `arrays` in the order of Names; the arrays' memory must outlive the evaluator and
  // stay as it is. What does not depend on the variables is computed here, unless it stands in a
  // sum that does: this may take as long as evaluating a point.
  // InvalidArgument: a number of scalars or arrays, or an array's size, that is not the
  // expression's.
  static absl::StatusOr<Evaluator> Create(const std::shared_ptr<const Expression>& expression,
                                          absl::Span<const double> scalars,
                                          absl::Span<const absl::Span<const T>> arrays);
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) noexcept;
  ~Evaluator();

  // values[i] for variables[v][i], v < num_variables(), i < count, count >= 0. `values` may be one
  // of the variables. A point's value does not depend on the points beside it. Allocates nothing.
  // Takes about cost() * count operations, and at least 16 points' worth: who wants to stop in
  // between passes fewer points at a time.
  void Evaluate(const T* const* variables, int count, T* values);

  // Memory of the registers.
  int64_t workspace_bytes() const;

 private:
  struct State;
  explicit Evaluator(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

extern template class Evaluator<float>;
extern template class Evaluator<double>;

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_CPU_EVALUATE_CPU_H_
