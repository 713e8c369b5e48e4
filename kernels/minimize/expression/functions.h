// The operations of the expression language: what they are called, cost and mean in double.
#ifndef BASEBAND_KERNELS_MINIMIZE_EXPRESSION_FUNCTIONS_H_
#define BASEBAND_KERNELS_MINIMIZE_EXPRESSION_FUNCTIONS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "kernels/minimize/expression.h"

namespace baseband::minimize {

inline constexpr double kExpressionPi = 3.14159265358979323846;  // what `pi` is

struct Function {
  absl::string_view name;
  Op op = Op::kAbs;
  bool takes_more = false;  // f(a, b, c) is f(f(a, b), c)
  int num_arguments = 1;
};

// Null if there is none of that name.
const Function* FindFunction(absl::string_view name);

// Names of functions, and all words that are not functions of reals: select, sum, size, pi, e.
bool IsReserved(absl::string_view name);
std::vector<std::string> ReservedNames();

// [A-Za-z_][A-Za-z0-9_]{0,63}
bool IsName(absl::string_view text);

// Estimated operations of one node, a sum's for each term.
double OperationsOf(Op op);

// How many operands a real or logical operation has: 1 .. 3. A sum's and a leaf's are not its.
int NumOperands(Op op);

// The value of a real operation or comparison (1 or 0) of doubles, by the C library.
double Apply(Op op, double a, double b, double c);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_EXPRESSION_FUNCTIONS_H_
