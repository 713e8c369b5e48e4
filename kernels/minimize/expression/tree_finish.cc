// TreeBuilder: from what was built to the finished nodes.
#include "kernels/minimize/expression/functions.h"
#include "kernels/minimize/expression/tree_builder.h"

namespace baseband::minimize {

// Operands have smaller numbers than the nodes that use them.
void TreeBuilder::CountUses(int root) {
  At(root).uses = 1;
  for (int id = root; id >= 0; --id) {
    const Raw& raw = At(id);
    if (raw.uses == 0) continue;
    for (const int operand : raw.node.operands) {
      if (operand >= 0) ++At(operand).uses;
    }
  }
}

void TreeBuilder::Fuse() {
  // A product that is used once, computed no more often and no less than what uses it.
  const auto is_fusible = [this](int id, uint32_t sums, bool is_varying) {
    const Raw& product = At(id);
    return product.node.op == Op::kMultiply && product.uses == 1 &&
           product.node.is_varying == is_varying && Innermost(product.sums) == Innermost(sums);
  };
  const auto fuse = [this](Raw* raw, Op op, int product, int other) {
    Raw& factors = At(product);
    factors.uses = 0;
    raw->node.op = op;
    raw->node.operands = {factors.node.operands[0], factors.node.operands[1], other};
  };
  for (Raw& raw : raw_) {
    if (raw.uses == 0) continue;
    const auto [a, b, c] = raw.node.operands;
    const auto fits = [&](int id) { return is_fusible(id, raw.sums, raw.node.is_varying); };
    if (raw.node.op == Op::kAdd && fits(a)) {
      fuse(&raw, Op::kMultiplyAdd, a, b);
    } else if (raw.node.op == Op::kAdd && fits(b)) {
      fuse(&raw, Op::kMultiplyAdd, b, a);
    } else if (raw.node.op == Op::kSubtract && fits(a)) {
      fuse(&raw, Op::kMultiplySub, a, b);
    } else if (raw.node.op == Op::kSubtract && fits(b)) {
      fuse(&raw, Op::kNegMultiplyAdd, b, a);
    } else if (raw.node.op == Op::kSum && At(a).uses == 1 && IsOp(a, Op::kMultiply) &&
               At(a).sums != raw.sums) {
      fuse(&raw, Op::kSum, a, -1);
    }
  }
}

void TreeBuilder::Emit(const std::vector<int>& block, std::array<int, kMaxSumDepth> depths,
                       int depth, double times, std::vector<Node>* nodes, double* operations) {
  for (const int id : block) {
    Raw& raw = At(id);
    if (raw.uses == 0) continue;
    Node node = raw.node;
    node.depth = depth;
    if (node.op == Op::kSum) {
      auto inner = depths;  // less than open_depth where it has been moved out of sums
      inner[static_cast<size_t>(raw.open_depth)] = depth;
      node.body = static_cast<int>(nodes->size());
      const double terms = static_cast<double>(node.end - node.begin + 1);
      Emit(raw.block, inner, depth + 1, times * terms, nodes, operations);
      *operations += times * terms * OperationsOf(node.op);
    } else {
      *operations += times * OperationsOf(node.op);
    }
    node.index.coefficients = {};
    for (size_t d = 0; d < kMaxSumDepth; ++d) {
      const int64_t coefficient = raw.node.index.coefficients[d];
      if (coefficient != 0) node.index.coefficients[static_cast<size_t>(depths[d])] = coefficient;
    }
    for (int& operand : node.operands) {
      if (operand >= 0) operand = At(operand).final;
    }
    raw.final = static_cast<int>(nodes->size());
    nodes->push_back(node);
  }
}

std::vector<Node> TreeBuilder::Finish(int root, double* operations) {
  CountUses(root);
  Fuse();
  std::vector<Node> nodes;
  *operations = 0.0;
  Emit(block_, {}, 0, 1.0, &nodes, operations);
  return nodes;
}

}  // namespace baseband::minimize
