#include "kernels/minimize/expression.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/minimize/expression/append_bytes.h"
#include "kernels/minimize/expression/lexer.h"
#include "kernels/minimize/expression/parser.h"
#include "kernels/minimize/expression/tree_builder.h"

namespace baseband::minimize {
namespace {

// Everything in a node that its code depends on.
void AppendNode(const Node& node, std::string* key) {
  AppendBytes(node.op, key);
  AppendBytes(node.operands, key);
  AppendBytes(node.constant, key);
  AppendBytes(node.number, key);
  AppendBytes(node.index, key);
  AppendBytes(node.begin, key);
  AppendBytes(node.end, key);
  AppendBytes(node.body, key);
}

// Mixes 64 bits so that each input bit changes each output bit with probability 1/2 (Steele,
// Lea and Flood 2014, the finaliser of SplitMix64).
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

StructureHash HashOf(const std::string& key) {
  StructureHash hash{0x9e3779b97f4a7c15, key.size()};
  for (size_t at = 0; at < key.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, key.data() + at, std::min<size_t>(8, key.size() - at));
    hash.high = Mix(hash.high ^ word);
    hash.low = Mix(hash.low + word * 0x9e3779b97f4a7c15) ^ (hash.high >> 32);
  }
  return hash;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Expression>> Expression::Parse(absl::string_view text,
                                                                    const Names& names) {
  BASEBAND_RETURN_IF_ERROR(CheckNames(names));
  BASEBAND_ASSIGN_OR_RETURN(const std::vector<Token> tokens, Tokenize(text));
  TreeBuilder builder;
  BASEBAND_ASSIGN_OR_RETURN(const int root, Parser(tokens, names, &builder).Parse());

  std::shared_ptr<Expression> expression(new Expression);
  expression->nodes_ = builder.Finish(root, &expression->cost_);
  if (!(expression->cost_ <= kMaxOperations)) {
    return absl::InvalidArgumentError(absl::StrCat("expression: about ", expression->cost_,
                                                   " operations for each point, more than ",
                                                   kMaxOperations));
  }
  expression->num_variables_ = static_cast<int>(names.variables.size());
  expression->num_scalars_ = static_cast<int>(names.scalars.size());
  for (const Names::Array& array : names.arrays) expression->array_sizes_.push_back(array.size);
  for (const Node& node : expression->nodes_) AppendNode(node, &expression->key_);
  expression->hash_ = HashOf(expression->key_);
  return expression;
}

}  // namespace baseband::minimize
