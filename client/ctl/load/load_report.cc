#include "client/ctl/load/load_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/variant.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/common/text_table.h"
#include "client/ctl/load/load_budget.h"
#include "common/metric_names.h"

namespace baseband::ctl {
namespace {

using load::LoadResult;
using load::Outcome;

std::string Nanoseconds(double ns) { return HumanDuration(absl::Nanoseconds(ns)); }

// Without more digits than a search has.
std::string RateText(double rate) { return absl::StrFormat(rate < 10 ? "%.2g" : "%.0f", rate); }

// The lines of a table under a title, indented by two.
std::string Section(const std::string& title, const TextTable& table) {
  std::string text = absl::StrCat("\n", title, "\n");
  text += table.ToText();
  return text;
}

std::string LatencyText(const LoadResult& result) {
  std::vector<TextTable::Column> columns = {{"", false}, {"calls"}, {"mean"}};
  for (const auto& [name, quantile] : ReportedQuantiles()) columns.push_back({name});
  columns.push_back({"max"});
  columns.push_back({"missed"});
  const bool decodes = result.totals.All().blocks.count > 0;
  if (decodes) columns.insert(columns.end(), {{"BLER"}, {"iterations"}});
  TextTable table(columns);
  const auto add = [&](const std::string& name, const load::Tally& tally) {
    std::vector<std::string> row = {name, absl::StrCat(tally.outcomes.due()),
                                    MeanText(tally.latency)};
    for (const auto& [label, quantile] : ReportedQuantiles()) {
      row.push_back(QuantileText(tally.latency, quantile));
    }
    row.push_back(QuantileText(tally.latency, 1));
    row.push_back(MissedText(tally.outcomes));
    if (decodes) {
      row.push_back(BlerText(tally.blocks));
      row.push_back(MeanText(tally.iterations));
    }
    table.Add(std::move(row));
  };
  for (size_t i = 0; i < result.workloads.size(); ++i) {
    add(result.workloads[i], result.totals.tallies[i]);
  }
  if (result.workloads.size() > 1) add("all", result.totals.All());
  const bool expired = result.totals.All().outcomes[Outcome::kExpired] > 0;
  return Section(
      absl::StrCat(result.spec.pace.kind == load::Pace::Kind::kClosed
                       ? "latency, from sending"
                       : "latency, from the intended time of sending",
                   expired ? "; of those that expired, how long they were waited for" : ""),
      table);
}

std::string StagesText(const LoadResult& result) {
  const BudgetTable budget = ToBudgetTable(result);
  if (budget.rows.empty()) return "";
  std::vector<TextTable::Column> columns;
  for (const std::string& head : budget.heads) columns.push_back({head, !head.empty()});
  TextTable table(columns);
  for (const std::vector<std::string>& row : budget.rows) table.Add(row);
  return Section(
      "latency budget: where the time of answered calls went, by their Timing; untimed: the others",
      table);
}

std::string SettingsText(const LoadResult& result) {
  if (SettingNames(result).empty()) return "";
  TextTable table({{"", false}, {"", false}});
  for (size_t i = 0; i < result.workloads.size(); ++i) {
    if (!result.settings[i].empty()) table.Add({result.workloads[i], ToText(result.settings[i])});
  }
  return Section("asked for", table);
}

std::string KneeText(const LoadReport& report) {
  TextTable table({{"calls/s"}, {"goodput"}, {"p50"}, {"p99"}, {"missed"}, {"", false}});
  for (const KneeProbe& probe : report.probes) {
    const load::Tally all = probe.result.totals.All();
    const std::string verdict = probe.borne() ? "borne" : "too much: " + probe.Verdict();
    table.Add({RateText(probe.result.spec.pace.rate),
               absl::StrFormat("%.0f", probe.result.Goodput()), QuantileText(all.latency, 0.5),
               QuantileText(all.latency, 0.99), MissedText(all.outcomes), verdict});
  }
  return absl::StrFormat("%s\n%s; what follows was measured %s\n\n", table.ToText(),
                         KneeSentence(report),
                         report.NothingIsBorne() ? "by the last one" : "there");
}

std::string BlocksText(const load::Blocks& blocks) {
  return absl::StrFormat("%.3g (%d of %d blocks)", blocks.Bler(), blocks.failed, blocks.count);
}

}  // namespace

std::string QuantileText(const load::Histogram& times, double quantile) {
  return times.count() == 0 ? "-" : Nanoseconds(static_cast<double>(times.Quantile(quantile)));
}

std::string MeanText(const load::Histogram& times) {
  return times.count() == 0 ? "-" : Nanoseconds(times.mean());
}

std::string MeanText(const load::Iterations& iterations) {
  return iterations.count() == 0 ? "" : absl::StrFormat("%.2f", iterations.mean());
}

std::string MissedText(const load::Outcomes& outcomes) {
  return outcomes.due() == 0 ? "-" : absl::StrFormat("%.3g %%", 100 * outcomes.MissShare());
}

std::string BlerText(const load::Blocks& blocks) {
  return blocks.count == 0 ? "" : absl::StrFormat("%.3g", blocks.Bler());
}

const std::vector<std::pair<const char*, double>>& ReportedQuantiles() {
  static const auto* const quantiles = new std::vector<std::pair<const char*, double>>{
      {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}};
  return *quantiles;
}

std::vector<load::Threshold> LoadReport::BrokenLimits() const {
  std::vector<load::Threshold> broken;
  for (const load::Threshold& limit : limits) {
    if (load::IsExceeded(limit, result)) broken.push_back(limit);
  }
  return broken;
}

std::string KneeSentence(const LoadReport& report) {
  const load::Knee& knee = report.knee;
  std::string text = "no rate is borne";
  if (knee.low > 0) {
    text = absl::StrCat("highest rate borne: ", RateText(knee.low), " calls/s");
  }
  if (knee.high > 0) {
    absl::StrAppendFormat(&text, knee.low > 0 ? " (%s are too much)" : ", not even %s calls/s",
                          RateText(knee.high));
  }
  absl::StrAppend(&text, ", by ", Plural(knee.loads, "load"));
  if (!knee.is_sure) absl::StrAppend(&text, ", which do not agree");
  if (!report.not_held.empty()) {
    absl::StrAppend(&text, ", and ",
                    Plural(static_cast<int>(report.not_held.size()), "whole measurement"));
  }
  return text;
}

bool LoadReport::NothingIsServed() const {
  return result.totals.All().outcomes[Outcome::kGood] == 0;
}

bool LoadReport::MostAreUnserved() const {
  const load::Outcomes outcomes = result.totals.All().outcomes;
  return 2 * outcomes.right() < outcomes.due();
}

load::WrongAnswers LoadReport::AllWrongAnswers() const {
  load::WrongAnswers all = wrong_before;
  const auto add = [&all](const LoadResult& one) {
    all.Add(one.totals.wrong_in_warm_up + one.totals.All().outcomes[Outcome::kWrong],
            one.totals.wrong_example);
  };
  for (const KneeProbe& probe : probes) add(probe.result);
  for (const KneeProbe& measurement : not_held) add(measurement.result);
  if (!NothingIsBorne()) add(result);  // else it is one of them
  return all;
}

bool LoadReport::IsNegative() const {
  return AllWrongAnswers().count > 0 || !BrokenLimits().empty() || NothingIsBorne() ||
         NothingIsServed() || MostAreUnserved();
}

std::string TransportOf(const load::LoadSpec& spec) {
  if (spec.rings.has_value()) return "ring";
  return spec.stream ? "stream" : "unary";
}

std::string ConnectionsText(const LoadResult& result) {
  const load::LoadSpec& spec = result.spec;
  const std::string lines = spec.rings.has_value() ? Plural(spec.workers, "ring")
                                                   : Plural(spec.client.connections,
                                                            spec.stream ? "stream" : "connection");
  return absl::StrCat(lines, " to ", spec.client.target, ", ", PayloadsText(result));
}

std::string PayloadsText(const LoadResult& result) {
  const load::Tally all = result.totals.All();
  if (all.by_shared_memory == 0) return "payloads in the messages";
  const int64_t others = all.outcomes.due() - all.by_shared_memory;
  return absl::StrCat(
      "payloads",
      others == 0 ? ""
                  : absl::StrFormat(" of %d of %d calls", all.by_shared_memory, all.outcomes.due()),
      result.spec.in_place ? " in place in shared memory" : " by shared memory");
}

std::string ToText(const load::Settings& settings) {
  return absl::StrJoin(settings, ", ", [](std::string* out, const auto& setting) {
    absl::StrAppend(out, setting.first, " ");
    absl::visit([out](const auto& value) { absl::StrAppend(out, value); }, setting.second);
  });
}

std::vector<std::string> SettingNames(const LoadResult& result) {
  std::vector<std::string> names;
  for (const load::Settings& settings : result.settings) {
    for (const auto& [name, value] : settings) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::vector<std::string> Remarks(const LoadReport& report) {
  std::vector<std::string> remarks;
  for (const load::Threshold& limit : report.BrokenLimits()) {
    remarks.push_back("over the limit " + load::ToText(limit, report.result));
  }
  if (report.NothingIsServed()) {
    remarks.emplace_back("no call was answered rightly and in time");
  } else if (report.MostAreUnserved()) {
    const load::Outcomes outcomes = report.result.totals.All().outcomes;
    remarks.push_back(absl::StrFormat("of %d calls that were due only %d were answered rightly",
                                      outcomes.due(), outcomes.right()));
  }
  for (const KneeProbe& measurement : report.not_held) {
    const LoadResult& result = measurement.result;
    remarks.push_back(absl::StrFormat(
        "%s calls/s were too much for a measurement of %s, though short loads bore as many: %s;"
        " %.0f of %.0f calls/s answered",
        RateText(result.spec.pace.rate), absl::FormatDuration(result.measured),
        measurement.Verdict(), result.Throughput(), result.Offered()));
  }
  if (const load::WrongAnswers wrong = report.AllWrongAnswers(); wrong.count > 0) {
    remarks.push_back(absl::StrCat(Plural(static_cast<int>(wrong.count), "wrong answer"), ", ",
                                   report.wrong_before.count, " of them before the load and ",
                                   report.result.totals.wrong_in_warm_up,
                                   " in its warm-up, such as: ", wrong.example));
  }
  for (const auto& [cause, count] : report.result.totals.refusals) {
    remarks.push_back(absl::StrCat(count, " refused: ", cause));
  }
  for (const std::string& warning : report.result.Warnings()) remarks.push_back(warning);
  return remarks;
}

std::vector<std::pair<std::string, std::string>> ServerFigures(const LoadResult& result) {
  std::vector<std::pair<std::string, std::string>> figures;
  if (result.server.empty()) return figures;
  const double seconds = absl::ToDoubleSeconds(result.server_measured);
  const auto sum = [&](const metric::Metric& metric, absl::string_view part = "") {
    return load::Sum(result.server, absl::StrCat(metric.name, part));
  };
  figures.emplace_back(
      "CPU", absl::StrFormat("%.2f cores, %.3g s a Gbit of messages",
                             sum(metric::kProcessCpu) / seconds, result.ServerCpuPerGbit()));
  figures.emplace_back("lanes busy", absl::StrFormat("%.2f", sum(metric::kLaneBusy) / seconds));
  const double batches = sum(metric::kBatches);
  if (batches > 0) {
    figures.emplace_back("batches", absl::StrFormat("%.0f/s of %.2f requests", batches / seconds,
                                                    sum(metric::kBatchRequests, "_sum") / batches));
  }
  figures.emplace_back("not served", absl::StrFormat("%.0f", sum(metric::kUnserved)));
  figures.emplace_back("memory", HumanBytes(sum(metric::kProcessResident)));
  return figures;
}

std::string ToText(const LoadReport& report) {
  const LoadResult& result = report.result;
  std::string text = report.probes.empty() ? "" : KneeText(report);
  absl::StrAppend(&text, result.spec.pace.ToText(), "; ", ConnectionsText(result), "; ",
                  absl::FormatDuration(result.measured), " after ",
                  absl::FormatDuration(result.spec.warm_up), " of warm-up\n\n");
  absl::StrAppendFormat(&text, "offered     %.1f calls/s\nthroughput  %.1f calls/s\n",
                        result.Offered(), result.Throughput());
  absl::StrAppendFormat(&text, "goodput     %.1f calls/s%s\n", result.Goodput(),
                        result.InfoBitRate() > 0
                            ? absl::StrCat(", ", HumanRate(result.InfoBitRate()), " of information")
                            : "");
  if (const load::Blocks blocks = result.totals.All().blocks; blocks.count > 0) {
    absl::StrAppend(&text, "BLER        ", BlocksText(blocks), "\n");
  }
  if (const load::Iterations iterations = result.totals.All().iterations; iterations.count() > 0) {
    absl::StrAppendFormat(&text, "iterations  %s a code block, p99 %d, at most %d\n",
                          MeanText(iterations), iterations.Quantile(0.99), iterations.Quantile(1));
  }
  const load::Outcomes outcomes = result.totals.All().outcomes;
  absl::StrAppend(&text, "outcomes    ");
  for (int i = 0; i < load::kOutcomes; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", outcomes[static_cast<Outcome>(i)], " ",
                    load::kOutcomeNames[i]);
  }
  absl::StrAppendFormat(&text, "\nclient      %.2f cores, %.3g s a Gbit of messages",
                        result.client_cpu_seconds / absl::ToDoubleSeconds(result.measured),
                        result.ClientCpuPerGbit());
  if (result.totals.send_lag.count() > 0) {
    absl::StrAppend(&text, "; sends behind their time: p99 ",
                    QuantileText(result.totals.send_lag, 0.99), ", ", result.totals.late_sends,
                    " by over 1 ms");
  }
  absl::StrAppend(&text, "\n", SettingsText(result), LatencyText(result), StagesText(result));
  const auto figures = ServerFigures(result);
  if (!figures.empty()) {
    absl::StrAppend(&text, "\nthe server's metrics\n");
    for (const auto& [name, value] : figures) {
      absl::StrAppendFormat(&text, "%-16s  %s\n", name, value);
    }
  }
  const std::vector<std::string> remarks = Remarks(report);
  if (!remarks.empty()) absl::StrAppend(&text, "\n");
  for (const std::string& remark : remarks) {
    absl::StrAppend(&text, Bad("! "), Wrap(remark, 98, 2), "\n");
  }
  return text;
}

std::string ToText(const load::LoadProgress& progress) {
  if (progress.covered <= absl::ZeroDuration()) return "warming up";
  const double seconds = absl::ToDoubleSeconds(progress.covered);
  const load::Outcomes& outcomes = progress.last.outcomes;
  return absl::StrFormat(
      "%.0f s  %.0f/s good of %.0f/s due  p50 %s  p99 %s  %d late or expired, %d refused, %d "
      "wrong%s",
      absl::ToDoubleSeconds(progress.elapsed),
      static_cast<double>(outcomes[Outcome::kGood]) / seconds,
      static_cast<double>(progress.last.due) / seconds, QuantileText(progress.last.latency, 0.5),
      QuantileText(progress.last.latency, 0.99),
      outcomes[Outcome::kLate] + outcomes[Outcome::kExpired], outcomes[Outcome::kRefused],
      outcomes[Outcome::kWrong],
      progress.last.blocks.failed == 0 ? "" : "  BLER " + BlerText(progress.last.blocks));
}

}  // namespace baseband::ctl
