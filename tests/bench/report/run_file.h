// A run of the report: what was measured, on which machine. One file, a JSON object a line: the
// head, then rows as tests/bench/rows.h writes them, programs that failed, where another turn
// through all of it begins, and that it came to its end.
#ifndef BASEBAND_TESTS_BENCH_REPORT_RUN_FILE_H_
#define BASEBAND_TESTS_BENCH_REPORT_RUN_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tests/bench/rows.h"

namespace baseband::bench {

struct Head {
  std::string begin;   // RFC 3339, UTC
  std::string commit;  // "unknown" if nobody said
  std::string mode;    // "full" or "quick"
  std::string cpu;
  int cores = 0;
  std::string gpu;     // empty: none
  std::string driver;  // the GPU's
};

struct BenchRun {
  Head head;
  // Of all turns the best: what else a host has to do makes them slower, never faster. What every
  // turn measured once has the turns' difference for a spread.
  std::vector<Row> rows;
  std::vector<std::string> failed;  // programs, and how they ended
  bool ended = false;               // nobody broke it off
};

// The lines, without their ends.
std::string HeadLine(const Head& head);
std::string FailedLine(const std::string& what);
std::string TurnLine(int turn);  // 2: the second begins
std::string EndLine();

// InvalidArgument "name:3: .value: .." with the line that is wrong: no JSON, a key that is missing,
// unknown or of the wrong kind, a head that is not the first line, a value that is not more than 0,
// a row that measures what another one of the same turn does, or anything behind the end.
absl::StatusOr<BenchRun> ParseRun(absl::string_view text, const std::string& name);
// Statuses of the file, too.
absl::StatusOr<BenchRun> ReadRun(const std::string& path);

// What tells a row from the others: "decode gpu code=NR BG1 Zc=384 rows=46 blocks=1 [bit/s]".
std::string KeyOf(const Row& row);

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_REPORT_RUN_FILE_H_
