// The value of an expression at one point by a walk over its tree: slow and obvious.
#ifndef BASEBAND_TESTS_SUPPORT_MINIMIZE_ORACLE_H_
#define BASEBAND_TESTS_SUPPORT_MINIMIZE_ORACLE_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/minimize/expression.h"
#include "kernels/minimize/expression/functions.h"

namespace baseband::minimize {

using ExpressionPtr = std::shared_ptr<const Expression>;

// T is float or double. Arithmetic is rounded to T, functions are the C library's in double, then
// rounded to T.
template <typename T>
class Oracle {
 public:
  // Each real result that is not exact goes through `disturb`, if there is one.
  Oracle(const Expression& expression, std::vector<T> variables, std::vector<double> scalars,
         const std::vector<std::vector<T>>& arrays, std::function<T(T)> disturb = nullptr)
      : nodes_(expression.nodes()),
        variables_(std::move(variables)),
        scalars_(std::move(scalars)),
        arrays_(arrays),
        disturb_(std::move(disturb)),
        values_(nodes_.size()) {
    Walk(0, nodes_.size(), 0);
  }

  T value() const { return values_.back(); }
  // The greatest magnitude of all intermediate results; infinite if one is, or is NaN.
  double greatest() const { return greatest_; }

 private:
  // Nodes [begin, end), which stand at `depth`, and sums among them with their bodies.
  void Walk(size_t begin, size_t end, int depth) {
    size_t id = begin;
    while (id < end) {
      size_t at = id;
      while (nodes_[at].depth > depth) ++at;  // the sum that the body belongs to
      if (nodes_[at].op == Op::kSum) {
        Sum(at);
      } else {
        values_[at] = ValueOf(nodes_[at]);
      }
      Note(nodes_[at], values_[at]);
      id = at + 1;
    }
  }

  void Sum(size_t id) {
    const Node& sum = nodes_[id];
    T total = 0;
    for (int64_t index = sum.begin; index <= sum.end; ++index) {
      indices_[static_cast<size_t>(sum.depth)] = index;
      Walk(static_cast<size_t>(sum.body), id, sum.depth + 1);
      const T a = Operand(sum, 0);
      total = Disturbed(sum.operands[1] < 0 ? total + a : std::fma(a, Operand(sum, 1), total));
      Note(sum, total);
    }
    values_[id] = total;
  }

  T Operand(const Node& node, size_t which) const {
    return values_[static_cast<size_t>(node.operands[which])];
  }
  T Disturbed(T value) const { return disturb_ ? disturb_(value) : value; }
  void Note(const Node& node, T value) {
    if (node.is_condition) return;
    const double magnitude = std::isnan(value) ? INFINITY : std::fabs(static_cast<double>(value));
    greatest_ = std::max(greatest_, magnitude);
  }

  T ValueOf(const Node& node) const {
    int64_t index = node.index.constant;
    for (size_t d = 0; d < kMaxSumDepth; ++d) index += node.index.coefficients[d] * indices_[d];
    const auto operand = [&](size_t i) { return node.operands[i] < 0 ? T{0} : Operand(node, i); };
    switch (node.op) {
      case Op::kConstant:
        return static_cast<T>(node.constant);
      case Op::kVariable:
        return variables_[static_cast<size_t>(node.number)];
      case Op::kScalar:
        return static_cast<T>(scalars_[static_cast<size_t>(node.number)]);
      case Op::kIndex:
        return static_cast<T>(index);
      case Op::kElement:
        return arrays_[static_cast<size_t>(node.number)].at(static_cast<size_t>(index));
      case Op::kAdd:
        return Disturbed(operand(0) + operand(1));
      case Op::kSubtract:
        return Disturbed(operand(0) - operand(1));
      case Op::kMultiply:
        return Disturbed(operand(0) * operand(1));
      case Op::kDivide:
        return Disturbed(operand(0) / operand(1));
      case Op::kMultiplyAdd:
        return Disturbed(std::fma(operand(0), operand(1), operand(2)));
      case Op::kMultiplySub:
        return Disturbed(std::fma(operand(0), operand(1), -operand(2)));
      case Op::kNegMultiplyAdd:
        return Disturbed(std::fma(-operand(0), operand(1), operand(2)));
      default: {
        const T value = static_cast<T>(Apply(node.op, operand(0), operand(1), operand(2)));
        const bool is_exact = node.is_condition || node.op == Op::kSelect ||
                              node.op == Op::kNegate || node.op == Op::kAbs;
        return is_exact ? value : Disturbed(value);
      }
    }
  }

  const std::vector<Node>& nodes_;
  const std::vector<T> variables_;
  const std::vector<double> scalars_;
  const std::vector<std::vector<T>> arrays_;
  const std::function<T(T)> disturb_;
  std::vector<T> values_;
  std::array<int64_t, kMaxSumDepth> indices_{};
  double greatest_ = 0.0;
};

}  // namespace baseband::minimize

#endif  // BASEBAND_TESTS_SUPPORT_MINIMIZE_ORACLE_H_
