#include "kernels/minimize/expression/functions.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "kernels/minimize/expression/fast_fmod.h"

namespace baseband::minimize {
namespace {

constexpr Function kFunctions[] = {{"abs", Op::kAbs},
                                   {"sign", Op::kSign},
                                   {"floor", Op::kFloor},
                                   {"ceil", Op::kCeil},
                                   {"round", Op::kRound},
                                   {"trunc", Op::kTrunc},
                                   {"sqrt", Op::kSqrt},
                                   {"cbrt", Op::kCbrt},
                                   {"sin", Op::kSin},
                                   {"cos", Op::kCos},
                                   {"tan", Op::kTan},
                                   {"asin", Op::kAsin},
                                   {"acos", Op::kAcos},
                                   {"atan", Op::kAtan},
                                   {"sinh", Op::kSinh},
                                   {"cosh", Op::kCosh},
                                   {"tanh", Op::kTanh},
                                   {"exp", Op::kExp},
                                   {"log", Op::kLog},
                                   {"log2", Op::kLog2},
                                   {"log10", Op::kLog10},
                                   {"sinpi", Op::kSinPi},
                                   {"cospi", Op::kCosPi},
                                   {"atan2", Op::kAtan2, false, 2},
                                   {"fmod", Op::kFmod, false, 2},
                                   {"hypot", Op::kHypot, false, 2},
                                   {"pow", Op::kPow, false, 2},
                                   {"min", Op::kMin, true, 2},
                                   {"max", Op::kMax, true, 2}};

constexpr absl::string_view kOtherWords[] = {"select", "sum", "size", "pi", "e"};

// x in turns of pi: quarter turns are taken off before pi comes in, so that zeros are zeros.
double SinPi(double x) {
  const double r = std::remainder(x, 2.0);  // exact; in [-1, 1]
  if (std::fabs(r) <= 0.25) return std::sin(kExpressionPi * r);
  if (std::fabs(r) >= 0.75) return std::sin(kExpressionPi * (std::copysign(1.0, r) - r));
  return std::copysign(std::cos(kExpressionPi * (0.5 - std::fabs(r))), r);
}

double CosPi(double x) {
  const double r = std::fabs(std::remainder(x, 2.0));
  if (r <= 0.25) return std::cos(kExpressionPi * r);
  if (r >= 0.75) return -std::cos(kExpressionPi * (1.0 - r));
  return std::sin(kExpressionPi * (0.5 - r));
}

// C's function, but NaN of a NaN.
template <typename Function>
double UnlessNan(double a, double b, Function function) {
  return std::isnan(a) || std::isnan(b) ? a + b : function(a, b);
}

}  // namespace

const Function* FindFunction(absl::string_view name) {
  const auto* const found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                         [name](const Function& f) { return f.name == name; });
  return found == std::end(kFunctions) ? nullptr : found;
}

bool IsReserved(absl::string_view name) {
  return FindFunction(name) != nullptr ||
         std::find(std::begin(kOtherWords), std::end(kOtherWords), name) != std::end(kOtherWords);
}

std::vector<std::string> ReservedNames() {
  std::vector<std::string> names;
  for (const Function& function : kFunctions) names.emplace_back(function.name);
  for (const absl::string_view word : kOtherWords) names.emplace_back(word);
  return names;
}

bool IsName(absl::string_view text) {
  const auto is_inner = [](char c) {
    return c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c));
  };
  return !text.empty() && text.size() <= kMaxNameLength &&
         !absl::ascii_isdigit(static_cast<unsigned char>(text.front())) &&
         std::all_of(text.begin(), text.end(), is_inner);
}

double OperationsOf(Op op) {
  switch (op) {
    case Op::kConstant:
    case Op::kVariable:
    case Op::kScalar:
      return 0.0;
    case Op::kDivide:
    case Op::kSqrt:
      return 4.0;
    case Op::kSin:
    case Op::kCos:
    case Op::kSinPi:
    case Op::kCosPi:
    case Op::kExp:
    case Op::kLog:
    case Op::kLog2:
    case Op::kLog10:
      return 8.0;
    case Op::kCbrt:
    case Op::kTan:
    case Op::kAsin:
    case Op::kAcos:
    case Op::kAtan:
    case Op::kSinh:
    case Op::kCosh:
    case Op::kTanh:
    case Op::kAtan2:
    case Op::kHypot:
    case Op::kPow:
      return 16.0;
    case Op::kFmod:
      return 256.0;  // of far apart numbers, 10 us on a GPU
    default:
      return 1.0;
  }
}

int NumOperands(Op op) {
  switch (op) {
    case Op::kSelect:
    case Op::kMultiplyAdd:
    case Op::kMultiplySub:
    case Op::kNegMultiplyAdd:
      return 3;
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kAnd:
    case Op::kOr:
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kDivide:
      return 2;
    default:
      return op >= Op::kAtan2 ? 2 : 1;
  }
}

double Apply(Op op, double a, double b, double c) {
  switch (op) {
    case Op::kSelect:
      return a != 0.0 ? b : c;
    case Op::kLess:
      return a < b ? 1.0 : 0.0;
    case Op::kLessEqual:
      return a <= b ? 1.0 : 0.0;
    case Op::kEqual:
      return a == b ? 1.0 : 0.0;
    case Op::kNotEqual:
      return a != b ? 1.0 : 0.0;
    case Op::kAnd:
      return a != 0.0 && b != 0.0 ? 1.0 : 0.0;
    case Op::kOr:
      return a != 0.0 || b != 0.0 ? 1.0 : 0.0;
    case Op::kNot:
      return a != 0.0 ? 0.0 : 1.0;
    case Op::kAdd:
      return a + b;
    case Op::kSubtract:
      return a - b;
    case Op::kMultiply:
      return a * b;
    case Op::kDivide:
      return a / b;
    case Op::kNegate:
      return -a;
    case Op::kMultiplyAdd:
      return std::fma(a, b, c);
    case Op::kMultiplySub:
      return std::fma(a, b, -c);
    case Op::kNegMultiplyAdd:
      return std::fma(-a, b, c);
    case Op::kAbs:
      return std::fabs(a);
    case Op::kSign:
      return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a;
    case Op::kFloor:
      return std::floor(a);
    case Op::kCeil:
      return std::ceil(a);
    case Op::kRound:
      return std::round(a);
    case Op::kTrunc:
      return std::trunc(a);
    case Op::kSqrt:
      return std::sqrt(a);
    case Op::kCbrt:
      return std::cbrt(a);
    case Op::kSin:
      return std::sin(a);
    case Op::kCos:
      return std::cos(a);
    case Op::kTan:
      return std::tan(a);
    case Op::kAsin:
      return std::asin(a);
    case Op::kAcos:
      return std::acos(a);
    case Op::kAtan:
      return std::atan(a);
    case Op::kSinh:
      return std::sinh(a);
    case Op::kCosh:
      return std::cosh(a);
    case Op::kTanh:
      return std::tanh(a);
    case Op::kExp:
      return std::exp(a);
    case Op::kLog:
      return std::log(a);
    case Op::kLog2:
      return std::log2(a);
    case Op::kLog10:
      return std::log10(a);
    case Op::kSinPi:
      return SinPi(a);
    case Op::kCosPi:
      return CosPi(a);
    case Op::kAtan2:
      return std::atan2(a, b);
    case Op::kMin:
      return a < b || std::isnan(a) ? a : b;
    case Op::kMax:
      return a > b || std::isnan(a) ? a : b;
    case Op::kFmod:
      return FastFmod(a, b);
    case Op::kHypot:
      return UnlessNan(a, b, [](double x, double y) { return std::hypot(x, y); });
    case Op::kPow:
      return UnlessNan(a, b, [](double x, double y) { return std::pow(x, y); });
    default:
      return 0.0;  // leaves and sums have no value of their own
  }
}

}  // namespace baseband::minimize
