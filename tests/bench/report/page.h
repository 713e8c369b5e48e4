// A run as a page of tables, and the files beside it.
#ifndef BASEBAND_TESTS_BENCH_REPORT_PAGE_H_
#define BASEBAND_TESTS_BENCH_REPORT_PAGE_H_

#include <string>

#include "absl/types/optional.h"
#include "tests/bench/report/comparison.h"
#include "tests/bench/report/run_file.h"

namespace baseband::bench {

// What it was measured on and with, a line.
std::string MachineOf(const Head& head);

// What a reader has to know of a run whose measurements differ much; empty if they do not.
std::string BusyText(const BenchRun& run);

// Markdown: the machine, what failed, what has changed, README's "Measured", what the machine
// allows, a table of each operation, and the figures with their numbers.
std::string PageOf(const BenchRun& run, const absl::optional<Comparison>& comparison);

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_REPORT_PAGE_H_
