#include "client/ctl/load/load_budget.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/load/load_report.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

using nlohmann::ordered_json;

constexpr size_t kSendLag = 0;  // among the stages

std::string SignedTime(double ns) {
  return (ns < 0 ? "-" : "") + HumanDuration(absl::Nanoseconds(std::abs(ns)));
}

std::string BudgetText(const load::LatencyBudget& budget) {
  return budget.time == absl::InfiniteDuration()
             ? ""
             : absl::StrCat(absl::FormatDuration(budget.time),
                            budget.is_slot ? " slot" : " deadline");
}

double ShareOfUntimed(const load::Tally& tally) {
  return tally.untimed() == 0
             ? 0
             : static_cast<double>(tally.untimed()) / static_cast<double>(tally.outcomes.due());
}

// "50 (12.5 %)".
std::string UntimedText(const load::Tally& tally) {
  return tally.untimed() == 0
             ? "0"
             : absl::StrFormat("%d (%.3g %%)", tally.untimed(), 100 * ShareOfUntimed(tally));
}

double Seconds(double ns, bool is_known) { return is_known ? 1e-9 * ns : NAN; }

}  // namespace

load::LatencyBudget BudgetOfAll(const load::LoadResult& result) {
  const auto& budgets = result.budgets;
  const bool same = std::all_of(budgets.begin(), budgets.end(), [&](const auto& budget) {
    return budget.time == budgets[0].time && budget.is_slot == budgets[0].is_slot;
  });
  return same && !budgets.empty() ? budgets[0] : load::LatencyBudget();
}

absl::optional<double> LeftOf(const load::LatencyBudget& budget, const load::Tally& tally,
                              double quantile) {
  if (budget.time == absl::InfiniteDuration() || tally.latency.count() == 0) {
    return absl::nullopt;
  }
  return absl::ToDoubleNanoseconds(budget.time) -
         static_cast<double>(tally.latency.Quantile(quantile));
}

BudgetTable ToBudgetTable(const load::LoadResult& result) {
  BudgetTable table;
  table.heads = {"", ""};
  table.heads.insert(table.heads.end(), std::begin(load::kStageNames), std::end(load::kStageNames));
  table.heads.insert(table.heads.end(), {"budget", "left", "untimed"});
  const bool is_closed = result.spec.pace.kind == load::Pace::Kind::kClosed;
  const auto add = [&](const std::string& name, const load::Tally& tally,
                       const load::LatencyBudget& budget) {
    for (const auto& [label, quantile] : kBudgetQuantiles) {
      const bool is_first = quantile == 0.5;
      std::vector<std::string> row = {is_first ? name : "", label};
      for (size_t i = 0; i < load::kStages; ++i) {
        row.push_back(is_closed && i == kSendLag ? "" : QuantileText(tally.stages[i], quantile));
      }
      const absl::optional<double> left = LeftOf(budget, tally, quantile);
      row.push_back(is_first ? BudgetText(budget) : "");
      row.push_back(left.has_value() ? SignedTime(*left) : "");
      row.push_back(is_first ? UntimedText(tally) : "");
      table.rows.push_back(std::move(row));
    }
  };
  if (!result.totals.All().has_stages()) return table;
  for (size_t i = 0; i < result.workloads.size(); ++i) {
    if (result.totals.tallies[i].outcomes.due() > 0) {
      add(result.workloads[i], result.totals.tallies[i], result.budgets[i]);
    }
  }
  if (result.workloads.size() > 1) {
    add("all", result.totals.All(), BudgetOfAll(result));
  }
  return table;
}

ordered_json StagesJson(const load::Tally& tally) {
  ordered_json json;
  for (size_t i = 0; i < load::kStages; ++i) {
    const load::Histogram& stage = tally.stages[i];
    ordered_json& row = json[load::kStageNames[i]];
    row["mean_s"] = Seconds(stage.mean(), stage.count() > 0);
    for (const auto& [label, quantile] : kBudgetQuantiles) {
      row[absl::StrCat(label, "_s")] =
          Seconds(static_cast<double>(stage.Quantile(quantile)), stage.count() > 0);
    }
  }
  return json;
}

ordered_json UntimedJson(const load::Tally& tally) {
  return {{"calls", tally.untimed()}, {"share", ShareOfUntimed(tally)}};
}

ordered_json BudgetJson(const load::LatencyBudget& budget, const load::Tally& tally) {
  if (budget.time == absl::InfiniteDuration()) {
    return nullptr;
  }
  ordered_json json = {{"time_s", absl::ToDoubleSeconds(budget.time)}, {"is_slot", budget.is_slot}};
  for (const auto& [label, quantile] : kBudgetQuantiles) {
    const absl::optional<double> left = LeftOf(budget, tally, quantile);
    json[absl::StrCat("left_", label, "_s")] = Seconds(left.value_or(0), left.has_value());
  }
  return json;
}

}  // namespace baseband::ctl
