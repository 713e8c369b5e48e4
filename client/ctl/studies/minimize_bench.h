// The parts of `minimize-bench`: the table and the figures of the paper that minimize_paper.h
// names, measured through the server.
#ifndef BASEBAND_CLIENT_CTL_STUDIES_MINIMIZE_BENCH_H_
#define BASEBAND_CLIENT_CTL_STUDIES_MINIMIZE_BENCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"
#include "client/cpp/client.h"
#include "client/ctl/common/session.h"
#include "client/ctl/common/table.h"

namespace baseband::ctl {

// A way to evaluate the functional.
struct PaperMethod {
  const char* name;   // in files
  const char* label;  // for people
  v1::SearchMethod method;
  v1::SearchPrecision precision;
};
inline constexpr PaperMethod kPaperMethods[] = {
    {"literal-float32", "literal, float32", v1::SEARCH_METHOD_LITERAL,
     v1::SEARCH_PRECISION_FLOAT32},
    {"literal", "literal", v1::SEARCH_METHOD_LITERAL, v1::SEARCH_PRECISION_FLOAT64},
    {"hoisted", "hoisted", v1::SEARCH_METHOD_HOISTED, v1::SEARCH_PRECISION_FLOAT64},
    {"fast", "fast", v1::SEARCH_METHOD_FAST, v1::SEARCH_PRECISION_FLOAT64}};
inline constexpr int kNumPaperMethods = 4;

// One search of the table. Times are medians of its runs.
struct PaperTiming {
  int64_t points = 0;
  int method = 0;        // of kPaperMethods
  double client_ms = 0;  // from the call to its answer
  double server_ms = 0;  // from admission to answer, as the server has it
  double error_hz = 0;   // of the best point
  double minimum = 0;    // there, in the arithmetic of the search
};

// All searches of one server. `device` names it in files and pictures: no comma, no quote.
struct PaperTimings {
  std::string device;
  std::vector<PaperTiming> rows;

  // Of the search of `points` points; null if it was skipped.
  const PaperTiming* Find(int64_t points, int method) const;
};

// Each search is run until it has taken a second, 1 .. 9 times; `say(fraction, what)` is told
// before. Left out: those that would take more than `max_time` at the rate of the same method's
// last, and those that the server has no time for. DataLoss: in float64 the best point is more than
// half a step from the truth, or its value not in [0, 1e-6 Q]. Other statuses are the calls'.
absl::StatusOr<PaperTimings> MeasurePaperTable(
    client::Client* client, GlobalFlags flags, std::string device, absl::Duration max_time,
    const std::function<void(double fraction, absl::string_view what)>& say);

// A row a search, with the paper's own times; and back from CSV. InvalidArgument: not such a file.
Table ToTable(const PaperTimings& timings);
absl::StatusOr<PaperTimings> ParsePaperTimings(absl::string_view csv);

// For people: times by size and method, what each method found, and how many times faster than
// `others` the server is.
std::string ToText(const PaperTimings& timings, const std::vector<PaperTimings>& others);

// The figures that are drawn, in this order.
inline constexpr const char* kPaperFigures[] = {"figure1", "float32", "figure3", "figure4"};

// A figure as both of its files.
struct PaperFigure {
  std::string csv;
  std::string svg;
};
// Figures 1, 3 and 4 of the paper, and the functional around its minimum in float32 and float64
// (`float32`). 3 and 4 are drawn from `tables`, the others from searches here.
absl::StatusOr<std::vector<PaperFigure>> DrawPaperFigures(client::Client* client,
                                                          const GlobalFlags& flags,
                                                          const std::vector<PaperTimings>& tables);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_STUDIES_MINIMIZE_BENCH_H_
