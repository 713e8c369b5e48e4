// The expression language of Minimize: a client's formula, parsed into a typed tree that both
// devices evaluate. Host header.
//
//   expression = condition, loosest first:  ||   &&   == !=   < <= > >=   + -   * /   - + !   ^
//
// `^` groups to the right, all other operators to the left; unary minus is looser than `^`, so
// -x^2 is -(x^2) and 2^-3 is 1/8. A primary is a number (12, 0.5, 1e-9), `pi`, `e`, a name, (..),
//   select(c, a, b)             a where c holds, else b
//   f(a), f(a, b)               the functions of Op below; min and max take two or more arguments
//   sum(j, begin, end, body)    over j = begin, begin + 1, .. end; 0 if end < begin. The bounds are
//                               integer constants, size(a) being one; sums nest to kMaxSumDepth
//   a[index]                    index: a linear combination of indices of sums, with integer
//                               constants; proved to stay within the array, or refused
//   size(a)                     the number of a's elements
//
// Types: a number is real or an integer (whole literals, indices of sums, size(a), and + - * of
// them, none of their constants above kMaxIndex), a comparison gives a condition. An integer is
// taken as a real wherever it is no bound and no index; 3 / 2 is 1.5. A condition is never a
// number, nor a number a condition.
//
// Meaning. Real operations are those of IEEE 754 in the precision of the evaluation, without traps:
// 1 / 0 is an infinity, 0 / 0 is NaN. The tree is rewritten, and this is its definition, on both
// devices:
//   - what depends on constants alone is computed here, in double;
//   - x^2, x^3, x^4 are products from the left (x x x, (x x)(x x)), x^-1 is 1 / x, x^-2 is
//     1 / (x x), x^0.5 is sqrt(x), x^-0.5 is 1 / sqrt(x), x^0 is select(x == x, 1, x); any other
//     power is C's pow;
//   - a b + c, a b - c and c - a b are fused (one rounding) where the product is used only there;
//     so is a sum's step if its body is a product;
//   - equal subtrees are computed once, and what does not depend on a sum's index before the sum;
//   - a sum is added up in ascending order of its index.
// Functions are C's, infinities included: round goes away from zero in ties, fmod has the sign of
// its first argument; min(a, b) is a where a < b, else b, max likewise; sign(0) is 0.
//
// A NaN is never lost: where an operand of a real operation is NaN, so is the result. Unlike C's,
// this holds for min, max, hypot(1/0, NaN), 1^NaN and NaN^0, too. Comparisons with a NaN do not
// hold, but != does. What is not looked at does not count: select(c, a, b) is the one that c
// chooses, whatever the other is, and a sum of no terms is 0.
#ifndef BASEBAND_KERNELS_MINIMIZE_EXPRESSION_H_
#define BASEBAND_KERNELS_MINIMIZE_EXPRESSION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/minimize/search/precision.h"

namespace baseband::minimize {

inline constexpr int kMaxTextBytes = 64 << 10;
inline constexpr int kMaxNodes = 4096;     // of the tree, before equal ones are made one
inline constexpr int kMaxTextDepth = 64;   // parentheses, arguments, unary operators, powers
inline constexpr int kMaxNameLength = 64;  // [A-Za-z_][A-Za-z0-9_]{0,63}
inline constexpr int kMaxVariables = 4;    // at least one
inline constexpr int kMaxScalars = 256;    //
inline constexpr int kMaxArrays = 16;      //
inline constexpr int kMaxSumDepth = 3;     //
inline constexpr int64_t kMaxArrayElements = int64_t{1} << 22;  // of all arrays together
inline constexpr int64_t kMaxIndex = int64_t{1} << 30;          // see below
inline constexpr double kMaxOperations = 1e8;                   // of cost()

// What an expression may refer to; all names differ from each other and from the language's own.
struct Names {
  struct Array {
    std::string name;
    int64_t size = 0;  // elements, at least 1
  };
  std::vector<std::string> variables;  // of the grid, in the order of its axes
  std::vector<std::string> scalars;    // one value for all points
  std::vector<Array> arrays;
};

// Operations of the tree. Operands are real and so is the result, unless something else is said.
enum class Op : uint8_t {
  kConstant,  // Node::constant
  kVariable,  // Node::number of Names::variables
  kScalar,    // Node::number of Names::scalars
  kIndex,     // Node::index as a real
  kElement,   // Node::index in array Node::number
  kSum,       // of operand 0, or of the products of operands 0 and 1, fused; see Node
  kSelect,    // (condition, a, b)
  // Conditions of two reals, and of conditions.
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kNot,
  // Arithmetic.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kNegate,
  kMultiplyAdd,     // a b + c, one rounding
  kMultiplySub,     // a b - c, one rounding
  kNegMultiplyAdd,  // c - a b, one rounding
  // Functions, named in functions.cc.
  kAbs,
  kSign,
  kFloor,
  kCeil,
  kRound,
  kTrunc,
  kSqrt,
  kCbrt,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kExp,
  kLog,
  kLog2,
  kLog10,
  kSinPi,  // sin(pi x), exact at whole and half x
  kCosPi,
  kAtan2,
  kMin,
  kMax,
  kFmod,
  kHypot,
  kPow,
};
inline constexpr int kNumOps = static_cast<int>(Op::kPow) + 1;

// constant + sum over d of coefficients[d] * (index of the d-th sum around the node, from outside).
struct LinearIndex {
  int64_t constant = 0;
  std::array<int64_t, kMaxSumDepth> coefficients{};
};

struct Node {
  Op op = Op::kConstant;
  bool is_condition = false;
  bool is_varying = false;  // depends on a variable; otherwise the same at all points
  int depth = 0;            // how many sums it stands inside: it is computed once for each term
  std::array<int, 3> operands = {-1, -1, -1};  // earlier nodes
  double constant = 0.0;                       // kConstant
  int number = 0;                              // kVariable, kScalar, kElement
  LinearIndex index;                           // kIndex, kElement
  // kSum: the index goes from `begin` to `end`, both included and begin <= end; nodes
  // [body, this one) are computed for each term.
  int64_t begin = 0;
  int64_t end = -1;
  int body = 0;
};

// 128 bits, of equal quality each; not cryptographic.
struct StructureHash {
  uint64_t high = 0;
  uint64_t low = 0;
  bool operator==(const StructureHash& other) const {
    return high == other.high && low == other.low;
  }
};

// Immutable, so shared between threads freely.
class Expression {
 public:
  // InvalidArgument: `names` breaks a rule above ("scalars[2], name 'sin': .."), or the text does
  // not parse: "expression, column 12: expected ')' after the arguments of sin, not ','". Columns
  // are bytes, from 1. Takes time in proportion to the text, whatever its sums.
  static absl::StatusOr<std::shared_ptr<const Expression>> Parse(absl::string_view text,
                                                                 const Names& names);

  // Operands before the nodes that use them, the bodies of sums in one piece, no node unused. The
  // last one is the value.
  const std::vector<Node>& nodes() const { return nodes_; }
  int num_variables() const { return num_variables_; }
  int num_scalars() const { return num_scalars_; }
  const std::vector<int64_t>& array_sizes() const { return array_sizes_; }

  // Of all that the generated code depends on: the nodes, hence sizes and bounds, but neither names
  // nor values of scalars and arrays. Clients may craft collisions: who shares code between them
  // asks HasStructureOf(), too.
  StructureHash hash() const { return hash_; }
  bool HasStructureOf(const Expression& other) const { return key_ == other.key_; }

  // Estimated operations for one point: an addition is 1, a division 4, sin 8, pow 16; sums are
  // multiplied by their numbers of terms. At most kMaxOperations.
  double cost() const { return cost_; }

 private:
  Expression() = default;

  std::vector<Node> nodes_;
  int num_variables_ = 0;
  int num_scalars_ = 0;
  std::vector<int64_t> array_sizes_;
  std::string key_;  // the nodes, serialised
  StructureHash hash_;
  double cost_ = 0.0;
};

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_EXPRESSION_H_
