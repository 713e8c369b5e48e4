// The paper's table on a GPU, matched filters, and Schwefel's function as expression and by hand.
// Results are checked before they are timed. Times are of the device, from the first piece to the
// last copy.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "kernels/minimize/expression_functional.h"
#include "kernels/minimize/schwefel.h"
#include "kernels/minimize/search.h"
#include "kernels/minimize/sinusoids.h"
#include "tests/bench/minimize_matched_cases.h"
#include "tests/bench/must.h"
#include "tests/bench/rows.h"
#include "tests/support/minimize_gpu.h"
#include "tests/support/minimize_search.h"

namespace baseband::minimize {
namespace {

using ::baseband::bench::Fail;
using ::baseband::bench::Must;
using ::baseband::testing::GpuSearch;

struct Timing {
  double device_ms = 0.0;  // of all pieces and copies
  double spread = 0.0;     // of that
  double wall_ms = 0.0;    // the whole search, gathering included
  int64_t index = -1;
  double value = 0.0;
};

PieceLimits Limits() {
  PieceLimits limits;
  limits.operations = kGpuOperationsPerPiece;
  return limits;
}

// The best of `runs`.
Timing Time(const Settings& settings, int runs) {
  const ProblemPtr problem = Must(Problem::Create(settings));
  GpuSearch gpu = Must(GpuSearch::Create(problem, Limits()));
  const cuda::Event start = Must(cuda::Event::Create());
  const cuda::Event stop = Must(cuda::Event::Create());
  Timing best;
  best.wall_ms = 1e30;
  std::vector<double> device_ms;
  for (int run = 0; run < runs; ++run) {
    // Host's part first: pieces are handed over one by one.
    Search search = Must(Search::Create(problem, Limits()));
    const auto began = std::chrono::steady_clock::now();
    while (auto piece = search.Next()) {
      Must(gpu.Enqueue(*piece));
      search.Add(*piece, Must(gpu.Wait()));
    }
    const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - began;
    best.wall_ms = std::min(best.wall_ms, wall.count());
    best.index = search.progress().index;
    best.value = search.progress().value;
    // The device's part alone: everything enqueued at once.
    Search again = Must(Search::Create(problem, Limits()));
    Must(cuda::ToStatus(cudaEventRecord(start.get(), gpu.stream()), "cudaEventRecord"));
    while (auto piece = again.Next()) Must(gpu.Enqueue(*piece));
    Must(cuda::ToStatus(cudaEventRecord(stop.get(), gpu.stream()), "cudaEventRecord"));
    Must(gpu.Wait());
    float ms = 0.0F;
    Must(cuda::ToStatus(cudaEventElapsedTime(&ms, start.get(), stop.get()), "ElapsedTime"));
    device_ms.push_back(static_cast<double>(ms));
  }
  const bench::Times times = bench::Times::Of(device_ms);
  best.device_ms = times.best;
  best.spread = times.spread;
  return best;
}

// For the report.
bench::Row RowOf(bench::RowParameters parameters, const Settings& settings, const Timing& timing) {
  return bench::RateRow("search", "gpu", std::move(parameters),
                        static_cast<double>(settings.grid.num_points()), "point",
                        1e-3 * timing.device_ms, timing.spread);
}

void PaperTable() {
  std::printf(
      "paper table: points, method, precision, device_ms, wall_ms, argmin_error_hz, least\n");
  Settings settings;
  settings.functional = Must(MakeSinusoids(testing::PaperObservation()));
  const struct {
    const char* name;
    Method method;
    Precision precision;
  } kVariants[] = {{"literal", Method::kLiteral, Precision::kFloat32},
                   {"literal", Method::kLiteral, Precision::kFloat64},
                   {"hoisted", Method::kHoisted, Precision::kFloat32},
                   {"hoisted", Method::kHoisted, Precision::kFloat64},
                   {"fast", Method::kFast, Precision::kFloat32},
                   {"fast", Method::kFast, Precision::kFloat64}};
  for (const auto& variant : kVariants) {
    for (const int64_t points : {130, 260, 520, 1300, 2600, 13000, 26000, 52000, 130000, 520000,
                                 1300000, 2600000, 13000000, 14444445}) {
      settings.method = variant.method;
      settings.precision = variant.precision;
      const double begin =
          std::max(0.0, testing::kPaperFrequency - 0.17 * static_cast<double>(points / 2));
      const std::vector<Axis> axes = {{begin, 0.17, points}};
      settings.grid = Must(Grid::Create(axes));
      const Timing timing = Time(settings, 5);
      const double error = settings.grid.axis(0).At(timing.index) - testing::kPaperFrequency;
      if (variant.precision == Precision::kFloat64 && std::abs(error) > 0.0851) {
        Fail("the argmin is wrong");
      }
      std::printf("%lld, %s, %s, %.4f, %.4f, %+.3f, %.3e\n", static_cast<long long>(points),
                  variant.name, variant.precision == Precision::kFloat32 ? "float32" : "float64",
                  timing.device_ms, timing.wall_ms, error, timing.value);
      if (points != 520000 && points != 14444445) continue;
      bench::Row row =
          RowOf({{"functional", "sinusoids"},
                 {"method", variant.name},
                 {"precision", variant.precision == Precision::kFloat32 ? "float32" : "float64"},
                 {"points", std::to_string(points)}},
                settings, timing);
      row.checked = variant.precision == Precision::kFloat64;  // float32 falls short of finding it
      row.Emit();
    }
  }
}

void Schwefel() {
  std::printf("schwefel: dimensions, precision, what, device_ms, points_per_s\n");
  for (const int n : {1, 2}) {
    Names names;
    std::string text = n == 1 ? "418.9828872724339" : "2 * 418.9828872724339";
    for (int k = 0; k < n; ++k) {
      const std::string x(1, "xy"[k]);
      names.variables.push_back(x);
      text += " - " + x + " * sin(sqrt(abs(" + x + ")))";
    }
    const auto expression = Must(Expression::Parse(text, names));
    const int64_t count = n == 1 ? int64_t{1} << 32 : int64_t{1} << 16;
    const std::vector<Axis> axes(static_cast<size_t>(n),
                                 {-500.0, 1000.0 / static_cast<double>(count - 1), count});
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      Settings settings;
      settings.grid = Must(Grid::Create(axes));
      settings.precision = precision;
      int64_t index = -1;
      for (const bool by_hand : {true, false}) {
        settings.functional =
            by_hand ? MakeSchwefel(n) : Must(ExpressionFunctional::Create(expression, {}, {}));
        const Timing timing = Time(settings, 3);
        if (!by_hand && timing.index != index) Fail("expression and built-in differ");
        index = timing.index;
        std::printf("%d, %s, %s, %.3f, %.4e\n", n,
                    precision == Precision::kFloat32 ? "float32" : "float64",
                    by_hand ? "by hand" : "expression", timing.device_ms,
                    static_cast<double>(settings.grid.num_points()) / timing.device_ms * 1e3);
        RowOf({{"functional", std::string("Schwefel") + (n == 1 ? "" : " of 2 variables") +
                                  (by_hand ? " by hand" : "")},
               {"precision", precision == Precision::kFloat32 ? "float32" : "float64"}},
              settings, timing)
            .Emit();
      }
    }
  }
}

// Schwefel's function, more and more points.
void Batches() {
  Names names;
  names.variables = {"x"};
  const auto expression =
      Must(Expression::Parse("418.9828872724339 - x * sin(sqrt(abs(x)))", names));
  for (int64_t count = 1000; count <= 1000000000; count *= 10) {
    Settings settings;
    settings.precision = Precision::kFloat32;
    const std::vector<Axis> axes = {{-500.0, 1000.0 / static_cast<double>(count - 1), count}};
    settings.grid = Must(Grid::Create(axes));
    settings.functional = MakeSchwefel(1);
    const int64_t index = Time(settings, 1).index;
    settings.functional = Must(ExpressionFunctional::Create(expression, {}, {}));
    const Timing timing = Time(settings, 5);
    if (timing.index != index) Fail("expression and built-in differ");
    std::printf("schwefel, %lld points: %.4f ms\n", static_cast<long long>(count),
                timing.device_ms);
    TimeRow(
        RowOf({{"functional", "Schwefel"}, {"points", std::to_string(count)}}, settings, timing),
        static_cast<double>(count), "points")
        .Emit();
  }
}

void Matched() {
  std::printf("matched, 4092 samples: what, points, method, precision, device_ms, wall_ms\n");
  for (const auto& what : testing::MatchedCases(2001)) {
    Settings settings;
    settings.functional = Must(what.functional);
    settings.grid = Must(Grid::Create(what.axes));
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      for (const Method method : {Method::kHoisted, Method::kFast}) {
        settings.precision = precision;
        settings.method = method;
        const Timing timing = Time(settings, 5);
        if (!testing::IsFound(what, settings.grid, timing.index)) {
          Fail(what.name + ": wrong argmin");
        }
        std::printf("%s, %lld, %s, %s, %.4f, %.4f\n", what.name.c_str(),
                    static_cast<long long>(settings.grid.num_points()),
                    method == Method::kHoisted ? "hoisted" : "fast",
                    precision == Precision::kFloat32 ? "float32" : "float64", timing.device_ms,
                    timing.wall_ms);
        RowOf({{"functional", what.name},
               {"method", method == Method::kHoisted ? "hoisted" : "fast"},
               {"precision", precision == Precision::kFloat32 ? "float32" : "float64"}},
              settings, timing)
            .Emit();
      }
    }
  }
}

// 1000 points: from the launch to the result on the host.
void SmallGrid() {
  std::printf("small grid of 1000 points: functional, p50_us, p99_us\n");
  Settings settings;
  const std::vector<Axis> axes = {{-500.0, 1.0, 1000}};
  settings.grid = Must(Grid::Create(axes));
  settings.functional = MakeSchwefel(1);
  const ProblemPtr problem = Must(Problem::Create(settings));
  GpuSearch gpu = Must(GpuSearch::Create(problem, Limits()));
  std::vector<double> us;
  for (int run = 0; run < 2000; ++run) {
    const auto began = std::chrono::steady_clock::now();
    Search search = Must(Search::Create(problem, Limits()));
    while (auto piece = search.Next()) {
      Must(gpu.Enqueue(*piece));
      search.Add(*piece, Must(gpu.Wait()));
    }
    Must(search.Finish());
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
    us.push_back(took.count());
  }
  std::sort(us.begin(), us.end());
  std::printf("schwefel, %.1f, %.1f\n", us[us.size() / 2], us[us.size() * 99 / 100]);
}

}  // namespace
}  // namespace baseband::minimize

int main() {
  cudaDeviceProp properties;
  baseband::bench::Must(
      baseband::cuda::ToStatus(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties"));
  std::printf("%s\n", properties.name);
  baseband::minimize::SmallGrid();
  baseband::minimize::Schwefel();
  baseband::minimize::Matched();
  baseband::minimize::PaperTable();
  baseband::minimize::Batches();
  return 0;
}
