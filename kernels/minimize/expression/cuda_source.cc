#include "kernels/minimize/expression/cuda_source.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "kernels/minimize/expression/functions.h"

namespace baseband::minimize {
namespace {

// What an operation is in CUDA: $0, $1, $2 are its operands, $f is "f" for float and nothing for
// double, so that sin$f is sinf or sin.
absl::string_view TemplateOf(Op op) {
  switch (op) {
    case Op::kSelect:
      return "$0 ? $1 : $2";
    case Op::kLess:
      return "$0 < $1";
    case Op::kLessEqual:
      return "$0 <= $1";
    case Op::kEqual:
      return "$0 == $1";
    case Op::kNotEqual:
      return "$0 != $1";
    case Op::kAnd:
      return "$0 && $1";
    case Op::kOr:
      return "$0 || $1";
    case Op::kNot:
      return "!$0";
    case Op::kAdd:
      return "$0 + $1";
    case Op::kSubtract:
      return "$0 - $1";
    case Op::kMultiply:
      return "$0 * $1";
    case Op::kDivide:
      return "$0 / $1";
    case Op::kNegate:
      return "-$0";
    case Op::kMultiplyAdd:
      return "fma$f($0, $1, $2)";
    case Op::kMultiplySub:
      return "fma$f($0, $1, -$2)";
    case Op::kNegMultiplyAdd:
      return "fma$f(-$0, $1, $2)";
    case Op::kAbs:
      return "fabs$f($0)";
    case Op::kSign:
      return "$0 > 0 ? (Real)1 : $0 < 0 ? (Real)-1 : $0";
    case Op::kFloor:
      return "floor$f($0)";
    case Op::kCeil:
      return "ceil$f($0)";
    case Op::kRound:
      return "round$f($0)";
    case Op::kTrunc:
      return "trunc$f($0)";
    case Op::kSqrt:
      return "sqrt$f($0)";
    case Op::kCbrt:
      return "cbrt$f($0)";
    case Op::kSin:
      return "baseband::minimize::Sine($0)";
    case Op::kCos:
      return "baseband::minimize::Cosine($0)";
    case Op::kTan:
      return "baseband::minimize::Tangent($0)";
    case Op::kAsin:
      return "asin$f($0)";
    case Op::kAcos:
      return "acos$f($0)";
    case Op::kAtan:
      return "atan$f($0)";
    case Op::kSinh:
      return "sinh$f($0)";
    case Op::kCosh:
      return "cosh$f($0)";
    case Op::kTanh:
      return "tanh$f($0)";
    case Op::kExp:
      return "exp$f($0)";
    case Op::kLog:
      return "log$f($0)";
    case Op::kLog2:
      return "log2$f($0)";
    case Op::kLog10:
      return "log10$f($0)";
    case Op::kSinPi:
      return "baseband::minimize::SinePi($0)";
    case Op::kCosPi:
      return "baseband::minimize::CosinePi($0)";
    case Op::kAtan2:
      return "atan2$f($0, $1)";
    case Op::kMin:
      return "$0 < $1 || $0 != $0 ? $0 : $1";  // not fmin: NaN stays NaN
    case Op::kMax:
      return "$0 > $1 || $0 != $0 ? $0 : $1";
    case Op::kFmod:
      return "baseband::minimize::Remainder($0, $1)";
    case Op::kHypot:
      return "$0 != $0 || $1 != $1 ? $0 + $1 : hypot$f($0, $1)";
    case Op::kPow:
      return "$0 != $0 || $1 != $1 ? $0 + $1 : pow$f($0, $1)";
    case Op::kConstant:
    case Op::kVariable:
    case Op::kScalar:
    case Op::kIndex:
    case Op::kElement:
    case Op::kSum:
      break;
  }
  return "";
}

// NVRTC's time grows faster than what it compiles: 600 times pow inlined take it half a minute. So
// in an expression of more functions than this, they are called; and bodies of sums with more nodes
// are not unrolled.
constexpr int kMaxInlinedFunctions = 48;
constexpr int kMaxUnrolledNodes = 64;

bool IsBig(Op op) { return OperationsOf(op) >= 8.0; }

class Writer {
 public:
  Writer(const Expression& expression, Precision precision)
      : nodes_(expression.nodes()), suffix_(precision == Precision::kFloat32 ? "f" : "") {}

  std::string Write() {
    calls_functions_ = std::count_if(nodes_.begin(), nodes_.end(), [](const Node& node) {
                         return IsBig(node.op);
                       }) > kMaxInlinedFunctions;
    if (calls_functions_) WriteFunctions();
    text_ +=
        "static __device__ __forceinline__ Real Evaluate(const Real* x, const Real* scalars,\n"
        "                                                const Real* const* arrays) {\n";
    WriteArrays();
    std::vector<std::vector<int>> sums_from(nodes_.size());
    for (int id = Size() - 1; id >= 0; --id) {  // outer sums before inner ones
      if (At(id).op == Op::kSum) sums_from[static_cast<size_t>(At(id).body)].push_back(id);
    }
    for (int id = 0; id < Size(); ++id) {
      for (const int sum : sums_from[static_cast<size_t>(id)]) BeginSum(sum);
      WriteNode(id);
    }
    absl::StrAppend(&text_, "  return t", Size() - 1, ";\n}\n");
    return std::move(text_);
  }

 private:
  int Size() const { return static_cast<int>(nodes_.size()); }
  const Node& At(int id) const { return nodes_[static_cast<size_t>(id)]; }
  std::string Indent(int depth) const {
    return std::string(static_cast<size_t>(2 + 2 * depth), ' ');
  }

  // static __device__ __noinline__ Real F33(Real t0) { return sinf(t0); }
  void WriteFunctions() {
    std::set<Op> used;
    for (const Node& node : nodes_) {
      if (IsBig(node.op)) used.insert(node.op);
    }
    Node of_parameters;
    of_parameters.operands = {0, 1, 2};
    for (const Op op : used) {
      absl::StrAppend(&text_, "static __device__ __noinline__ Real F", static_cast<int>(op),
                      NumOperands(op) == 1 ? "(Real t0)" : "(Real t0, Real t1)", " { return ",
                      Filled(TemplateOf(op), of_parameters), "; }\n");
    }
  }

  void WriteArrays() {
    std::set<int> used;
    for (const Node& node : nodes_) {
      if (node.op == Op::kElement) used.insert(node.number);
    }
    for (const int array : used) {
      absl::StrAppend(&text_, "  const Real* const a", array, " = arrays[", array, "];\n");
    }
  }

  void BeginSum(int id) {
    const Node& sum = At(id);
    const std::string index = absl::StrCat("j", sum.depth);
    ranges_[static_cast<size_t>(sum.depth)] = std::max(std::llabs(sum.begin), std::llabs(sum.end));
    absl::StrAppend(&text_, Indent(sum.depth), "Real t", id, " = 0;\n");
    if (id - sum.body > kMaxUnrolledNodes) absl::StrAppend(&text_, "#pragma unroll 1\n");
    absl::StrAppend(&text_, Indent(sum.depth), "for (int ", index, " = ", sum.begin, "; ", index,
                    " <= ", sum.end, "; ++", index, ") {\n");
  }

  void WriteNode(int id) {
    const Node& node = At(id);
    if (node.op == Op::kSum) return EndSum(id);
    absl::StrAppend(&text_, Indent(node.depth), "const ", node.is_condition ? "bool" : "Real", " t",
                    id, " = ", ValueOf(node), ";\n");
  }

  void EndSum(int id) {
    const Node& sum = At(id);
    const auto [a, b, c] = sum.operands;
    const std::string step = b >= 0
                                 ? absl::StrCat("fma", suffix_, "(t", a, ", t", b, ", t", id, ")")
                                 : absl::StrCat("t", id, " + t", a);
    absl::StrAppend(&text_, Indent(sum.depth + 1), "t", id, " = ", step, ";\n");
    absl::StrAppend(&text_, Indent(sum.depth), "}\n");
  }

  std::string ValueOf(const Node& node) const {
    switch (node.op) {
      case Op::kConstant:
        return Literal(node.constant);
      case Op::kVariable:
        return absl::StrCat("x[", node.number, "]");
      case Op::kScalar:
        return absl::StrCat("scalars[", node.number, "]");
      case Op::kIndex:
        return absl::StrCat("(Real)(", IndexOf(node.index), ")");
      case Op::kElement:
        return absl::StrCat("a", node.number, "[", IndexOf(node.index), "]");
      default:
        if (!calls_functions_ || !IsBig(node.op)) return Filled(TemplateOf(node.op), node);
        return Filled(NumOperands(node.op) == 1 ? "($0)" : "($0, $1)", node)
            .insert(0, absl::StrCat("F", static_cast<int>(node.op)));
    }
  }

  std::string Filled(absl::string_view pattern, const Node& node) const {
    std::string text;
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] != '$') {
        text += pattern[i];
      } else if (pattern[++i] == 'f') {
        text += suffix_;
      } else {
        absl::StrAppend(&text, "t", node.operands[static_cast<size_t>(pattern[i] - '0')]);
      }
    }
    return text;
  }

  // In hexadecimal, which is exact; what has no such form, by its bits.
  std::string Literal(double value) const {
    if (!suffix_.empty()) value = static_cast<double>(static_cast<float>(value));
    if (std::isfinite(value)) return absl::StrFormat("%a%s", value, suffix_);
    const bool is_float = !suffix_.empty();
    if (std::isnan(value)) {
      return is_float ? "__int_as_float(0x7fffffff)" : "__longlong_as_double(0x7fffffffffffffffLL)";
    }
    return absl::StrCat(value < 0 ? "-" : "", is_float
                                                  ? "__int_as_float(0x7f800000)"
                                                  : "__longlong_as_double(0x7ff0000000000000LL)");
  }

  // 64 bits wide unless every part of it fits 32.
  std::string IndexOf(const LinearIndex& index) const {
    int64_t greatest = std::llabs(index.constant);
    for (size_t d = 0; d < kMaxSumDepth; ++d) {
      greatest += std::llabs(index.coefficients[d]) * ranges_[d];
    }
    const bool is_wide = greatest > std::numeric_limits<int32_t>::max();
    std::string text = absl::StrCat(index.constant, is_wide ? "LL" : "");
    for (size_t d = 0; d < kMaxSumDepth; ++d) {
      if (index.coefficients[d] == 0) continue;
      absl::StrAppend(&text, " + ", index.coefficients[d], is_wide ? "LL" : "", " * j", d);
    }
    return text;
  }

  const std::vector<Node>& nodes_;
  const std::string suffix_;
  bool calls_functions_ = false;
  std::string text_;
  std::array<int64_t, kMaxSumDepth> ranges_{};  // greatest magnitudes of the open sums' indices
};

}  // namespace

std::string CudaFunction(const Expression& expression, Precision precision) {
  return Writer(expression, precision).Write();
}

}  // namespace baseband::minimize
