// The paper's table: times of searches by size and method.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/common/text_table.h"
#include "client/ctl/studies/minimize_bench.h"
#include "client/ctl/studies/minimize_paper.h"
#include "kernels/base/steady_time.h"

namespace baseband::ctl {
namespace {

constexpr size_t kMostRuns = 9;
constexpr absl::Duration kEnough = absl::Seconds(1);

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// In float64 the answer is known: half a step, and what is left there.
absl::Status Check(const PaperTiming& timing, const v1::MinimizeAnswer& answer) {
  const double most = 1e-6 * PaperEnergy();
  const std::string search =
      absl::StrFormat("%s, %d points: ", kPaperMethods[timing.method].label, timing.points);
  if (!(std::abs(timing.error_hz) <= kPaperStepHz / 2)) {
    return absl::DataLossError(
        absl::StrFormat("%sthe minimum is %+.3f Hz from the truth, more than half a step of %g Hz",
                        search, timing.error_hz, kPaperStepHz));
  }
  for (const double value : {answer.value(), timing.minimum}) {
    if (!(value >= 0 && value <= most)) {
      return absl::DataLossError(
          absl::StrFormat("%sthe minimum %g is not in [0, %g]", search, value, most));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<PaperTiming> Measure(client::Client* client, const GlobalFlags& flags,
                                    v1::MinimizeRequest* request, int64_t points, int method) {
  request->set_method(kPaperMethods[method].method);
  request->set_precision(kPaperMethods[method].precision);
  request->clear_axes();
  *request->add_axes() = PaperAxis(points);
  PaperTiming timing;
  timing.points = points;
  timing.method = method;
  std::vector<double> client_ms;
  std::vector<double> server_ms;
  const absl::Time start = SteadyNow();
  do {
    const absl::Time begin = SteadyNow();
    const auto answer = client->Minimize(*request, flags.call());
    client_ms.push_back(absl::ToDoubleMilliseconds(SteadyNow() - begin));
    if (!answer.ok()) return answer.status();
    if (answer->top().empty()) return absl::DataLossError("no point of the paper's has a value");
    server_ms.push_back(1e3 * answer->elapsed_s());
    timing.error_hz = answer->top(0).coordinates(0) - kPaperFrequencyHz;
    timing.minimum = answer->top(0).value();
    if (request->precision() == v1::SEARCH_PRECISION_FLOAT64) {
      if (absl::Status status = Check(timing, *answer); !status.ok()) return status;
    }
  } while (client_ms.size() < kMostRuns && SteadyNow() - start < kEnough);
  timing.client_ms = Median(std::move(client_ms));
  timing.server_ms = Median(std::move(server_ms));
  return timing;
}

std::string Milliseconds(double ms) {
  return std::isfinite(ms) ? HumanDuration(absl::Milliseconds(ms)) : "";
}

// How many times faster than `other`, at the largest size that both have.
std::string SpeedUps(const PaperTimings& timings, const PaperTimings& other) {
  std::vector<TextTable::Column> columns = {{timings.device, false}};
  for (const PaperMethod& method : kPaperMethods) columns.push_back({method.label});
  TextTable table(columns);
  for (int mine = 0; mine < kNumPaperMethods; ++mine) {
    std::vector<std::string> row = {kPaperMethods[mine].label};
    for (int theirs = 0; theirs < kNumPaperMethods; ++theirs) {
      std::string cell = "-";
      for (const PaperRow& size : kPaperTable) {
        const PaperTiming* a = timings.Find(size.points, mine);
        const PaperTiming* b = other.Find(size.points, theirs);
        if (a != nullptr && b != nullptr) {
          cell = absl::StrFormat("%.3g (%s)", b->client_ms / a->client_ms,
                                 HumanCount(static_cast<double>(size.points)));
        }
      }
      row.push_back(cell);
    }
    table.Add(row);
  }
  return absl::StrCat("\nTimes faster than ", other.device,
                      ", at the most points that both have done:\n", table.ToText());
}

}  // namespace

const PaperTiming* PaperTimings::Find(int64_t points, int method) const {
  for (const PaperTiming& row : rows) {
    if (row.points == points && row.method == method) return &row;
  }
  return nullptr;
}

absl::StatusOr<PaperTimings> MeasurePaperTable(
    client::Client* client, GlobalFlags flags, std::string device, absl::Duration max_time,
    const std::function<void(double fraction, absl::string_view what)>& say) {
  constexpr double kSearches = kNumPaperMethods * std::size(kPaperTable);
  v1::MinimizeRequest request = PaperSearch();
  PaperTimings timings;
  timings.device = std::move(device);
  // The server refuses by its own estimate, which need not be near.
  flags.timeout = 10 * max_time;
  double done = 0;
  for (int method = 0; method < kNumPaperMethods; ++method) {
    double seconds_per_point = 0;
    for (const PaperRow& size : kPaperTable) {
      say(done++ / kSearches,
          absl::StrFormat("%s, %d points", kPaperMethods[method].label, size.points));
      if (seconds_per_point * static_cast<double>(size.points) > absl::ToDoubleSeconds(max_time)) {
        continue;
      }
      const auto timing = Measure(client, flags, &request, size.points, method);
      if (timing.ok()) {
        timings.rows.push_back(*timing);
        seconds_per_point = 1e-3 * timing->client_ms / static_cast<double>(size.points);
      } else if (!absl::IsDeadlineExceeded(timing.status()) &&
                 !absl::IsResourceExhausted(timing.status())) {
        return timing.status();
      }
    }
  }
  return timings;
}

Table ToTable(const PaperTimings& timings) {
  Table table;
  for (const PaperTiming& row : timings.rows) {
    const PaperRow* paper = std::begin(kPaperTable);
    while (paper->points != row.points) ++paper;
    table.Add({{"device", timings.device},
               {"points", absl::StrCat(row.points)},
               {"method", kPaperMethods[row.method].name},
               {"client_ms", row.client_ms},
               {"server_ms", row.server_ms},
               {"points_per_s", 1e3 * static_cast<double>(row.points) / row.client_ms},
               {"argmin_error_hz", row.error_hz},
               {"minimum", row.minimum},
               {"paper_gpu_ms", paper->gpu_ms},
               {"paper_cpu_ms", paper->cpu_ms}});
  }
  return table;
}

absl::StatusOr<PaperTimings> ParsePaperTimings(absl::string_view csv) {
  PaperTimings timings;
  int line_number = 0;
  for (const absl::string_view line : absl::StrSplit(csv, '\n', absl::SkipEmpty())) {
    if (++line_number == 1) continue;
    const std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
    PaperTiming row;
    row.method = -1;
    for (int method = 0; method < kNumPaperMethods; ++method) {
      if (cells.size() == 10 && cells[2] == kPaperMethods[method].name) row.method = method;
    }
    const bool known =
        row.method >= 0 && absl::SimpleAtoi(cells[1], &row.points) &&
        std::any_of(std::begin(kPaperTable), std::end(kPaperTable),
                    [&](const PaperRow& paper) { return paper.points == row.points; });
    if (!known || !absl::SimpleAtod(cells[3], &row.client_ms) ||
        !absl::SimpleAtod(cells[4], &row.server_ms) || !absl::SimpleAtod(cells[6], &row.error_hz) ||
        !absl::SimpleAtod(cells[7], &row.minimum)) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", line_number, " is not one of minimize-bench's table"));
    }
    timings.device = absl::StrReplaceAll(cells[0], {{"\"", ""}});
    timings.rows.push_back(row);
  }
  if (timings.rows.empty()) return absl::InvalidArgumentError("no line of a table in it");
  return timings;
}

std::string ToText(const PaperTimings& timings, const std::vector<PaperTimings>& others) {
  std::vector<TextTable::Column> columns = {{"points"}};
  for (const PaperMethod& method : kPaperMethods) columns.push_back({method.label});
  columns.push_back({"paper, GPU"});
  columns.push_back({"paper, CPU"});
  TextTable times(columns);
  for (const PaperRow& size : kPaperTable) {
    std::vector<std::string> row = {absl::StrCat(size.points)};
    for (int method = 0; method < kNumPaperMethods; ++method) {
      const PaperTiming* timing = timings.Find(size.points, method);
      row.push_back(timing == nullptr ? "-" : Milliseconds(timing->client_ms));
    }
    row.push_back(Milliseconds(size.gpu_ms));
    row.push_back(Milliseconds(size.cpu_ms));
    times.Add(row);
  }
  TextTable found(
      {{timings.device, false}, {"points/s, at best"}, {"argmin off, Hz"}, {"least value"}});
  for (int method = 0; method < kNumPaperMethods; ++method) {
    double rate = 0;
    double error = 0;
    double least = INFINITY;
    for (const PaperTiming& row : timings.rows) {
      if (row.method != method) continue;
      rate = std::max(rate, 1e3 * static_cast<double>(row.points) / row.client_ms);
      if (std::abs(row.error_hz) > std::abs(error)) error = row.error_hz;
      least = std::min(least, row.minimum);
    }
    if (rate > 0) {
      found.Add({kPaperMethods[method].label, HumanCount(rate), absl::StrFormat("%+.2f", error),
                 absl::StrFormat("%.2g", least)});
    }
  }
  std::string text = absl::StrCat("Times as the client sees them, ", timings.device, ":\n",
                                  times.ToText(), "\n", found.ToText());
  for (const PaperTimings& other : others) text += SpeedUps(timings, other);
  return text;
}

}  // namespace baseband::ctl
