#include "client/ctl/load/load_html.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/load/load_budget.h"
#include "client/ctl/load/load_charts.h"
#include "client/ctl/load/load_plots.h"

namespace baseband::ctl {
namespace {

using load::LoadResult;
using load::Outcome;

constexpr char kStyle[] = R"(
:root{--ground:#f4f5f7;--card:#fff;--ink:#1c2430;--soft:#667080;--grid:#e7eaee;--good:#009e73;
--bad:#c8451b}
@media(prefers-color-scheme:dark){:root{--ground:#14171c;--card:#1d2229;--ink:#e6e9ee;
--soft:#98a2b0;--grid:#2f3640;--good:#35c596;--bad:#f08055}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.45 system-ui,-apple-system,
"Segoe UI",Helvetica,Arial,"DejaVu Sans",sans-serif}
main{max-width:1240px;margin:0 auto;padding:30px 24px 50px}
h1{font-size:25px;margin:0 0 2px}h2{font-size:15.5px;margin:0 0 8px}
p{margin:0;color:var(--soft)}header{display:flex;gap:24px;align-items:flex-start;margin-bottom:20px}
header div{flex:1}
.verdict{font-weight:600;color:#fff;border-radius:7px;padding:6px 14px;white-space:nowrap}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:14px;margin-bottom:14px}
.card{background:var(--card);border-radius:11px;padding:16px 18px;box-shadow:0 1px 3px #0001}
.tile b{display:block;font-size:23px;font-weight:650;letter-spacing:-.01em}
.tile span{color:var(--soft);font-size:13px}
.grid2{display:grid;grid-template-columns:1fr 1fr;gap:14px;margin-bottom:14px}.grid2 section{margin:0}
@media(max-width:900px){.grid2{grid-template-columns:1fr}.tiles{grid-template-columns:repeat(3,1fr)}}
svg{display:block;width:100%;height:auto}svg .grid{stroke:var(--grid)}svg .axis{stroke:var(--soft)}
svg .tick{fill:var(--soft);font-size:12px}.dots circle{opacity:0}.dots circle:hover{opacity:1}
.legend{display:flex;flex-wrap:wrap;gap:3px 16px;font-size:13px;color:var(--soft);margin-bottom:6px}
.legend i{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px}
.bars{display:grid;grid-template-columns:minmax(90px,max-content) 1fr;gap:9px 14px;font-size:13.5px;
align-items:center}.bar{display:flex;height:20px;border-radius:5px;overflow:hidden}
.bar i{display:block;min-width:2px}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13.5px;
font-variant-numeric:tabular-nums}
th{color:var(--soft);font-weight:500}td,th{padding:5px 8px;text-align:right;white-space:nowrap;
border-bottom:1px solid var(--grid)}td:first-child,th:first-child{text-align:left;padding-left:0}
td:first-child{white-space:normal}tr:last-child td{border-bottom:0}
ul{margin:0;padding-left:18px}li{margin:3px 0}section{margin-bottom:14px}
)";

std::string Card(const std::string& title, const std::string& contents) {
  return absl::StrCat("<section class=\"card\"><h2>", title, "</h2>\n", contents, "</section>\n");
}

std::string Tile(const std::string& value, const std::string& name) {
  return absl::StrCat("<div class=\"card tile\"><b>", value, "</b><span>", name, "</span></div>\n");
}

std::string Head(const LoadReport& report) {
  const LoadResult& result = report.result;
  const size_t broken = report.BrokenLimits().size();
  const bool wrong = report.AllWrongAnswers().count > 0;
  std::string verdict;
  if (report.IsNegative() || !report.limits.empty()) {
    verdict = absl::StrFormat("<span class=\"verdict\" style=\"background:var(--%s)\">%s</span>",
                              report.IsNegative() ? "bad" : "good",
                              wrong                      ? "wrong answers"
                              : broken > 0               ? "over its limits"
                              : report.NothingIsBorne()  ? "no rate is borne"
                              : report.NothingIsServed() ? "nothing was served"
                              : report.MostAreUnserved() ? "most was not served"
                                                         : "within its limits");
  }
  return absl::StrFormat(
      "<header><div><h1>Load report</h1><p>%s<br>%s &middot; %s &middot; %s of "
      "measurement, "
      "%s</p></div>%s</header>\n",
      EscapeHtml(report.server), EscapeHtml(result.spec.pace.ToText()),
      EscapeHtml(ConnectionsText(result)), absl::FormatDuration(result.measured),
      absl::FormatTime("%Y-%m-%d %H:%M UTC", result.begin, absl::UTCTimeZone()), verdict);
}

std::string Tiles(const LoadReport& report) {
  const LoadResult& result = report.result;
  const load::Tally all = result.totals.All();
  std::string html = "<div class=\"tiles\">\n";
  html += Tile(absl::StrFormat("%s/s", HumanCount(result.Goodput())),
               absl::StrFormat("good, of %s due", HumanCount(result.Offered())));
  html += result.InfoBitRate() > 0
              ? Tile(HumanRate(result.InfoBitRate()), "of information, decoded")
              : Tile(HumanBytes(result.MessageByteRate()) + "/s", "messages, both ways");
  html += Tile(QuantileText(all.latency, 0.5), "median latency");
  html += Tile(QuantileText(all.latency, 0.99), "99th percentile");
  html += Tile(QuantileText(all.latency, 0.999), "99.9th percentile");
  html += Tile(MissedText(all.outcomes), "missed or refused");
  if (all.blocks.count > 0) {
    html += Tile(BlerText(all.blocks),
                 absl::StrFormat("BLER, %d of %d blocks", all.blocks.failed, all.blocks.count));
  }
  if (all.iterations.count() > 0) {
    html += Tile(MeanText(all.iterations),
                 absl::StrFormat("iterations a code block, p99 %d, at most %d",
                                 all.iterations.Quantile(0.99), all.iterations.Quantile(1)));
  }
  return html + "</div>\n";
}

std::string LatencyTable(const LoadResult& result) {
  std::string html = "<div class=\"wide\"><table><tr><th></th><th>calls</th><th>mean</th>";
  for (const auto& [name, quantile] : ReportedQuantiles()) {
    absl::StrAppend(&html, "<th>", name, "</th>");
  }
  html += "<th>max</th><th>missed</th><th>BLER</th><th>iterations</th></tr>\n";
  const auto add = [&](const std::string& name, const load::Tally& tally) {
    absl::StrAppend(&html, "<tr><td>", EscapeHtml(name), "</td><td>", tally.outcomes.due(),
                    "</td><td>", MeanText(tally.latency), "</td>");
    for (const auto& [label, quantile] : ReportedQuantiles()) {
      absl::StrAppend(&html, "<td>", QuantileText(tally.latency, quantile), "</td>");
    }
    absl::StrAppendFormat(&html, "<td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
                          QuantileText(tally.latency, 1), MissedText(tally.outcomes),
                          BlerText(tally.blocks), MeanText(tally.iterations));
  };
  for (size_t i = 0; i < result.workloads.size(); ++i) {
    add(result.workloads[i], result.totals.tallies[i]);
  }
  if (result.workloads.size() > 1) add("all", result.totals.All());
  return html + "</table></div>\n";
}

std::string RowHtml(const std::vector<std::string>& cells, const char* tag) {
  std::string html = "<tr>";
  for (const std::string& cell : cells) {
    absl::StrAppend(&html, "<", tag, ">", EscapeHtml(cell), "</", tag, ">");
  }
  return html + "</tr>\n";
}

std::string BudgetHtml(const LoadResult& result) {
  const BudgetTable table = ToBudgetTable(result);
  std::string html = "<div class=\"wide\"><table>" + RowHtml(table.heads, "th");
  for (const std::vector<std::string>& row : table.rows) html += RowHtml(row, "td");
  return html + "</table></div>\n";
}

std::string SettingsHtml(const LoadResult& result) {
  std::string html = "<table>\n";
  for (size_t i = 0; i < result.workloads.size(); ++i) {
    if (result.settings[i].empty()) continue;
    html += RowHtml({result.workloads[i], ToText(result.settings[i])}, "td");
  }
  return html + "</table>\n";
}

std::string FiguresTable(const LoadResult& result) {
  std::vector<std::pair<std::string, std::string>> rows = {
      {"client CPU",
       absl::StrFormat("%.2f cores, %.3g s a Gbit of messages",
                       result.client_cpu_seconds / absl::ToDoubleSeconds(result.measured),
                       result.ClientCpuPerGbit())},
      {"client's sends behind their time",
       absl::StrCat("p99 ", QuantileText(result.totals.send_lag, 0.99), ", ",
                    result.totals.late_sends, " by over 1 ms")},
      {"messages, both ways", HumanBytes(result.MessageByteRate()) + "/s"}};
  for (const auto& [name, value] : ServerFigures(result))
    rows.emplace_back("server " + name, value);
  std::string html = "<table>\n";
  for (const auto& [name, value] : rows) {
    absl::StrAppend(&html, "<tr><td>", EscapeHtml(name), "</td><td>", EscapeHtml(value),
                    "</td></tr>\n");
  }
  return html + "</table>\n";
}

}  // namespace

std::string ToHtml(const LoadReport& report) {
  const LoadResult& result = report.result;
  std::string html = absl::StrCat(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\">"
      "<title>Load report</title>\n<style>",
      kStyle, "</style></head>\n<body><main>\n", Head(report), Tiles(report));
  const std::vector<std::string> remarks = Remarks(report);
  if (!remarks.empty()) {
    std::string list = "<ul>\n";
    for (const std::string& remark : remarks) {
      absl::StrAppend(&list, "<li>", EscapeHtml(remark), "</li>\n");
    }
    html += Card("To be noted", list + "</ul>\n");
  }
  if (!report.probes.empty()) {
    html +=
        Card("Latency over the rate, and the highest rate borne",
             absl::StrCat("<p>", EscapeHtml(KneeSentence(report)), "</p>\n", KneeChart(report)));
  }
  absl::StrAppend(&html, "<div class=\"grid2\">\n",
                  Card("Latency by percentile", PercentileChart(result)),
                  Card("Latency over time", LatencyChart(result)),
                  Card("Calls a second over time", ThroughputChart(result)),
                  Card("What became of the calls", OutcomeBars(result)), "</div>\n");
  if (!SettingNames(result).empty()) html += Card("Asked for", SettingsHtml(result));
  html += Card("Latency", LatencyTable(result));
  if (result.totals.All().has_stages()) {
    html += Card("Where the time of answered calls went", StageBars(result));
    html += Card("Latency budget", BudgetHtml(result));
  }
  html += Card("Client and server", FiguresTable(result));
  return html + "</main></body></html>\n";
}

}  // namespace baseband::ctl
