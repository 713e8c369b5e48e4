// Random expressions, and how far two right values of one may be apart.
#ifndef BASEBAND_TESTS_SUPPORT_MINIMIZE_TEXTS_H_
#define BASEBAND_TESTS_SUPPORT_MINIMIZE_TEXTS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/minimize/cpu/evaluate_cpu.h"
#include "kernels/minimize/expression.h"
#include "tests/support/minimize_oracle.h"

namespace baseband::minimize {

// Of the variables x and y, the scalars s and t, all operators but !, and all functions.
class RandomText {
 public:
  explicit RandomText(uint64_t seed) : random_(seed) {}

  std::string Number(int depth) {
    if (depth <= 0 || Below(8) == 0) return Leaf();
    switch (Below(10)) {
      case 0:
        return absl::StrCat("(", Number(depth - 1), ")");
      case 1:
        return absl::StrCat("-", Primary(depth - 1));
      case 2:
        return absl::StrCat(Primary(depth - 1), "^", Of({"2", "3", "-1", "0.5", "4", "-2", "1.5"}));
      case 3:
        return absl::StrCat("select(", Condition(depth - 1), ", ", Number(depth - 1), ", ",
                            Number(depth - 1), ")");
      case 4:
      case 5:
        return absl::StrCat(Of({"sin",   "cos",  "tan",   "asin",  "acos",  "atan",  "sinh", "cosh",
                                "tanh",  "exp",  "log",   "log2",  "log10", "sqrt",  "cbrt", "abs",
                                "floor", "ceil", "round", "trunc", "sign",  "sinpi", "cospi"}),
                            "(", Number(depth - 1), ")");
      case 6:
        return absl::StrCat(Of({"atan2", "fmod", "hypot", "pow", "min", "max"}), "(",
                            Number(depth - 1), ", ", Number(depth - 1), ")");
      default:
        return absl::StrCat(Number(depth - 1), Of({"+", "-", "*", "/", " + ", "*"}),
                            Primary(depth - 1));
    }
  }

 private:
  int Below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }
  std::string Of(const std::vector<std::string>& choices) {
    return choices[static_cast<size_t>(Below(static_cast<int>(choices.size())))];
  }
  std::string Leaf() {
    if (Below(4) == 0) return absl::StrCat(Below(1000), ".", Below(100));
    return Of({"x", "x", "x", "y", "y", "s", "t", "pi", "2", "1e-1", "3"});
  }
  std::string Primary(int depth) {
    return Below(2) == 0 ? Leaf() : absl::StrCat("(", Number(depth), ")");
  }
  std::string Condition(int depth) {
    if (depth > 1 && Below(4) == 0) {
      return absl::StrCat(Condition(depth - 1), Of({" && ", " || "}), Condition(depth - 1));
    }
    return absl::StrCat(Number(depth - 1), Of({" < ", " <= ", " > ", " >= ", " == ", " != "}),
                        Number(depth - 1));
  }

  std::mt19937_64 random_;
};

// How far a value that is computed otherwise may be from `value`. It differs from one expression to
// the next: sin(exp(x)) has few digits. So the tree is walked with every rounded result disturbed
// at random by as much as it may be wrong (stochastic arithmetic, Vignes 1974); the largest
// deviation found so, with a factor for what was not found, is the answer. Where it is a large part
// of the value, a jump or a pole is near, and the answer is infinite: the point tells nothing.
template <typename T>
double AllowedError(const Expression& expression, const std::vector<T>& point,
                    const std::vector<double>& scalars, const std::vector<std::vector<T>>& arrays,
                    double value, std::mt19937_64* random) {
  constexpr int kWalks = 6;
  constexpr double kFactor = 8.0;
  constexpr double kEpsilon = std::numeric_limits<T>::epsilon();
  constexpr double kLarge = sizeof(T) == sizeof(float) ? 1e-3 : 1e-7;
  double deviation = 0.0;
  for (int walk = 0; walk < kWalks; ++walk) {
    std::uniform_real_distribution<double> error(-kMaxFunctionUlps, kMaxFunctionUlps);
    const auto disturb = [&](T result) {
      return static_cast<T>(result * (1.0 + error(*random) * kEpsilon));
    };
    const Oracle<T> oracle(expression, point, scalars, arrays, disturb);
    const double apart = std::fabs(oracle.value() - value);
    const bool tells = apart <= kLarge * std::fabs(value) + 1e4 * kEpsilon * kEpsilon;
    if (!tells || std::isinf(oracle.greatest())) return INFINITY;
    deviation = std::max(deviation, apart);
  }
  return kFactor * deviation + std::numeric_limits<T>::min();
}

}  // namespace baseband::minimize

#endif  // BASEBAND_TESTS_SUPPORT_MINIMIZE_TEXTS_H_
