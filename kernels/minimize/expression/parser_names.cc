// Parser: what begins with a name.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/nearest.h"
#include "kernels/base/status_macros.h"
#include "kernels/minimize/expression/functions.h"
#include "kernels/minimize/expression/parser.h"

namespace baseband::minimize {
namespace {

constexpr double kE = 2.71828182845904523536;

constexpr absl::string_view kOrdinals[] = {"first", "second", "third", "fourth", "next"};

absl::string_view Ordinal(int index) {
  return kOrdinals[std::min(static_cast<size_t>(index), std::size(kOrdinals) - 1)];
}

class NameChecker {
 public:
  absl::Status Check(absl::string_view list, size_t index, const std::string& name) {
    const auto error = [&](absl::string_view why) {
      return absl::InvalidArgumentError(absl::StrCat(
          list, "[", index, "], name '", absl::CHexEscape(name.substr(0, 80)), "': ", why));
    };
    if (!IsName(name)) {
      return error(absl::StrCat("is not a letter or '_', then letters, digits or '_', at most ",
                                kMaxNameLength, " of them"));
    }
    if (IsReserved(name)) return error("is a word of the expression language");
    if (!seen_.insert(name).second) return error("is there twice");
    return absl::OkStatus();
  }

 private:
  absl::flat_hash_set<std::string> seen_;
};

absl::Status CheckNumNames(absl::string_view list, size_t count, int least, int most) {
  if (count >= static_cast<size_t>(least) && count <= static_cast<size_t>(most)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(list, ": ", count, " names are not in [", least, ", ", most, "]"));
}

}  // namespace

absl::Status CheckNames(const Names& names) {
  BASEBAND_RETURN_IF_ERROR(CheckNumNames("variables", names.variables.size(), 1, kMaxVariables));
  BASEBAND_RETURN_IF_ERROR(CheckNumNames("scalars", names.scalars.size(), 0, kMaxScalars));
  BASEBAND_RETURN_IF_ERROR(CheckNumNames("arrays", names.arrays.size(), 0, kMaxArrays));
  NameChecker checker;
  for (size_t i = 0; i < names.variables.size(); ++i) {
    BASEBAND_RETURN_IF_ERROR(checker.Check("variables", i, names.variables[i]));
  }
  for (size_t i = 0; i < names.scalars.size(); ++i) {
    BASEBAND_RETURN_IF_ERROR(checker.Check("scalars", i, names.scalars[i]));
  }
  int64_t left = kMaxArrayElements;
  for (size_t i = 0; i < names.arrays.size(); ++i) {
    const auto& [name, size] = names.arrays[i];
    BASEBAND_RETURN_IF_ERROR(checker.Check("arrays", i, name));
    if (size < 1 || size > left) {
      return absl::InvalidArgumentError(
          absl::StrCat("arrays[", i, "], name '", name, "': size ", size, " is not in [1, ", left,
                       "]; all arrays together have at most ", kMaxArrayElements, " elements"));
    }
    left -= size;
  }
  return absl::OkStatus();
}

Parser::ValueOr Parser::ParseName() {
  const Token token = Take();
  BASEBAND_RETURN_IF_ERROR(CountNode(token));
  const absl::string_view name = token.text;
  if (name == "pi") return Real(builder_->Constant(kExpressionPi), token.column);
  if (name == "e") return Real(builder_->Constant(kE), token.column);
  if (name == "select") return ParseSelect(token);
  if (name == "sum") return ParseSum(token);
  if (name == "size") return ParseSize(token);
  if (const Function* const function = FindFunction(name)) return ParseFunction(*function, token);
  const auto found = named_.find(name);
  if (found == named_.end()) return UnknownName(token);
  const Named named = found->second;
  switch (named.kind) {
    case Named::Kind::kVariable:
      return Real(builder_->Variable(named.number), token.column);
    case Named::Kind::kScalar:
      return Real(builder_->Scalar(named.number), token.column);
    case Named::Kind::kArray:
      return ParseElement(named.number, token);
    case Named::Kind::kIndex:
      break;
  }
  Value value = Integer(0, token.column);
  value.index.coefficients[static_cast<size_t>(named.number)] = 1;
  return value;
}

Parser::ValueOr Parser::UnknownName(const Token& name) const {
  std::vector<std::string> known;
  for (const auto& [each, named] : named_) known.push_back(each);
  std::sort(known.begin(), known.end());
  for (std::string& reserved : ReservedNames()) known.push_back(std::move(reserved));
  const std::string near = NearName(name.text, known);
  return ErrorAt(name.column,
                 absl::StrCat("unknown name '", name.text, "'",
                              DidYouMean(near.empty() ? near : absl::StrCat("'", near, "'"))));
}

absl::StatusOr<int> Parser::ParseRealArgument(absl::string_view what) {
  BASEBAND_ASSIGN_OR_RETURN(const Value value, ParseExpression());
  return ToReal(value, what);
}

Parser::ValueOr Parser::ParseFunction(const Function& function, const Token& name) {
  BASEBAND_RETURN_IF_ERROR(Expect("(", absl::StrCat("after ", function.name)));
  int node = -1;
  for (int i = 0; i < function.num_arguments || (function.takes_more && NextIs(",")); ++i) {
    if (i > 0) {
      BASEBAND_RETURN_IF_ERROR(
          Expect(",", absl::StrCat("and a ", Ordinal(i), " argument of ", function.name)));
      if (i > 1) BASEBAND_RETURN_IF_ERROR(CountNode(name));
    }
    BASEBAND_ASSIGN_OR_RETURN(
        const int argument,
        ParseRealArgument(absl::StrCat("the ", Ordinal(i), " argument of ", function.name)));
    if (function.num_arguments == 1) {
      node = builder_->Make(function.op, argument);
    } else {
      node = i == 0 ? argument : builder_->Make(function.op, node, argument);
    }
  }
  BASEBAND_RETURN_IF_ERROR(Expect(")", absl::StrCat("after the arguments of ", function.name)));
  return Real(node, name.column);
}

Parser::ValueOr Parser::ParseSelect(const Token& name) {
  BASEBAND_RETURN_IF_ERROR(Expect("(", "after select"));
  BASEBAND_ASSIGN_OR_RETURN(const Value condition, ParseExpression());
  if (condition.type != Type::kCondition) {
    return ErrorAt(condition.column,
                   "the first argument of select must be a condition, not a number");
  }
  BASEBAND_RETURN_IF_ERROR(Expect(",", "after the condition of select"));
  BASEBAND_ASSIGN_OR_RETURN(const int a, ParseRealArgument("the second argument of select"));
  BASEBAND_RETURN_IF_ERROR(Expect(",", "after the second argument of select"));
  BASEBAND_ASSIGN_OR_RETURN(const int b, ParseRealArgument("the third argument of select"));
  BASEBAND_RETURN_IF_ERROR(Expect(")", "after the arguments of select"));
  return Real(builder_->Make(Op::kSelect, condition.node, a, b), name.column);
}

Parser::ValueOr Parser::ParseSize(const Token& name) {
  BASEBAND_RETURN_IF_ERROR(Expect("(", "after size"));
  const Token array = Next();
  const auto found = named_.find(array.text);
  if (found == named_.end() || found->second.kind != Named::Kind::kArray) {
    return ErrorAt(array.column, absl::StrCat("expected an array's name, not ", Quoted(array)));
  }
  Take();
  BASEBAND_RETURN_IF_ERROR(Expect(")", "after the argument of size"));
  return Integer(names_.arrays[static_cast<size_t>(found->second.number)].size, name.column);
}

absl::StatusOr<int64_t> Parser::ParseBound(absl::string_view which) {
  BASEBAND_ASSIGN_OR_RETURN(const Value value, ParseExpression());
  if (value.type != Type::kInteger || value.index.coefficients != OpenIndex().coefficients) {
    return ErrorAt(value.column,
                   absl::StrCat("the ", which, " index of sum must be an integer constant"));
  }
  return value.index.constant;
}

Parser::ValueOr Parser::ParseSum(const Token& name) {
  BASEBAND_RETURN_IF_ERROR(Expect("(", "after sum"));
  const Token index = Next();
  if (index.kind != TokenKind::kName || IsReserved(index.text) || named_.contains(index.text)) {
    return ErrorAt(index.column,
                   absl::StrCat("expected a new name for the index of sum, not ", Quoted(index)));
  }
  if (builder_->num_open_sums() == kMaxSumDepth) {
    return ErrorAt(name.column, absl::StrCat("sums nested deeper than ", kMaxSumDepth));
  }
  Take();
  BASEBAND_RETURN_IF_ERROR(Expect(",", "after the index of sum"));
  Range range;
  BASEBAND_ASSIGN_OR_RETURN(range.begin, ParseBound("first"));
  BASEBAND_RETURN_IF_ERROR(Expect(",", "after the first index of sum"));
  BASEBAND_ASSIGN_OR_RETURN(range.end, ParseBound("last"));
  BASEBAND_RETURN_IF_ERROR(Expect(",", "after the last index of sum"));

  named_[std::string(index.text)] = Named{Named::Kind::kIndex, builder_->num_open_sums()};
  builder_->OpenSum(range.begin, range.end);
  ranges_.push_back(range);
  BASEBAND_ASSIGN_OR_RETURN(const int body, ParseRealArgument("what sum adds up"));
  named_.erase(std::string(index.text));
  ranges_.pop_back();
  const int node = builder_->CloseSum(body);
  BASEBAND_RETURN_IF_ERROR(Expect(")", "after the arguments of sum"));
  return Real(node, name.column);
}

Parser::ValueOr Parser::ParseElement(int array, const Token& name) {
  BASEBAND_RETURN_IF_ERROR(Expect("[", absl::StrCat("after the array ", name.text)));
  BASEBAND_ASSIGN_OR_RETURN(const Value index, ParseExpression());
  if (index.type != Type::kInteger) {
    return ErrorAt(index.column,
                   absl::StrCat("the index of ", name.text,
                                " must be a linear combination of indices of sums, with integer "
                                "constants"));
  }
  BASEBAND_RETURN_IF_ERROR(CheckElement(array, index.index, index.column));
  BASEBAND_RETURN_IF_ERROR(Expect("]", absl::StrCat("after the index of ", name.text)));
  return Real(builder_->Element(array, index.index), name.column);
}

// |constant|, |coefficient|, |bound| <= kMaxIndex = 2^30: nothing overflows.
absl::Status Parser::CheckElement(int array, const OpenIndex& index, int column) const {
  int64_t least = index.constant;
  int64_t greatest = index.constant;
  for (size_t d = 0; d < ranges_.size(); ++d) {
    const int64_t coefficient = index.coefficients[d];
    if (coefficient == 0) continue;
    if (ranges_[d].begin > ranges_[d].end) return absl::OkStatus();  // never evaluated
    const auto [low, high] =
        std::minmax({coefficient * ranges_[d].begin, coefficient * ranges_[d].end});
    least += low;
    greatest += high;
  }
  const Names::Array& named = names_.arrays[static_cast<size_t>(array)];
  if (least >= 0 && greatest < named.size) return absl::OkStatus();
  return ErrorAt(
      column, absl::StrCat("the index of ", named.name, " takes values in [", least, ", ", greatest,
                           "], but it has ", named.size, " elements, [0, ", named.size - 1, "]"));
}

}  // namespace baseband::minimize
