// What the expression language makes of NaNs, said without it: each operator and function with the
// plain C++ that it stands for. For both devices.
#ifndef BASEBAND_TESTS_SUPPORT_MINIMIZE_NAN_H_
#define BASEBAND_TESTS_SUPPORT_MINIMIZE_NAN_H_

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace baseband::testing {

// A formula of v and z, letters that no word of the language has. Where a number that it looks at
// is NaN, so is its value; elsewhere its value is NaN iff `value`'s is.
struct NanCase {
  std::string text;
  std::function<double(double v, double z)> value;
  bool of_v = true;  // it looks at
  bool of_z = true;
};

// NaN, and what functions have cases of their own for.
inline const std::vector<double>& NanOperands() {
  static const auto* const kOperands = new std::vector<double>{
      std::numeric_limits<double>::quiet_NaN(), 0.0,      -0.0, 1.0, -1.0, 0.25, 2.5, -3.0,
      std::numeric_limits<double>::infinity(),  -INFINITY};
  return *kOperands;
}

// All functions and operators of numbers that give numbers.
inline std::vector<NanCase> NanCases() {
  using F = double (*)(double);
  using G = double (*)(double, double);
  std::vector<NanCase> cases;
  const std::vector<std::pair<std::string, std::function<double(double)>>> unary = {
      {"abs", F(std::fabs)},
      {"floor", F(std::floor)},
      {"ceil", F(std::ceil)},
      {"round", F(std::round)},
      {"trunc", F(std::trunc)},
      {"sqrt", F(std::sqrt)},
      {"cbrt", F(std::cbrt)},
      {"sin", F(std::sin)},
      {"cos", F(std::cos)},
      {"tan", F(std::tan)},
      {"asin", F(std::asin)},
      {"acos", F(std::acos)},
      {"atan", F(std::atan)},
      {"sinh", F(std::sinh)},
      {"cosh", F(std::cosh)},
      {"tanh", F(std::tanh)},
      {"exp", F(std::exp)},
      {"log", F(std::log)},
      {"log2", F(std::log2)},
      {"log10", F(std::log10)},
      {"sign", [](double x) { return x > 0   ? 1
                                     : x < 0 ? -1
                                             : x; }},
      {"sinpi", [](double x) { return std::isinf(x) ? NAN : 0 * x; }},
      {"cospi", [](double x) { return std::isinf(x) ? NAN : 0 * x; }},
      {"-", [](double x) { return -x; }},
      {"+", [](double x) { return x; }}};
  for (const auto& [name, f] : unary) {
    cases.push_back({name + "(v)", [f = f](double x, double) { return f(x); }, true, false});
    cases.push_back({name + "(z)", [f = f](double, double y) { return f(y); }, false, true});
  }
  for (const char* const power : {"0", "1", "2", "3", "4", "-1", "-2", "0.5", "-0.5", "1.5"}) {
    // The tree's sqrt(v) for v^0.5 is NaN at minus infinity.
    const double exponent = std::stod(power);
    cases.push_back({std::string("v^") + power,
                     [exponent](double x, double) {
                       return std::fabs(exponent) == 0.5 ? std::sqrt(x) : std::pow(x, exponent);
                     },
                     true, false});
  }
  const auto minimum = [](double x, double y) { return x < y ? x : y; };
  const auto maximum = [](double x, double y) { return x > y ? x : y; };
  cases.push_back({"min(v, z)", minimum});
  cases.push_back({"max(v, z)", maximum});
  cases.push_back({"min(1, v, z)", minimum});
  cases.push_back({"max(z, 1, v)", maximum});
  cases.push_back({"atan2(v, z)", G(std::atan2)});
  cases.push_back({"fmod(v, z)", G(std::fmod)});
  cases.push_back({"hypot(v, z)", G(std::hypot)});
  cases.push_back({"pow(v, z)", G(std::pow)});
  cases.push_back({"v^z", G(std::pow)});
  cases.push_back({"v + z", [](double x, double y) { return x + y; }});
  cases.push_back({"v - z", [](double x, double y) { return x - y; }});
  cases.push_back({"v * z", [](double x, double y) { return x * y; }});
  cases.push_back({"v / z", [](double x, double y) { return x / y; }});
  cases.push_back({"0 * v", [](double x, double) { return 0 * x; }, true, false});
  cases.push_back({"v - v", [](double x, double) { return x - x; }, true, false});
  // Fused.
  cases.push_back({"v * z + 2", [](double x, double y) { return x * y + 2; }});
  cases.push_back({"v * 2 + z", [](double x, double y) { return x * 2 + y; }});
  cases.push_back({"v * z - 2", [](double x, double y) { return x * y - 2; }});
  cases.push_back({"2 - v * z", [](double x, double y) { return 2 - x * y; }});
  // Sums of bodies, of products, around what does not depend on the index, and of nothing.
  cases.push_back({"sum(j, 1, 3, v + j)", [](double x, double) { return x; }, true, false});
  cases.push_back({"sum(j, 1, 3, v * j)", [](double x, double) { return x; }, true, false});
  cases.push_back(
      {"sum(j, 1, 3, min(v, z + j))", [](double x, double y) { return 3 * std::fmin(x, y + 1); }});
  cases.push_back({"sum(j, 1, 0, v)", [](double, double) { return 0.0; }, false, false});
  // What is not chosen is not looked at.
  cases.push_back({"select(1 < 2, v, z)", [](double x, double) { return x; }, true, false});
  cases.push_back({"select(2 < 1, v, z)", [](double, double y) { return y; }, false, true});
  return cases;
}

// Conditions of v and z, of NaN too: select(text, 1, 0).
struct NanCondition {
  std::string text;
  std::function<bool(double v, double z)> holds;
};
inline std::vector<NanCondition> NanConditions() {
  return {{"v < z", [](double x, double y) { return x < y; }},
          {"v <= z", [](double x, double y) { return x <= y; }},
          {"v > z", [](double x, double y) { return x > y; }},
          {"v >= z", [](double x, double y) { return x >= y; }},
          {"v == z", [](double x, double y) { return x == y; }},
          {"v != z", [](double x, double y) { return x != y; }},
          {"v == v", [](double x, double) { return x == x; }},
          {"v != v", [](double x, double) { return x != x; }},
          {"!(v < z)", [](double x, double y) { return !(x < y); }},
          {"!(v != z)", [](double x, double y) { return !(x != y); }},
          {"v < 1 && z < 1", [](double x, double y) { return x < 1 && y < 1; }},
          {"v != 1 || z < 1", [](double x, double y) { return x != 1 || y < 1; }}};
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_MINIMIZE_NAN_H_
