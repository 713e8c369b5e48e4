// The grammar of expression.h, by recursive descent as deep as kMaxTextDepth at most.
#ifndef BASEBAND_KERNELS_MINIMIZE_EXPRESSION_PARSER_H_
#define BASEBAND_KERNELS_MINIMIZE_EXPRESSION_PARSER_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/minimize/expression.h"
#include "kernels/minimize/expression/functions.h"
#include "kernels/minimize/expression/lexer.h"
#include "kernels/minimize/expression/tree_builder.h"

namespace baseband::minimize {

// InvalidArgument that says which name breaks which rule of Names.
absl::Status CheckNames(const Names& names);

class Parser {
 public:
  // `names` has been checked; all three must outlive the parser.
  Parser(const std::vector<Token>& tokens, const Names& names, TreeBuilder* builder);

  // The node of the whole text's value, a real.
  absl::StatusOr<int> Parse();

 private:
  enum class Type { kInteger, kReal, kCondition };
  struct Value {
    Type type = Type::kReal;
    int node = -1;    // unless it is an integer
    OpenIndex index;  // an integer
    int column = 1;   // where its text begins
  };
  struct Named {
    enum class Kind { kVariable, kScalar, kArray, kIndex } kind = Kind::kVariable;
    int number = 0;  // of its kind; an index: how many sums are around its own
  };
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };
  struct BinaryOperator;
  static const BinaryOperator kOperators[];
  static const BinaryOperator* FindOperator(const Token& token);

  using ValueOr = absl::StatusOr<Value>;
  ValueOr ParseExpression();  // counts depth
  ValueOr ParseBinary(int least_precedence);
  ValueOr ParseUnary();
  ValueOr ParsePower();
  ValueOr ParsePrimary();
  ValueOr ParseName();
  ValueOr ParseFunction(const Function& function, const Token& name);
  ValueOr ParseSelect(const Token& name);
  ValueOr ParseSize(const Token& name);
  ValueOr ParseSum(const Token& name);
  ValueOr ParseElement(int array, const Token& name);
  ValueOr UnknownName(const Token& name) const;
  absl::StatusOr<int64_t> ParseBound(absl::string_view which);
  absl::StatusOr<int> ParseRealArgument(absl::string_view what);
  absl::Status CheckElement(int array, const OpenIndex& index, int column) const;

  ValueOr Combine(const BinaryOperator& op, const Token& token, Value left, Value right);
  ValueOr Negate(Value value);
  // The node of a number; an error that names `what` if it is a condition.
  absl::StatusOr<int> ToReal(const Value& value, absl::string_view what);
  Value Integer(int64_t value, int column) const;
  Value Real(int node, int column) const;

  const Token& Next() const { return tokens_[at_]; }
  bool NextIs(absl::string_view symbol) const;
  Token Take() { return tokens_[at_++]; }  // never the end
  // Takes `symbol`, or says that it was expected `where`.
  absl::Status Expect(absl::string_view symbol, absl::string_view where);
  absl::Status CountNode(const Token& token);

  const std::vector<Token>& tokens_;
  const Names& names_;
  TreeBuilder* builder_;
  absl::flat_hash_map<std::string, Named> named_;
  std::vector<Range> ranges_;  // of the open sums
  size_t at_ = 0;
  int depth_ = 0;
  int num_nodes_ = 0;
};

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_EXPRESSION_PARSER_H_
