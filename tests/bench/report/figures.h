// What a run shows: what its machine allows of each row, curves along a parameter, and pictures.
#ifndef BASEBAND_TESTS_BENCH_REPORT_FIGURES_H_
#define BASEBAND_TESTS_BENCH_REPORT_FIGURES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "tests/bench/report/run_file.h"

namespace baseband::bench {

// The limits of a run's machine.
class Limits {
 public:
  explicit Limits(const BenchRun& run);

  // Of a device; 0 if it was not measured.
  double Get(const std::string& device, const std::string& of) const;

  // The best value that `row` could have.
  struct Bound {
    double value = 0.0;
    std::string by;  // "memory", "fma"
  };
  // Empty where nothing is counted, or no limit of it was measured.
  absl::optional<Bound> Of(const Row& row) const;

 private:
  std::map<std::pair<std::string, std::string>, double> values_;
};
// How much of the bound a row's value is: 1 is all.
double ShareOf(const Limits::Bound& bound, const Row& row);

// Rows that differ in one parameter only.
struct Series {
  std::string label;
  std::vector<std::pair<double, Row>> points;  // by that parameter's value, ascending
};
// Rows of one operation along one parameter.
struct Panel {
  std::string title;
  std::string along;
  std::string unit;
  std::vector<Series> series;
};
struct Figure {
  std::string name;  // of its file, without ".svg"
  std::string title;
  std::vector<Panel> panels;
};

// "sizes", "batches" and "latency", those of which the run has rows. A value that is no number is
// left out.
std::vector<Figure> FiguresOf(const BenchRun& run);

std::string DrawFigure(const Figure& figure, const std::string& machine);
// Every row whose operations and bytes are counted below what its device allows of both. Empty if
// there is none.
std::string DrawRoofline(const BenchRun& run, const std::string& machine);

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_REPORT_FIGURES_H_
