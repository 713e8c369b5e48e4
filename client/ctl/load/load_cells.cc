#include "client/ctl/load/load_cells.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/ctl/common/terminal.h"
#include "kernels/base/status_macros.h"

namespace baseband::ctl {
namespace {

constexpr absl::Duration kLeastTry = absl::Seconds(3);
constexpr double kRounding = 1 + 1e-9;

}  // namespace

int64_t CellCriterion::LeastSlots() const {
  return static_cast<int64_t>(std::ceil(1 / (1 - in_time) / kRounding));
}

absl::Duration CellCriterion::TryDuration(const load::Pace& pace, absl::Duration most) const {
  const absl::Duration told = absl::Seconds(static_cast<double>(LeastSlots()) / pace.offered());
  return std::min(std::max(told, kLeastTry), most);
}

bool CellCriterion::IsMet(const load::Outcomes& slots) const {
  return slots.due() > 0 && slots.MissShare() <= (1 - in_time) * kRounding;
}

const load::LoadResult* CellsFound::Try(int cells) const {
  const auto found = std::find_if(tries.begin(), tries.end(), [cells](const auto& result) {
    return result.spec.pace.cells == cells;
  });
  return found == tries.end() ? nullptr : &*found;
}

load::WrongAnswers CellsReport::AllWrongAnswers() const {
  load::WrongAnswers all = wrong_before;
  for (const CellsFound& one : found) {
    for (const load::LoadResult& result : one.tries) {
      all.Add(result.totals.wrong_in_warm_up + result.totals.All().outcomes[load::Outcome::kWrong],
              result.totals.wrong_example);
    }
  }
  return all;
}

bool CellsReport::IsNegative() const {
  const bool none = std::all_of(found.begin(), found.end(),
                                [](const CellsFound& one) { return one.bracket.carried == 0; });
  return none || AllWrongAnswers().count > 0;
}

absl::Status SearchCells(load::LoadSpec spec, std::vector<load::Workload>* workloads,
                         const RunTry& run, CellsReport* report) {
  const CellCriterion& criterion = report->criterion;
  const absl::Duration most = spec.duration;
  int first = spec.pace.cells;
  for (const int deadline : criterion.deadlines) {
    for (load::Workload& workload : *workloads) workload.deadline = deadline * spec.pace.slot;
    CellsFound& found = report->found.emplace_back();
    found.deadline = deadline;
    const auto carries = [&](int cells) -> absl::StatusOr<bool> {
      spec.pace.cells = cells;
      spec.duration = criterion.TryDuration(spec.pace, most);
      ++spec.seed;
      const double slots = spec.pace.offered() * absl::ToDoubleSeconds(spec.duration);
      const double may_be_missed = (1 - criterion.in_time) * slots * kRounding;
      const auto go_on = [may_be_missed](const load::LoadProgress& progress) {
        return static_cast<double>(progress.so_far.missed()) <= may_be_missed;
      };
      const std::string what = absl::StrCat(Plural(cells, "cell"), ", ", Plural(deadline, "slot"));
      BASEBAND_ASSIGN_OR_RETURN(load::LoadResult result, run(spec, what, go_on));
      found.tries.push_back(std::move(result));
      const load::Totals& totals = found.tries.back().totals;
      if (criterion.IsMet(totals.All().outcomes)) return true;
      for (const auto& [cause, count] : totals.refusals) {
        if (!absl::StartsWith(cause, "UNAVAILABLE")) continue;
        return absl::UnavailableError(absl::StrCat(what, ": ", Plural(count, "call"),
                                                   " found no server, which tells nothing of",
                                                   " what one carries: ", cause));
      }
      return false;
    };
    BASEBAND_ASSIGN_OR_RETURN(found.bracket, load::FindCells(first, carries));
    first = std::max(first, found.bracket.carried);
  }
  return absl::OkStatus();
}

}  // namespace baseband::ctl
