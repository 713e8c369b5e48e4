// The report of `load` for machines.
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "absl/types/variant.h"
#include "client/ctl/common/table.h"
#include "client/ctl/load/load_budget.h"
#include "client/ctl/load/load_report.h"
#include "common/metric_names.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

using load::LoadResult;
using load::Outcome;
using nlohmann::ordered_json;

// Seconds; not a number, which is null in JSON and empty in CSV, if nothing was recorded.
double Quantile(const load::Histogram& times, double quantile) {
  return times.count() == 0 ? NAN : 1e-9 * static_cast<double>(times.Quantile(quantile));
}
double Mean(const load::Histogram& times) { return times.count() == 0 ? NAN : 1e-9 * times.mean(); }

ordered_json BlocksJson(const load::Blocks& blocks) {
  if (blocks.count == 0) return nullptr;
  return {{"count", blocks.count}, {"failed", blocks.failed}, {"bler", blocks.Bler()}};
}

ordered_json IterationsJson(const load::Iterations& iterations) {
  if (iterations.count() == 0) return nullptr;
  return {{"code_blocks", iterations.count()},
          {"mean", iterations.mean()},
          {"p99", iterations.Quantile(0.99)},
          {"max", iterations.Quantile(1)}};
}

// What all have that have one of that name; empty where they differ.
Table::Cell CommonSetting(const std::vector<load::Settings>& all, const std::string& name) {
  absl::optional<Table::Cell> common;
  for (const load::Settings& settings : all) {
    for (const auto& [other, value] : settings) {
      if (other != name) continue;
      if (common.has_value() && *common != value) return "";
      common = value;
    }
  }
  return common.value_or("");
}

ordered_json ResultJson(const LoadResult& result) {
  ordered_json json;
  json["target"] = result.spec.client.target;
  json["pace"] = result.spec.pace.ToText();
  json["connections"] = result.spec.client.connections;
  json["transport"] = TransportOf(result.spec);
  json["shared_memory"] = result.spec.arena != nullptr || result.spec.rings.has_value();
  json["in_place"] = result.spec.in_place;
  json["threads"] = result.spec.workers;
  json["begin"] = absl::FormatTime(absl::RFC3339_sec, result.begin, absl::UTCTimeZone());
  json["seconds"] = absl::ToDoubleSeconds(result.measured);
  json["offered_per_s"] = result.Offered();
  json["throughput_per_s"] = result.Throughput();
  json["goodput_per_s"] = result.Goodput();
  json["info_bits_per_s"] = result.InfoBitRate();
  json["message_bytes_per_s"] = result.MessageByteRate();
  const load::Tally all = result.totals.All();
  json["shared_memory_calls"] = all.by_shared_memory;
  json["blocks"] = BlocksJson(all.blocks);
  json["iterations"] = IterationsJson(all.iterations);
  json["outcomes"] = ToJson(all.outcomes);
  json["latency"] = ToJson(all.latency);
  for (size_t i = 0; i < result.workloads.size(); ++i) {
    ordered_json workload;
    workload["name"] = result.workloads[i];
    const load::Tally& tally = result.totals.tallies[i];
    workload["settings"] = ToJson(result.settings[i]);
    workload["shared_memory_calls"] = tally.by_shared_memory;
    workload["blocks"] = BlocksJson(tally.blocks);
    workload["iterations"] = IterationsJson(tally.iterations);
    workload["outcomes"] = ToJson(tally.outcomes);
    workload["latency"] = ToJson(tally.latency);
    workload["stages"] = StagesJson(tally);
    workload["untimed"] = UntimedJson(tally);
    workload["budget"] = BudgetJson(result.budgets[i], tally);
    json["workloads"].push_back(std::move(workload));
  }
  json["refusals"] = result.totals.refusals;
  json["stages"] = StagesJson(all);
  json["untimed"] = UntimedJson(all);
  json["budget"] = BudgetJson(BudgetOfAll(result), all);
  json["client"] = {{"cpu_s", result.client_cpu_seconds},
                    {"cpu_s_per_gbit", result.ClientCpuPerGbit()},
                    {"busiest_thread", result.client_busy},
                    {"send_lag_p99_s", Quantile(result.totals.send_lag, 0.99)},
                    {"late_sends", result.totals.late_sends},
                    {"cap_hits", result.totals.cap_hits}};
  if (!result.server.empty()) {
    json["server"] = {
        {"seconds", absl::ToDoubleSeconds(result.server_measured)},
        {"cpu_s", load::Sum(result.server, metric::kProcessCpu.name)},
        {"cpu_s_per_gbit", result.ServerCpuPerGbit()},
    };
    json["server"]["metrics"] = result.server;
  }
  for (const load::Interval& interval : result.totals.series) {
    ordered_json row = ToJson(interval.outcomes);
    row["due"] = interval.due;
    row["blocks"] = BlocksJson(interval.blocks);
    row["p50_s"] = Quantile(interval.latency, 0.5);
    row["p99_s"] = Quantile(interval.latency, 0.99);
    row["max_s"] = Quantile(interval.latency, 1);
    json["series"].push_back(std::move(row));
  }
  json["series_interval_s"] = absl::ToDoubleSeconds(result.interval);
  json["warnings"] = result.Warnings();
  return json;
}

void AddBudget(const load::LatencyBudget& budget, const load::Tally& tally, Table::Row* row) {
  for (size_t i = 0; i < load::kStages; ++i) {
    for (const auto& [name, quantile] : kBudgetQuantiles) {
      row->emplace_back(absl::StrCat(load::kStageNames[i], "_", name, "_ms"),
                        1e3 * Quantile(tally.stages[i], quantile));
    }
  }
  row->emplace_back("untimed", static_cast<double>(tally.untimed()));
  const bool is_known = budget.time != absl::InfiniteDuration();
  row->emplace_back("budget_ms", is_known ? absl::ToDoubleMilliseconds(budget.time) : double{NAN});
  for (const auto& [name, quantile] : kBudgetQuantiles) {
    row->emplace_back(absl::StrCat("left_", name, "_ms"),
                      1e-6 * LeftOf(budget, tally, quantile).value_or(NAN));
  }
}

// Of workload number `index`; of all without one.
Table::Row CsvRow(const LoadResult& result, absl::optional<size_t> index = absl::nullopt) {
  const bool all = !index.has_value();
  const load::Tally tally = all ? result.totals.All() : result.totals.tallies[*index];
  const load::LatencyBudget budget = all ? BudgetOfAll(result) : result.budgets[*index];
  const double seconds = absl::ToDoubleSeconds(result.measured);
  Table::Row row = {
      {"pace", result.spec.pace.ToText()},
      {"workload", all ? "all" : result.workloads[*index]},
      {"seconds", seconds},
      {"offered_per_s",
       all ? result.Offered() : static_cast<double>(tally.outcomes.due()) / seconds},
      {"good_per_s",
       all ? result.Goodput() : static_cast<double>(tally.outcomes[Outcome::kGood]) / seconds}};
  for (int i = 0; i < load::kOutcomes; ++i) {
    row.emplace_back(load::kOutcomeNames[i],
                     static_cast<double>(tally.outcomes[static_cast<Outcome>(i)]));
  }
  row.emplace_back("blocks", static_cast<double>(tally.blocks.count));
  row.emplace_back("blocks_failed", static_cast<double>(tally.blocks.failed));
  const load::Iterations& iterations = tally.iterations;
  const double if_decoded = iterations.count() > 0 ? 1 : NAN;
  row.emplace_back("iterations_mean", if_decoded * iterations.mean());
  row.emplace_back("iterations_p99", if_decoded * iterations.Quantile(0.99));
  row.emplace_back("iterations_max", if_decoded * iterations.Quantile(1));
  row.emplace_back("mean_ms", 1e3 * Mean(tally.latency));
  for (const auto& [name, quantile] : ReportedQuantiles()) {
    row.emplace_back(absl::StrCat(name, "_ms"), 1e3 * Quantile(tally.latency, quantile));
  }
  row.emplace_back("max_ms", 1e3 * Quantile(tally.latency, 1));
  AddBudget(budget, tally, &row);
  row.emplace_back("transport", TransportOf(result.spec));
  row.emplace_back("shared_memory_calls", static_cast<double>(tally.by_shared_memory));
  row.emplace_back("in_place", result.spec.in_place ? 1.0 : 0.0);
  for (const std::string& name : SettingNames(result)) {
    row.emplace_back(name, all ? CommonSetting(result.settings, name)
                               : CommonSetting({result.settings[*index]}, name));
  }
  return row;
}

}  // namespace

ordered_json ToJson(const load::Histogram& latency) {
  ordered_json json;
  json["count"] = latency.count();
  json["min_s"] = latency.count() == 0 ? NAN : 1e-9 * static_cast<double>(latency.min());
  json["mean_s"] = Mean(latency);
  for (const auto& [name, quantile] : ReportedQuantiles()) {
    json[absl::StrCat(name, "_s")] = Quantile(latency, quantile);
  }
  json["max_s"] = Quantile(latency, 1);
  return json;
}

nlohmann::ordered_json ToJson(const load::Settings& settings) {
  ordered_json json = ordered_json::object();
  for (const auto& [name, value] : settings) {
    absl::visit([&json, name = name](const auto& of_a_kind) { json[name] = of_a_kind; }, value);
  }
  return json;
}

ordered_json ToJson(const load::Outcomes& outcomes) {
  ordered_json json;
  json["due"] = outcomes.due();
  for (int i = 0; i < load::kOutcomes; ++i) {
    json[load::kOutcomeNames[i]] = outcomes[static_cast<Outcome>(i)];
  }
  return json;
}

ordered_json ToJson(const LoadReport& report) {
  ordered_json json = ResultJson(report.result);
  json["server_version"] = report.server;
  const load::WrongAnswers wrong = report.AllWrongAnswers();
  json["wrong_answers"] = {{"count", wrong.count},
                           {"before", report.wrong_before.count},
                           {"warm_up", report.result.totals.wrong_in_warm_up},
                           {"measured", report.result.totals.All().outcomes[Outcome::kWrong]},
                           {"example", wrong.example}};
  json["limits"] = ordered_json::array();
  for (const load::Threshold& limit : report.limits) {
    json["limits"].push_back({{"limit", limit.text},
                              {"value", load::ValueOf(limit, report.result).value_or(NAN)},
                              {"broken", load::IsExceeded(limit, report.result)}});
  }
  if (!report.probes.empty()) {
    const double low = report.NothingIsBorne() ? NAN : report.knee.low;  // null
    json["knee_per_s"] = low;
    json["knee"] = {{"low_per_s", low},
                    {"high_per_s", report.knee.high},
                    {"loads", report.knee.loads},
                    {"is_sure", report.knee.is_sure},
                    {"not_held_per_s", ordered_json::array()}};
    for (const KneeProbe& measurement : report.not_held) {
      json["knee"]["not_held_per_s"].push_back(measurement.result.spec.pace.rate);
    }
    for (const KneeProbe& probe : report.probes) {
      const load::Tally all = probe.result.totals.All();
      json["probes"].push_back({{"rate", probe.result.spec.pace.rate},
                                {"goodput_per_s", probe.result.Goodput()},
                                {"borne", probe.borne()},
                                {"latency", ToJson(all.latency)},
                                {"outcomes", ToJson(all.outcomes)}});
    }
  }
  return json;
}

std::string ToCsv(const LoadReport& report) {
  Table table;
  const LoadResult& result = report.result;
  for (const KneeProbe& probe : report.probes) table.Add(CsvRow(probe.result));
  if (report.probes.empty()) {
    for (size_t i = 0; i < result.workloads.size(); ++i) table.Add(CsvRow(result, i));
    table.Add(CsvRow(result));
  }
  return table.ToCsv();
}

std::string ToJsonLine(const load::LoadProgress& progress) {
  ordered_json json;
  json["elapsed_s"] = absl::ToDoubleSeconds(progress.elapsed);
  json["covered_s"] = absl::ToDoubleSeconds(progress.covered);
  for (int i = 0; i < load::kOutcomes; ++i) {
    json[load::kOutcomeNames[i]] = progress.last.outcomes[static_cast<Outcome>(i)];
  }
  json["due"] = progress.last.due;
  json["in_flight"] = progress.in_flight;
  json["blocks"] = BlocksJson(progress.last.blocks);
  json["p50_s"] = Quantile(progress.last.latency, 0.5);
  json["p99_s"] = Quantile(progress.last.latency, 0.99);
  return json.dump();
}

}  // namespace baseband::ctl
