// `load --find-cells`: how many cells a server carries, by how soon their slots must be answered.
#ifndef BASEBAND_CLIENT_CTL_LOAD_LOAD_CELLS_H_
#define BASEBAND_CLIENT_CTL_LOAD_LOAD_CELLS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/load/arrivals.h"
#include "client/load/cells.h"
#include "client/load/confirm.h"
#include "client/load/run.h"
#include "client/load/totals.h"
#include "nlohmann/json_fwd.hpp"

namespace baseband::ctl {

// Cells are carried if of all their slots, each of which is a call, the share `in_time` is answered
// rightly by the deadline.
struct CellCriterion {
  std::vector<int> deadlines = {1, 3, 10};  // in slots; looked for one by one
  double in_time = 0.99999;                 // in (0, 1)

  // The fewest slots that tell the share: one of so many may be missed.
  int64_t LeastSlots() const;
  // Until LeastSlots() are due, 3 s at least, but `most` at most.
  absl::Duration TryDuration(const load::Pace& pace, absl::Duration most) const;
  // Not if no slot was due.
  bool IsMet(const load::Outcomes& slots) const;
};

// The search with one deadline.
struct CellsFound {
  int deadline = 0;  // in slots
  load::CellBracket bracket;
  std::vector<load::LoadResult> tries;  // in their order

  // That of so many cells; null: there was none.
  const load::LoadResult* Try(int cells) const;
};

struct CellsReport {
  std::string server;  // version and devices
  CellCriterion criterion;
  std::vector<CellsFound> found;
  load::WrongAnswers wrong_before;  // the tries

  load::WrongAnswers AllWrongAnswers() const;
  // No cell is carried, whatever the deadline; or an answer is wrong.
  bool IsNegative() const;
};

// Runs `spec` until its end, or until `go_on` is false; `what` says to people which load it is.
using RunTry = std::function<absl::StatusOr<load::LoadResult>(
    const load::LoadSpec& spec, const std::string& what, const load::OnLoadProgress& go_on)>;

// Looks for each of the report's deadlines, from spec.pace.cells on, or from as many as the
// deadline before it let be carried. A try takes spec.duration at most, and ends once more slots
// are missed than may be. `run` sends `workloads`, whose deadlines are set here; errors are its.
absl::Status SearchCells(load::LoadSpec spec, std::vector<load::Workload>* workloads,
                         const RunTry& run, CellsReport* report);

// Of a report with a search.
std::string ToText(const CellsReport& report);
nlohmann::ordered_json ToJson(const CellsReport& report);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LOAD_LOAD_CELLS_H_
