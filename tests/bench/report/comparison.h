// A run held against an earlier one.
#ifndef BASEBAND_TESTS_BENCH_REPORT_COMPARISON_H_
#define BASEBAND_TESTS_BENCH_REPORT_COMPARISON_H_

#include <string>
#include <vector>

#include "tests/bench/report/run_file.h"

namespace baseband::bench {

// What a value must be worse or better by, at least, to count.
inline constexpr double kLeastChange = 0.10;
// The spread that what was measured once is taken to have.
inline constexpr double kAssumedSpread = 0.50;

struct Change {
  Row before;
  Row now;
  // How much longer one takes now, as a share of before: 0.25 for 100 s that became 125, or 100
  // bit/s that became 80. Negative: less long.
  double slower = 0.0;
};

struct Comparison {
  std::vector<Change> worse;  // by more than kLeastChange, and than both runs' spreads
  std::vector<Change> better;
  int alike = 0;
  std::vector<std::string> gone;  // keys of rows that only `before` has
  int added = 0;                  // rows that only `now` has
  // How the machines differ: "cpu A is B now"; empty if they do not.
  std::vector<std::string> machine;
};

// Rows of limits among them: a machine that allows less is named, too.
Comparison Compare(const BenchRun& before, const BenchRun& now);

// `first` once what was worse is measured again, and all of it compared: what `again` does not find
// worse is alike. Nothing becomes better, for it was measured more often than before.
Comparison Confirmed(Comparison first, const Comparison& again);

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_REPORT_COMPARISON_H_
