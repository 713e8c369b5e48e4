#include "client/ctl/load/load_plots.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/load/load_charts.h"
#include "client/ctl/plot/svg_elements.h"

namespace baseband::ctl {
namespace {

using load::Histogram;
using load::LoadResult;
using load::Outcome;

// In the order of load::Outcome; green, blue, orange, amber, black, grey.
const std::vector<std::string>& OutcomeColours() {
  static const auto* const colours = new std::vector<std::string>{"#009e73", "#56b4e9", "#e69f00",
                                                                  "#d55e00", "#8a1c7c", "#9aa3ae"};
  return *colours;
}

std::string Time(double ns) { return HumanDuration(absl::Nanoseconds(ns)); }

// The end of interval number `index` in seconds.
double EndOf(const LoadResult& result, size_t index) {
  return absl::ToDoubleSeconds(result.interval) * static_cast<double>(index + 1);
}

// Time of the measurement; its last interval may be cut short.
ChartAxis Seconds(const LoadResult& result) {
  ChartAxis axis;
  axis.high = EndOf(result, result.totals.series.size() - 1);
  const double step = svg::TickStep(axis.high);
  for (int i = 0; i * step <= axis.high * (1 + 1e-9); ++i) {
    axis.ticks.emplace_back(i * step, absl::StrFormat("%g", i * step));
  }
  axis.label = "seconds";
  return axis;
}

}  // namespace

std::string PercentileChart(const LoadResult& result) {
  Chart chart;
  const load::Tally all = result.totals.All();
  chart.x.label = "percentile";
  chart.x.high = std::clamp(
      std::log10(static_cast<double>(std::max<int64_t>(all.latency.count(), 2))), 1.0, 5.0);
  constexpr const char* kNames[] = {"0", "90", "99", "99.9", "99.99", "99.999"};
  chart.x.ticks = {{std::log10(2), "50"}};
  for (int nines = 0; nines <= chart.x.high; ++nines)
    chart.x.ticks.emplace_back(nines, kNames[nines]);
  auto least = static_cast<double>(all.latency.max());
  const auto add = [&](const std::string& name, const Histogram& latency, size_t colour) {
    if (latency.count() == 0) return;
    ChartSeries series;
    series.name = name;
    series.colour = svg::Colour(colour);
    const double reach = std::min(
        chart.x.high, std::log10(static_cast<double>(std::max<int64_t>(latency.count(), 2))));
    for (int i = 0; i <= 100; ++i) {
      const double x = reach * i / 100;
      const double ns = static_cast<double>(latency.Quantile(1 - std::pow(10, -x)));
      series.points.emplace_back(x, ns);
      series.labels.push_back(
          absl::StrFormat("%s: %.5g %% within %s", name, 100 * (1 - std::pow(10, -x)), Time(ns)));
      least = std::min(least, ns);
    }
    chart.series.push_back(std::move(series));
  };
  if (result.workloads.size() == 1) {
    add("all calls", all.latency, 0);
  }
  for (size_t i = 0; i < result.workloads.size() && result.workloads.size() > 1; ++i) {
    add(result.workloads[i], result.totals.tallies[i].latency, i);
  }
  chart.y = TimeAxis(least, static_cast<double>(all.latency.max()));
  return RenderChart(chart);
}

std::string LatencyChart(const LoadResult& result) {
  struct Line {
    const char* name;
    double quantile;
    size_t colour;
  };
  Chart chart;
  chart.x = Seconds(result);
  double least = INFINITY;
  double most = 0;
  for (const Line& line : {Line{"maximum", 1, 1}, Line{"p99", 0.99, 4}, Line{"median", 0.5, 0}}) {
    ChartSeries series;
    series.name = line.name;
    series.colour = svg::Colour(line.colour);
    for (size_t i = 0; i < result.totals.series.size(); ++i) {
      const Histogram& latency = result.totals.series[i].latency;
      if (latency.count() == 0) continue;
      const double ns = static_cast<double>(latency.Quantile(line.quantile));
      series.points.emplace_back(EndOf(result, i), ns);
      series.labels.push_back(
          absl::StrFormat("%s at %g s: %s", line.name, EndOf(result, i), Time(ns)));
      least = std::min(least, ns);
      most = std::max(most, ns);
    }
    chart.series.push_back(std::move(series));
  }
  chart.y = TimeAxis(std::isfinite(least) ? least : 1e6, most);
  return RenderChart(chart);
}

std::string ThroughputChart(const LoadResult& result) {
  Chart chart;
  chart.x = Seconds(result);
  ChartSeries due;
  due.name = "due";
  due.colour = svg::kGrey;
  due.dashed = true;
  ChartSeries answered;
  answered.name = "answered rightly";
  answered.colour = OutcomeColours()[static_cast<size_t>(Outcome::kLate)];
  ChartSeries good;
  good.name = "good: also on time";
  good.colour = OutcomeColours()[static_cast<size_t>(Outcome::kGood)];
  good.area = true;
  double most = 0;
  const double seconds = absl::ToDoubleSeconds(result.interval);
  for (size_t i = 0; i < result.totals.series.size(); ++i) {
    const load::Interval& interval = result.totals.series[i];
    const auto add = [&](ChartSeries* series, int64_t count) {
      const double rate = static_cast<double>(count) / seconds;
      series->points.emplace_back(EndOf(result, i), rate);
      series->labels.push_back(
          absl::StrFormat("%s at %g s: %.0f calls/s", series->name, EndOf(result, i), rate));
      most = std::max(most, rate);
    };
    add(&due, interval.due);
    add(&answered, interval.outcomes.right());
    add(&good, interval.outcomes[Outcome::kGood]);
  }
  chart.y = LinearAxis("", most);
  chart.series = {due, answered, good};
  return RenderChart(chart);
}

std::string OutcomeBars(const LoadResult& result) {
  std::vector<Bar> bars;
  const auto add = [&](const std::string& name, const load::Outcomes& outcomes) {
    Bar bar;
    bar.name = name;
    for (int i = 0; i < load::kOutcomes; ++i) {
      const auto outcome = static_cast<Outcome>(i);
      bar.parts.push_back(outcomes.Share(outcome));
      bar.labels.push_back(absl::StrFormat("%s: %d calls, %.3g %%", load::kOutcomeNames[i],
                                           outcomes[outcome], 100 * outcomes.Share(outcome)));
    }
    bars.push_back(std::move(bar));
  };
  for (size_t i = 0; i < result.workloads.size() && result.workloads.size() > 1; ++i) {
    add(result.workloads[i], result.totals.tallies[i].outcomes);
  }
  const load::Outcomes all = result.totals.All().outcomes;
  add("all", all);
  std::vector<std::pair<std::string, std::string>> legend;
  for (size_t i = 0; i < load::kOutcomes; ++i) {
    legend.emplace_back(absl::StrCat(load::kOutcomeNames[i], " ", all.counts[i]),
                        OutcomeColours()[i]);
  }
  return RenderLegend(legend) + RenderBars(bars, OutcomeColours());
}

std::string StageBars(const LoadResult& result) {
  Bar bar;
  bar.name = "mean call";
  std::vector<std::string> colours;
  std::vector<std::pair<std::string, std::string>> legend;
  const load::Tally all = result.totals.All();
  const auto add = [&](const std::string& name, double ns, const std::string& colour) {
    bar.parts.push_back(ns);
    bar.labels.push_back(absl::StrCat(name, ": ", Time(ns)));
    colours.push_back(colour);
    legend.emplace_back(bar.labels.back(), colour);
  };
  for (size_t i = 0; i < load::kStages; ++i) {
    const double mean = all.stages[i].mean();
    if (mean <= 0) continue;
    add(load::kStageNames[i], mean, i + 1 < load::kStages ? svg::Colour(i) : "#b4bcc6");
  }
  return RenderLegend(legend) + RenderBars({bar}, colours);
}

std::string KneeChart(const LoadReport& report) {
  std::vector<std::pair<double, const KneeProbe*>> sorted;
  for (const KneeProbe& probe : report.probes) {
    sorted.emplace_back(probe.result.spec.pace.rate, &probe);
  }
  std::sort(sorted.begin(), sorted.end());
  ChartSeries p99;
  p99.name = "p99";
  p99.colour = svg::Colour(4);
  ChartSeries median;
  median.name = "median";
  median.colour = svg::Colour(0);
  double least = INFINITY;
  double most = 0;
  for (const auto& [rate, probe] : sorted) {
    const Histogram latency = probe->result.totals.All().latency;
    if (latency.count() == 0) continue;
    for (ChartSeries* series : {&p99, &median}) {
      const double ns = static_cast<double>(latency.Quantile(series == &p99 ? 0.99 : 0.5));
      series->points.emplace_back(rate, ns);
      series->labels.push_back(
          absl::StrFormat("%s at %.0f calls/s: %s", series->name, rate, Time(ns)));
      least = std::min(least, ns);
      most = std::max(most, ns);
    }
  }
  Chart chart;
  chart.x = LinearAxis("calls a second", sorted.back().first);
  chart.y = TimeAxis(std::isfinite(least) ? least : 1e6, most);
  chart.series = {p99, median};
  if (report.NothingIsBorne()) return RenderChart(chart);
  ChartSeries knee;
  knee.name = absl::StrFormat("highest rate borne: %.0f calls/s", report.knee.low);
  knee.colour = svg::kGrey;
  knee.dashed = true;
  knee.points = {{report.knee.low, chart.y.low}, {report.knee.low, chart.y.high}};
  chart.series.push_back(std::move(knee));
  return RenderChart(chart);
}

}  // namespace baseband::ctl
