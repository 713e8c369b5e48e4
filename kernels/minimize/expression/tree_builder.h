// Makes the nodes of an expression: equal ones once, constants folded, each in the outermost sum
// that it can stand in.
//
// While it is built, a node is a number and carries the set of open sums whose indices it depends
// on. It belongs to the block of the innermost of them, and those of none to the block of the whole
// expression; closing a sum puts its block into the node of the sum. Finish() drops what is not
// used, fuses multiply-adds and writes all blocks out in order.
#ifndef BASEBAND_KERNELS_MINIMIZE_EXPRESSION_TREE_BUILDER_H_
#define BASEBAND_KERNELS_MINIMIZE_EXPRESSION_TREE_BUILDER_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kernels/minimize/expression.h"

namespace baseband::minimize {

// An integer in the making: constant + sum of coefficients times indices of open sums, which are
// counted from the outermost.
using OpenIndex = LinearIndex;

class TreeBuilder {
 public:
  int Constant(double value);
  int Variable(int number);
  int Scalar(int number);
  int Index(const OpenIndex& index);
  int Element(int array, const OpenIndex& index);
  // A real or logical operation of nodes; -1 for operands that it has not. May be another node than
  // what it is asked for, of the same value as expression.h has it.
  int Make(Op op, int a, int b = -1, int c = -1);

  int num_open_sums() const { return static_cast<int>(open_.size()); }
  // begin > end is a sum of nothing.
  void OpenSum(int64_t begin, int64_t end);
  int CloseSum(int body);

  // The finished nodes, the last being `root`, and the operations for one evaluation of them. To be
  // called once, with no sum open.
  std::vector<Node> Finish(int root, double* operations);

 private:
  // In a node, index.coefficients are of open sums.
  struct Raw {
    Node node;
    uint32_t sums = 0;       // bit d: depends on the index of open sum d
    int uses = 0;            // by nodes that are used; known from Finish() on
    int final = -1;          // its place in the result
    int open_depth = 0;      // kSum: how many sums were open around it
    std::vector<int> block;  // kSum: the nodes that are computed for each term
  };
  struct OpenSumState {
    int serial = 0;  // differs between all sums
    int64_t begin = 0;
    int64_t end = 0;
    std::vector<int> block;
  };

  // The innermost of a set of open sums, -1 for the empty set.
  static int Innermost(uint32_t sums) {
    int depth = -1;
    while (sums >> (depth + 1) != 0) ++depth;
    return depth;
  }
  Raw& At(int id) { return raw_[static_cast<size_t>(id)]; }
  const Raw& At(int id) const { return raw_[static_cast<size_t>(id)]; }
  // The block that a node of these dependencies belongs to.
  std::vector<int>& BlockOf(uint32_t sums);
  bool IsConstant(int id) const { return At(id).node.op == Op::kConstant; }
  bool IsConstant(int id, double value) const {
    return IsConstant(id) && At(id).node.constant == value;
  }
  bool IsOp(int id, Op op) const { return At(id).node.op == op; }
  double ConstantOf(int id) const { return At(id).node.constant; }
  // -1: nothing simpler is known.
  int Simplified(Op op, int a, int b, int c);
  int Power(int base, int exponent);
  // The node, or the one that is equal to it.
  int Intern(const Node& node, uint32_t sums);
  void AppendKey(const Node& node, std::string* key) const;
  // What makes two sums equal: nodes of the block by their places in it, others by number.
  void AppendBlock(const Raw& sum, absl::flat_hash_map<int, int>* places, std::string* key) const;
  void CountUses(int root);
  void Fuse();
  void Emit(const std::vector<int>& block, std::array<int, kMaxSumDepth> depths, int depth,
            double times, std::vector<Node>* nodes, double* operations);

  std::vector<Raw> raw_;
  std::vector<int> block_;  // of the whole expression
  std::vector<OpenSumState> open_;
  absl::flat_hash_map<std::string, int> interned_;
  int num_sums_ = 0;
};

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_EXPRESSION_TREE_BUILDER_H_
