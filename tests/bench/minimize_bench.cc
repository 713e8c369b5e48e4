// The paper's table, matched filters and Schwefel's function on one core of the CPU device. Results
// are checked before they are timed; rates are points a second of thread time, the best of a few
// runs.
//
//   minimize_bench [schwefel]: that function alone
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/minimize/expression_functional.h"
#include "kernels/minimize/minimize_cpu.h"
#include "kernels/minimize/schwefel.h"
#include "kernels/minimize/search.h"
#include "kernels/minimize/sinusoids.h"
#include "tests/bench/cpu_seconds.h"
#include "tests/bench/minimize_matched_cases.h"
#include "tests/bench/must.h"
#include "tests/bench/rows.h"
#include "tests/support/minimize_search.h"

namespace baseband::minimize {
namespace {

using ::baseband::bench::Fail;
using ::baseband::bench::Must;
using ::baseband::bench::ThreadSeconds;

struct Timing {
  double seconds = 0.0;
  double spread = 0.0;
  Progress best;
};

Timing Time(const Settings& settings, int runs) {
  const ProblemPtr problem = Must(Problem::Create(settings));
  CpuWorkspace workspace;
  Timing timing;
  std::vector<double> seconds;
  for (int run = 0; run < runs; ++run) {
    Search search = Must(Search::Create(problem, PieceLimits()));
    std::vector<uint64_t> output;
    const double began = ThreadSeconds();
    while (auto piece = search.Next()) {
      output.resize(static_cast<size_t>(OutputBytes(*problem, *piece)) / 8);
      auto* const bytes = reinterpret_cast<uint8_t*>(output.data());
      EvaluatePieceOnCpu(*problem, *piece, &workspace, bytes);
      search.Add(*piece, bytes);
    }
    seconds.push_back(ThreadSeconds() - began);
    timing.best = search.progress();
  }
  const bench::Times times = bench::Times::Of(seconds);
  timing.seconds = times.best;
  timing.spread = times.spread;
  return timing;
}

// For the report; the argmin is right.
bench::Row RowOf(bench::RowParameters parameters, const Settings& settings, const Timing& timing) {
  return bench::RateRow("search", "cpu", std::move(parameters),
                        static_cast<double>(settings.grid.num_points()), "point", timing.seconds,
                        timing.spread);
}

const char* NameOf(Precision precision) {
  return precision == Precision::kFloat32 ? "float32" : "float64";
}

void PaperTable() {
  std::printf("paper: method, precision, points, seconds, points_per_s, argmin_error_hz, least\n");
  Settings settings;
  settings.functional = Must(MakeSinusoids(testing::PaperObservation()));
  const struct {
    const char* name;
    Method method;
    int64_t points;
  } kVariants[] = {{"literal", Method::kLiteral, 13000},
                   {"hoisted", Method::kHoisted, 520000},
                   {"fast", Method::kFast, 520000},
                   {"fast", Method::kFast, 14444445}};
  for (const auto& variant : kVariants) {
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      settings.method = variant.method;
      settings.precision = precision;
      const double begin =
          std::max(0.0, testing::kPaperFrequency - 0.17 * static_cast<double>(variant.points / 2));
      const std::vector<Axis> axes = {{begin, 0.17, variant.points}};
      settings.grid = Must(Grid::Create(axes));
      const Timing timing = Time(settings, 2);
      const double error = settings.grid.axis(0).At(timing.best.index) - testing::kPaperFrequency;
      if (precision == Precision::kFloat64 && std::abs(error) > 0.0851) Fail("wrong argmin");
      std::printf("%s, %s, %lld, %.4f, %.3e, %+.3f, %.2e\n", variant.name, NameOf(precision),
                  static_cast<long long>(variant.points), timing.seconds,
                  static_cast<double>(variant.points) / timing.seconds, error, timing.best.value);
      bench::Row row = RowOf({{"functional", "sinusoids"},
                              {"method", variant.name},
                              {"precision", NameOf(precision)},
                              {"points", std::to_string(variant.points)}},
                             settings, timing);
      row.checked = precision == Precision::kFloat64;  // float32 falls short of finding it
      row.Emit();
    }
  }
}

void Matched() {
  std::printf("matched, 4092 samples: what, points, method, precision, seconds, points_per_s\n");
  for (const auto& what : testing::MatchedCases(21)) {
    Settings settings;
    settings.functional = Must(what.functional);
    settings.grid = Must(Grid::Create(what.axes));
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      for (const Method method : {Method::kHoisted, Method::kFast}) {
        settings.precision = precision;
        settings.method = method;
        const Timing timing = Time(settings, 2);
        if (!testing::IsFound(what, settings.grid, timing.best.index)) {
          Fail(what.name + ": wrong argmin");
        }
        const auto points = static_cast<double>(settings.grid.num_points());
        std::printf("%s, %.0f, %s, %s, %.4f, %.3e\n", what.name.c_str(), points,
                    method == Method::kHoisted ? "hoisted" : "fast", NameOf(precision),
                    timing.seconds, points / timing.seconds);
        RowOf({{"functional", what.name},
               {"method", method == Method::kHoisted ? "hoisted" : "fast"},
               {"precision", NameOf(precision)}},
              settings, timing)
            .Emit();
      }
    }
  }
}

void Schwefel() {
  std::printf("schwefel 1-D: what, precision, points_per_s\n");
  Names names;
  names.variables = {"x"};
  const auto expression =
      Must(Expression::Parse("418.9828872724339 - x * sin(sqrt(abs(x)))", names));
  const int64_t points = 20000001;
  const std::vector<Axis> axes = {{-500.0, 5e-5, points}};
  Settings settings;
  settings.grid = Must(Grid::Create(axes));
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    settings.precision = precision;
    int64_t index = -1;
    for (const bool by_hand : {true, false}) {
      settings.functional =
          by_hand ? MakeSchwefel(1) : Must(ExpressionFunctional::Create(expression, {}, {}));
      const Timing timing = Time(settings, 3);
      if (!by_hand && timing.best.index != index) Fail("expression and built-in differ");
      index = timing.best.index;
      std::printf("%s, %s, %.3e\n", by_hand ? "by hand" : "expression", NameOf(precision),
                  static_cast<double>(points) / timing.seconds);
      RowOf({{"functional", by_hand ? "Schwefel by hand" : "Schwefel"},
             {"precision", NameOf(precision)}},
            settings, timing)
          .Emit();
    }
  }
  settings.precision = Precision::kFloat32;
  for (int64_t count = 1000; count <= 100000000; count *= 10) {
    const std::vector<Axis> grid = {{-500.0, 1000.0 / static_cast<double>(count - 1), count}};
    settings.grid = Must(Grid::Create(grid));
    settings.functional = MakeSchwefel(1);
    const int64_t index = Time(settings, 1).best.index;
    settings.functional = Must(ExpressionFunctional::Create(expression, {}, {}));
    const Timing timing = Time(settings, 3);
    if (timing.best.index != index) Fail("expression and built-in differ");
    std::printf("%lld points, %.3e s\n", static_cast<long long>(count), timing.seconds);
    TimeRow(
        RowOf({{"functional", "Schwefel"}, {"points", std::to_string(count)}}, settings, timing),
        static_cast<double>(count), "points")
        .Emit();
  }
}

}  // namespace
}  // namespace baseband::minimize

int main(int argc, char** argv) {
  baseband::minimize::Schwefel();
  if (argc > 1 && std::string(argv[1]) == "schwefel") return 0;
  baseband::minimize::Matched();
  baseband::minimize::PaperTable();
  return 0;
}
