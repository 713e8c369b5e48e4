#include "kernels/minimize/expression/tree_builder.h"

#include <cmath>
#include <limits>
#include <utility>

#include "kernels/minimize/expression/append_bytes.h"
#include "kernels/minimize/expression/functions.h"

namespace baseband::minimize {
namespace {

bool IsCommutative(Op op) {
  return op == Op::kAdd || op == Op::kMultiply || op == Op::kEqual || op == Op::kNotEqual ||
         op == Op::kAnd || op == Op::kOr;
}

bool IsCondition(Op op) { return op >= Op::kLess && op <= Op::kNot; }

// Whether dividing by it is multiplying by its inverse, in float, too.
bool HasExactInverse(double value) {
  int exponent = 0;
  return std::isfinite(value) && std::fabs(std::frexp(value, &exponent)) == 0.5 &&
         exponent > -100 && exponent < 100;
}

uint32_t SumsOf(const OpenIndex& index) {
  uint32_t sums = 0;
  for (size_t d = 0; d < kMaxSumDepth; ++d) sums |= index.coefficients[d] != 0 ? 1U << d : 0U;
  return sums;
}

}  // namespace

int TreeBuilder::Constant(double value) {
  Node node;
  node.constant = value;
  return Intern(node, 0);
}

int TreeBuilder::Variable(int number) {
  Node node;
  node.op = Op::kVariable;
  node.number = number;
  node.is_varying = true;
  return Intern(node, 0);
}

int TreeBuilder::Scalar(int number) {
  Node node;
  node.op = Op::kScalar;
  node.number = number;
  return Intern(node, 0);
}

int TreeBuilder::Index(const OpenIndex& index) {
  Node node;
  node.op = Op::kIndex;
  node.index = index;
  const uint32_t sums = SumsOf(index);
  return sums == 0 ? Constant(static_cast<double>(index.constant)) : Intern(node, sums);
}

int TreeBuilder::Element(int array, const OpenIndex& index) {
  Node node;
  node.op = Op::kElement;
  node.number = array;
  node.index = index;
  const uint32_t sums = SumsOf(index);
  return Intern(node, sums);
}

int TreeBuilder::Make(Op op, int a, int b, int c) {
  const int simplified = Simplified(op, a, b, c);
  if (simplified >= 0) return simplified;
  // What belongs to an inner sum first: so the order in equal sums is the same.
  if (IsCommutative(op) &&
      std::make_pair(-Innermost(At(a).sums), a) > std::make_pair(-Innermost(At(b).sums), b)) {
    std::swap(a, b);
  }
  Node node;
  node.op = op;
  node.is_condition = IsCondition(op);
  node.operands = {a, b, c};
  uint32_t sums = 0;
  for (const int operand : node.operands) {
    if (operand < 0) continue;
    const Raw& raw = At(operand);
    node.is_varying |= raw.node.is_varying;
    sums |= raw.sums;
  }
  return Intern(node, sums);
}

int TreeBuilder::Simplified(Op op, int a, int b, int c) {
  if (op == Op::kPow) {  // of constants, too: they mean what others do
    const int power = Power(a, b);
    if (power >= 0) return power;
  }
  const auto value = [this](int id) { return id < 0 ? 0.0 : ConstantOf(id); };
  const auto is_known = [this](int id) { return id < 0 || IsConstant(id); };
  if (is_known(a) && is_known(b) && is_known(c)) {
    return Constant(Apply(op, value(a), value(b), value(c)));
  }
  switch (op) {
    case Op::kSelect:
      if (b == c) return b;
      return IsConstant(a) ? (ConstantOf(a) != 0.0 ? b : c) : -1;
    case Op::kAnd:
    case Op::kOr:
      if (IsConstant(a)) std::swap(a, b);
      if (a == b) return a;
      if (!IsConstant(b)) return -1;
      return (ConstantOf(b) != 0.0) == (op == Op::kAnd) ? a : b;
    case Op::kAdd:
      if (IsOp(b, Op::kNegate)) return Make(Op::kSubtract, a, At(b).node.operands[0]);
      if (IsOp(a, Op::kNegate)) return Make(Op::kSubtract, b, At(a).node.operands[0]);
      return -1;
    case Op::kSubtract:
      if (IsOp(b, Op::kNegate)) return Make(Op::kAdd, a, At(b).node.operands[0]);
      return IsConstant(b, 0.0) && !std::signbit(ConstantOf(b)) ? a : -1;
    case Op::kMultiply:
      if (IsConstant(a)) std::swap(a, b);
      if (IsConstant(b, 1.0)) return a;
      return IsConstant(b, -1.0) ? Make(Op::kNegate, a) : -1;
    case Op::kDivide:
      if (!IsConstant(b) || !HasExactInverse(ConstantOf(b))) return -1;
      return Make(Op::kMultiply, a, Constant(1.0 / ConstantOf(b)));
    case Op::kNegate:
      return IsOp(a, Op::kNegate) ? At(a).node.operands[0] : -1;
    default:
      return -1;
  }
}

int TreeBuilder::Power(int base, int exponent) {
  if (!IsConstant(exponent)) return -1;
  const double power = ConstantOf(exponent);
  const auto square = [this](int x) { return Make(Op::kMultiply, x, x); };
  const auto inverse = [this](int x) { return Make(Op::kDivide, Constant(1.0), x); };
  if (power == 0.0) {  // 1, or NaN
    return Make(Op::kSelect, Make(Op::kEqual, base, base), Constant(1.0), base);
  }
  if (power == 1.0) return base;
  if (power == 2.0) return square(base);
  if (power == 3.0) return Make(Op::kMultiply, square(base), base);
  if (power == 4.0) return square(square(base));
  if (power == -1.0) return inverse(base);
  if (power == -2.0) return inverse(square(base));
  if (power == 0.5) return Make(Op::kSqrt, base);
  if (power == -0.5) return inverse(Make(Op::kSqrt, base));
  return -1;
}

void TreeBuilder::AppendKey(const Node& node, std::string* key) const {
  AppendBytes(node.op, key);
  switch (node.op) {
    case Op::kConstant:
      AppendBytes(node.constant, key);
      break;
    case Op::kVariable:
    case Op::kScalar:
      AppendBytes(node.number, key);
      break;
    case Op::kIndex:
    case Op::kElement:
      AppendBytes(node.number, key);
      AppendBytes(node.index, key);
      for (size_t d = 0; d < open_.size(); ++d) {
        AppendBytes(node.index.coefficients[d] != 0 ? open_[d].serial : 0, key);
      }
      break;
    default:
      AppendBytes(node.operands, key);
  }
}

std::vector<int>& TreeBuilder::BlockOf(uint32_t sums) {
  const int innermost = Innermost(sums);
  return innermost < 0 ? block_ : open_[static_cast<size_t>(innermost)].block;
}

int TreeBuilder::Intern(const Node& node, uint32_t sums) {
  std::string key;
  AppendKey(node, &key);
  const auto [found, is_new] = interned_.emplace(std::move(key), static_cast<int>(raw_.size()));
  if (!is_new) return found->second;
  Raw raw;
  raw.node = node;
  raw.sums = sums;
  BlockOf(sums).push_back(found->second);
  raw_.push_back(std::move(raw));
  return found->second;
}

void TreeBuilder::OpenSum(int64_t begin, int64_t end) {
  OpenSumState state;
  state.serial = ++num_sums_;
  state.begin = begin;
  state.end = end;
  open_.push_back(std::move(state));
}

int TreeBuilder::CloseSum(int body) {
  const auto depth = static_cast<uint32_t>(open_.size() - 1);
  OpenSumState state = std::move(open_.back());
  Raw raw;
  raw.node.op = Op::kSum;
  raw.node.operands[0] = body;
  raw.node.is_varying = At(body).node.is_varying;
  raw.node.begin = state.begin;
  raw.node.end = state.end;
  raw.sums = At(body).sums & ~(1U << depth);
  raw.open_depth = static_cast<int>(depth);
  raw.block = std::move(state.block);

  std::string key;
  AppendBytes(depth, &key);
  absl::flat_hash_map<int, int> places;
  AppendBlock(raw, &places, &key);
  open_.pop_back();
  if (state.begin > state.end) return Constant(0.0);
  const auto [found, is_new] = interned_.emplace(std::move(key), static_cast<int>(raw_.size()));
  if (!is_new) return found->second;
  BlockOf(raw.sums).push_back(found->second);
  raw_.push_back(std::move(raw));
  return found->second;
}

void TreeBuilder::AppendBlock(const Raw& sum, absl::flat_hash_map<int, int>* places,
                              std::string* key) const {
  const auto append_operand = [&](int id) {
    const auto place = places->find(id);
    AppendBytes(place != places->end() ? -2 - place->second : id, key);
  };
  AppendBytes(Op::kSum, key);
  AppendBytes(sum.node.begin, key);
  AppendBytes(sum.node.end, key);
  for (const int id : sum.block) {
    const Raw& raw = At(id);
    places->emplace(id, static_cast<int>(places->size()));
    if (raw.node.op == Op::kSum) {
      AppendBlock(raw, places, key);
      continue;
    }
    AppendBytes(raw.node.op, key);
    AppendBytes(raw.node.number, key);
    AppendBytes(raw.node.index, key);
    // Indices of this sum and of those in it are known by their depth, those around by serial.
    for (size_t d = 0; d + 1 < open_.size(); ++d) {
      AppendBytes(raw.node.index.coefficients[d] != 0 ? open_[d].serial : 0, key);
    }
    for (const int operand : raw.node.operands) append_operand(operand);
  }
  AppendBytes(Op::kConstant, key);  // the end of the block
  append_operand(sum.node.operands[0]);
}

}  // namespace baseband::minimize
