// Where the time of a call of `load` went, stage by stage, and what was left of its budget.
#ifndef BASEBAND_CLIENT_CTL_LOAD_LOAD_BUDGET_H_
#define BASEBAND_CLIENT_CTL_LOAD_LOAD_BUDGET_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "client/load/run.h"
#include "nlohmann/json_fwd.hpp"

namespace baseband::ctl {

// What of a stage and of what is left is told, by its name in JSON and CSV.
inline constexpr std::pair<const char*, double> kBudgetQuantiles[] = {{"p50", 0.5}, {"p99", 0.99}};

// The median and the 99th percentile over calls, of each workload and of all: of each stage by
// itself, so that those of a line do not add up. Stages are those of answered calls; "untimed" are
// the others, which look good in no quantile: how many, and which part of those due.
struct BudgetTable {
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows;  // as many cells as heads
};
// Without rows if no answer had a Timing. Where nothing is known of a column its cells are empty.
BudgetTable ToBudgetTable(const load::LoadResult& result);

// Of all workloads together: theirs if they have the same.
load::LatencyBudget BudgetOfAll(const load::LoadResult& result);

// Nanoseconds of the budget that a share `quantile` of the calls left at least; negative: they were
// over it. Calls that expired are among them, with the time they were waited for. Empty without a
// budget or a latency.
absl::optional<double> LeftOf(const load::LatencyBudget& budget, const load::Tally& tally,
                              double quantile);

// {"send_lag": {"mean_s": .., "p50_s": .., "p99_s": ..}, ..}
nlohmann::ordered_json StagesJson(const load::Tally& tally);
// {"calls": .., "share": ..}: those due that the stages do not have.
nlohmann::ordered_json UntimedJson(const load::Tally& tally);
// {"time_s": .., "is_slot": .., "left_p50_s": .., "left_p99_s": ..}; null without a budget.
nlohmann::ordered_json BudgetJson(const load::LatencyBudget& budget, const load::Tally& tally);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LOAD_LOAD_BUDGET_H_
