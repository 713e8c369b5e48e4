// Evaluations per second of expressions on one core: our evaluator, muParser (double only) and the
// same formula in plain C++ as the compiler makes it of this file. The results are checked first.
//
//   minimize_expression_bench [SECONDS for each line, default 1]
#include <muParser.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "kernels/minimize/cpu/evaluate_cpu.h"
#include "kernels/minimize/expression.h"

namespace {

using baseband::minimize::Evaluator;
using baseband::minimize::Expression;
using baseband::minimize::Names;

constexpr char kSchwefel1[] = "418.9829 - x*sin(sqrt(abs(x)))";
constexpr char kSchwefel2[] = "837.9658 - x*sin(sqrt(abs(x))) - y*sin(sqrt(abs(y)))";
constexpr int kSamples = 2400;
constexpr char kCorrelation[] =
    "sum(j, 0, size(s)-1, s[j]*cos(x*j))^2 + "
    "sum(j, 0, size(s)-1, s[j]*sin(x*j))^2";

double g_seconds = 1.0;

// This thread's, as others may want the core, too.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Calls `work` for g_seconds in five parts, and prints how many of its `evaluations` the best of
// them makes a second: the other half of its core may have been busy.
void Report(const char* what, int evaluations, const std::function<void()>& work) {
  constexpr int kParts = 5;
  double best = 0.0;
  for (int part = 0; part < kParts; ++part) {
    const double start = CpuSeconds();
    double elapsed = 0.0;
    int64_t calls = 0;
    while (elapsed < g_seconds / kParts) {
      work();
      ++calls;
      elapsed = CpuSeconds() - start;
    }
    best = std::max(best, static_cast<double>(calls * evaluations) / elapsed);
  }
  std::printf("  %-28s %12.4g evaluations/s\n", what, best);
}

void Check(const char* what, double value, double expected, double tolerance) {
  if (std::fabs(value - expected) <= tolerance) return;
  std::printf("%s: %.17g is not %.17g\n", what, value, expected);
  std::exit(1);
}

template <typename T>
std::vector<std::vector<T>> Points(int variables, int count, double begin, double end) {
  std::vector<std::vector<T>> points(static_cast<size_t>(variables));
  for (size_t v = 0; v < points.size(); ++v) {
    for (int i = 0; i < count; ++i) {
      const double turn = std::fmod((i + 0.5) * (v == 0 ? 1.0 : 0.6180339887), count) / count;
      points[v].push_back(static_cast<T>(begin + (end - begin) * turn));
    }
  }
  return points;
}

template <typename T>
void BenchOurs(const char* what, const char* text, const Names& names,
               const std::vector<double>& samples, const std::vector<std::vector<T>>& points,
               const std::function<double(const double*)>& formula, double tolerance) {
  const std::vector<T> data(samples.begin(), samples.end());
  std::vector<absl::Span<const T>> arrays;
  if (!names.arrays.empty()) arrays.push_back(data);
  auto evaluator =
      Evaluator<T>::Create(*Expression::Parse(text, names), {}, absl::MakeConstSpan(arrays));
  std::vector<const T*> variables;
  for (const auto& axis : points) variables.push_back(axis.data());
  const auto count = static_cast<int>(points[0].size());
  std::vector<T> values(points[0].size());
  evaluator->Evaluate(variables.data(), count, values.data());
  for (size_t i = 0; i < values.size(); i += 7) {
    double x[2] = {};
    for (size_t v = 0; v < points.size(); ++v) x[v] = static_cast<double>(points[v][i]);
    Check(what, static_cast<double>(values[i]), formula(x), tolerance);
  }
  Report(what, count, [&] { evaluator->Evaluate(variables.data(), count, values.data()); });
}

void BenchMuParser(const char* text, const std::vector<std::vector<double>>& points) {
  mu::Parser parser;
  double x[2] = {};
  parser.DefineVar("x", &x[0]);
  parser.DefineVar("y", &x[1]);
  parser.SetExpr(text);
  double total = 0.0;
  Report("muParser, double", static_cast<int>(points[0].size()), [&] {
    for (size_t i = 0; i < points[0].size(); ++i) {
      for (size_t v = 0; v < points.size(); ++v) x[v] = points[v][i];
      total += parser.Eval();
    }
  });
  Check("muParser", total - total, 0.0, 0.0);
}

void BenchPlain(const std::vector<std::vector<double>>& points, double (*formula)(const double*)) {
  volatile double sink = 0.0;
  Report("plain C++, double", static_cast<int>(points[0].size()), [&] {
    double total = 0.0;
    for (size_t i = 0; i < points[0].size(); ++i) {
      double x[2] = {};
      for (size_t v = 0; v < points.size(); ++v) x[v] = points[v][i];
      total += formula(x);
    }
    sink = total;
  });
}

double Schwefel1(const double* x) { return 418.9829 - x[0] * std::sin(std::sqrt(std::fabs(x[0]))); }
double Schwefel2(const double* x) {
  return 837.9658 - x[0] * std::sin(std::sqrt(std::fabs(x[0]))) -
         x[1] * std::sin(std::sqrt(std::fabs(x[1])));
}

std::vector<double> g_samples;
double Correlation(const double* x) {
  double re = 0.0;
  double im = 0.0;
  for (int j = 0; j < kSamples; ++j) {
    re += g_samples[static_cast<size_t>(j)] * std::cos(x[0] * j);
    im += g_samples[static_cast<size_t>(j)] * std::sin(x[0] * j);
  }
  return re * re + im * im;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) g_seconds = std::atof(argv[1]);
  const Names one{{"x"}, {}, {}};
  const Names two{{"x", "y"}, {}, {}};
  Names with_samples = one;
  with_samples.arrays.push_back({"s", kSamples});
  for (int j = 0; j < kSamples; ++j) g_samples.push_back(std::sin(0.5872523 * j));

  std::printf("Schwefel, 1 variable: %s\n", kSchwefel1);
  const auto x = Points<double>(1, 100000, -500, 500);
  BenchOurs<float>("float", kSchwefel1, one, {}, Points<float>(1, 100000, -500, 500), Schwefel1,
                   1e-3);
  BenchOurs<double>("double", kSchwefel1, one, {}, x, Schwefel1, 1e-11);
  BenchMuParser(kSchwefel1, x);
  BenchPlain(x, Schwefel1);

  std::printf("Schwefel, 2 variables: %s\n", kSchwefel2);
  const auto xy = Points<double>(2, 100000, -500, 500);
  BenchOurs<float>("float", kSchwefel2, two, {}, Points<float>(2, 100000, -500, 500), Schwefel2,
                   2e-3);
  BenchOurs<double>("double", kSchwefel2, two, {}, xy, Schwefel2, 1e-11);
  BenchMuParser(kSchwefel2, xy);
  BenchPlain(xy, Schwefel2);

  std::printf("Correlation over %d samples: %s\n", kSamples, kCorrelation);
  const auto w = Points<double>(1, 1024, 0.1, 1.0);
  // float: phases of 2400 rad have steps of 2.4e-4, so sums of up to 1200 err by a part in 1e4.
  BenchOurs<float>("float", kCorrelation, with_samples, g_samples, Points<float>(1, 1024, 0.1, 1.0),
                   Correlation, 3e3);
  BenchOurs<double>("double", kCorrelation, with_samples, g_samples, w, Correlation, 1e-6);
  BenchPlain(w, Correlation);
  return 0;
}
