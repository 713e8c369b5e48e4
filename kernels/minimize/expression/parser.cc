#include "kernels/minimize/expression/parser.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace baseband::minimize {
namespace {

bool IsConstant(const OpenIndex& index) { return index.coefficients == OpenIndex().coefficients; }

// a + factor b. Both factors are at most kMaxIndex, as are all members of an OpenIndex.
OpenIndex AddScaled(const OpenIndex& a, const OpenIndex& b, int64_t factor) {
  OpenIndex sum;
  sum.constant = a.constant + factor * b.constant;
  for (size_t d = 0; d < kMaxSumDepth; ++d) {
    sum.coefficients[d] = a.coefficients[d] + factor * b.coefficients[d];
  }
  return sum;
}

bool IsInRange(const OpenIndex& index) {
  const auto fits = [](int64_t value) { return value >= -kMaxIndex && value <= kMaxIndex; };
  return fits(index.constant) &&
         std::all_of(index.coefficients.begin(), index.coefficients.end(), fits);
}

// Nothing if the result is no integer of ours.
std::optional<OpenIndex> CombineIntegers(Op op, const OpenIndex& a, const OpenIndex& b) {
  OpenIndex result;
  if (op == Op::kAdd || op == Op::kSubtract) {
    result = AddScaled(a, b, op == Op::kAdd ? 1 : -1);
  } else if (op == Op::kMultiply && IsConstant(a)) {
    result = AddScaled(OpenIndex(), b, a.constant);
  } else if (op == Op::kMultiply && IsConstant(b)) {
    result = AddScaled(OpenIndex(), a, b.constant);
  } else {
    return std::nullopt;
  }
  if (!IsInRange(result)) return std::nullopt;
  return result;
}

}  // namespace

// All binary operators but ^.
struct Parser::BinaryOperator {
  absl::string_view symbol;
  int precedence = 0;  // tighter is more
  Op op = Op::kAdd;
  bool takes_conditions = false;
  bool swaps = false;  // a > b is b < a
};

const Parser::BinaryOperator Parser::kOperators[] = {
    {"||", 1, Op::kOr, true},
    {"&&", 2, Op::kAnd, true},
    {"==", 3, Op::kEqual},
    {"!=", 3, Op::kNotEqual},
    {"<", 4, Op::kLess},
    {"<=", 4, Op::kLessEqual},
    {">", 4, Op::kLess, false, true},
    {">=", 4, Op::kLessEqual, false, true},
    {"+", 5, Op::kAdd},
    {"-", 5, Op::kSubtract},
    {"*", 6, Op::kMultiply},
    {"/", 6, Op::kDivide},
};

const Parser::BinaryOperator* Parser::FindOperator(const Token& token) {
  if (token.kind != TokenKind::kSymbol) return nullptr;
  const auto* const found =
      std::find_if(std::begin(kOperators), std::end(kOperators),
                   [&](const BinaryOperator& op) { return op.symbol == token.text; });
  return found == std::end(kOperators) ? nullptr : found;
}

Parser::Parser(const std::vector<Token>& tokens, const Names& names, TreeBuilder* builder)
    : tokens_(tokens), names_(names), builder_(builder) {
  const auto add = [this](const std::string& name, Named::Kind kind, size_t number) {
    named_.emplace(name, Named{kind, static_cast<int>(number)});
  };
  for (size_t i = 0; i < names.variables.size(); ++i) {
    add(names.variables[i], Named::Kind::kVariable, i);
  }
  for (size_t i = 0; i < names.scalars.size(); ++i) add(names.scalars[i], Named::Kind::kScalar, i);
  for (size_t i = 0; i < names.arrays.size(); ++i) {
    add(names.arrays[i].name, Named::Kind::kArray, i);
  }
}

bool Parser::NextIs(absl::string_view symbol) const {
  return Next().kind == TokenKind::kSymbol && Next().text == symbol;
}

absl::Status Parser::Expect(absl::string_view symbol, absl::string_view where) {
  if (NextIs(symbol)) {
    Take();
    return absl::OkStatus();
  }
  return ErrorAt(Next().column,
                 absl::StrCat("expected '", symbol, "' ", where, ", not ", Quoted(Next())));
}

absl::Status Parser::CountNode(const Token& token) {
  if (++num_nodes_ <= kMaxNodes) return absl::OkStatus();
  return ErrorAt(token.column,
                 absl::StrCat("more than ", kMaxNodes, " operators, numbers, names and calls"));
}

Parser::Value Parser::Integer(int64_t value, int column) const {
  Value integer;
  integer.type = Type::kInteger;
  integer.index.constant = value;
  integer.column = column;
  return integer;
}

Parser::Value Parser::Real(int node, int column) const {
  Value real;
  real.node = node;
  real.column = column;
  return real;
}

absl::StatusOr<int> Parser::ToReal(const Value& value, absl::string_view what) {
  if (value.type == Type::kReal) return value.node;
  if (value.type == Type::kInteger) return builder_->Index(value.index);
  return ErrorAt(value.column, absl::StrCat(what, " must be a number, not a condition"));
}

absl::StatusOr<int> Parser::Parse() {
  BASEBAND_ASSIGN_OR_RETURN(const Value value, ParseExpression());
  if (Next().kind != TokenKind::kEnd) {
    return ErrorAt(Next().column,
                   absl::StrCat("expected an operator or the end, not ", Quoted(Next())));
  }
  if (value.type == Type::kCondition) {
    return ErrorAt(value.column, "a condition is no value: write select(condition, 1, 0)");
  }
  return ToReal(value, "the value");
}

Parser::ValueOr Parser::ParseExpression() { return ParseBinary(1); }

Parser::ValueOr Parser::ParseBinary(int least_precedence) {
  BASEBAND_ASSIGN_OR_RETURN(Value left, ParseUnary());
  while (const BinaryOperator* const op = FindOperator(Next())) {
    if (op->precedence < least_precedence) break;
    const Token token = Take();
    BASEBAND_RETURN_IF_ERROR(CountNode(token));
    BASEBAND_ASSIGN_OR_RETURN(Value right, ParseBinary(op->precedence + 1));
    BASEBAND_ASSIGN_OR_RETURN(left, Combine(*op, token, left, right));
  }
  return left;
}

Parser::ValueOr Parser::ParseUnary() {
  if (++depth_ > kMaxTextDepth) {
    return ErrorAt(Next().column,
                   absl::StrCat("nested deeper than ", kMaxTextDepth, " operators and brackets"));
  }
  const absl::Cleanup leave = [this] { --depth_; };
  if (NextIs("+")) {
    Take();
    BASEBAND_ASSIGN_OR_RETURN(const Value value, ParseUnary());
    BASEBAND_RETURN_IF_ERROR(ToReal(value, "the operand of '+'").status());
    return value;
  }
  if (NextIs("-")) {
    const Token token = Take();
    BASEBAND_RETURN_IF_ERROR(CountNode(token));
    BASEBAND_ASSIGN_OR_RETURN(const Value value, ParseUnary());
    BASEBAND_ASSIGN_OR_RETURN(Value negative, Negate(value));
    negative.column = token.column;
    return negative;
  }
  if (NextIs("!")) {
    const Token token = Take();
    BASEBAND_RETURN_IF_ERROR(CountNode(token));
    BASEBAND_ASSIGN_OR_RETURN(Value value, ParseUnary());
    if (value.type != Type::kCondition) {
      return ErrorAt(value.column, "the operand of '!' must be a condition, not a number");
    }
    value.node = builder_->Make(Op::kNot, value.node);
    value.column = token.column;
    return value;
  }
  return ParsePower();
}

Parser::ValueOr Parser::ParsePower() {
  BASEBAND_ASSIGN_OR_RETURN(const Value base, ParsePrimary());
  if (!NextIs("^")) return base;
  const Token token = Take();
  BASEBAND_RETURN_IF_ERROR(CountNode(token));
  BASEBAND_ASSIGN_OR_RETURN(const Value exponent, ParseUnary());
  BASEBAND_ASSIGN_OR_RETURN(const int x, ToReal(base, "the left of '^'"));
  BASEBAND_ASSIGN_OR_RETURN(const int y, ToReal(exponent, "the right of '^'"));
  return Real(builder_->Make(Op::kPow, x, y), base.column);
}

Parser::ValueOr Parser::ParsePrimary() {
  const Token& token = Next();
  if (token.kind == TokenKind::kName) return ParseName();
  if (token.kind == TokenKind::kNumber) {
    Take();
    BASEBAND_RETURN_IF_ERROR(CountNode(token));
    if (token.is_integer && token.number <= static_cast<double>(kMaxIndex)) {
      return Integer(static_cast<int64_t>(token.number), token.column);
    }
    return Real(builder_->Constant(token.number), token.column);
  }
  if (!NextIs("(")) {
    return ErrorAt(token.column,
                   absl::StrCat("expected a number, a name or '(', not ", Quoted(token)));
  }
  Take();
  BASEBAND_ASSIGN_OR_RETURN(Value value, ParseExpression());
  BASEBAND_RETURN_IF_ERROR(Expect(")", absl::StrCat("for the '(' in column ", token.column)));
  value.column = token.column;
  return value;
}

Parser::ValueOr Parser::Negate(Value value) {
  if (value.type != Type::kInteger) {
    BASEBAND_ASSIGN_OR_RETURN(const int node, ToReal(value, "the operand of '-'"));
    return Real(builder_->Make(Op::kNegate, node), value.column);
  }
  value.index.constant = -value.index.constant;
  for (int64_t& coefficient : value.index.coefficients) coefficient = -coefficient;
  return value;
}

Parser::ValueOr Parser::Combine(const BinaryOperator& op, const Token& token, Value left,
                                Value right) {
  if (op.takes_conditions) {
    for (const Value* const side : {&left, &right}) {
      if (side->type == Type::kCondition) continue;
      return ErrorAt(side->column, absl::StrCat("both sides of '", token.text,
                                                "' must be conditions, this one is a number"));
    }
    left.node = builder_->Make(op.op, left.node, right.node);
    return left;
  }
  if (left.type == Type::kInteger && right.type == Type::kInteger) {
    const auto combined = CombineIntegers(op.op, left.index, right.index);
    if (combined.has_value()) {
      left.index = *combined;
      return left;
    }
  }
  BASEBAND_ASSIGN_OR_RETURN(int a, ToReal(left, absl::StrCat("the left of '", token.text, "'")));
  BASEBAND_ASSIGN_OR_RETURN(int b, ToReal(right, absl::StrCat("the right of '", token.text, "'")));
  if (op.swaps) std::swap(a, b);
  Value result = Real(builder_->Make(op.op, a, b), left.column);
  if (op.op <= Op::kNotEqual) result.type = Type::kCondition;
  return result;
}

}  // namespace baseband::minimize
