#include "tests/bench/report/figures.h"

#include <algorithm>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/ctl/plot/plot.h"
#include "tests/bench/report/si.h"

namespace baseband::bench {
namespace {

// The element of `list` whose `member` is `name`; a new one at its end if there is none.
template <typename T>
T& FindOrAdd(std::vector<T>* list, std::string T::*member, const std::string& name) {
  for (T& element : *list) {
    if (element.*member == name) return element;
  }
  T& added = list->emplace_back();
  added.*member = name;
  return added;
}

struct Kind {
  const char* name;
  const char* title;
};
Kind KindOf(const Row& row) {
  if (row.along == "zc") return {"sizes", "Rate against lifting size"};
  if (row.along == "load") return {"latency", "Latency against load, of what is carried at most"};
  return {"batches", "Time against the size of a batch"};
}

// Of the least time or the greatest rate that a panel shows.
SiPrefix PrefixOf(const Panel& panel) {
  double best = 0.0;
  for (const Series& series : panel.series) {
    for (const auto& [x, row] : series.points) {
      const bool is_better = panel.unit == "s" ? row.value < best : row.value > best;
      if (best == 0.0 || is_better) best = row.value;
    }
  }
  return SiPrefixOf(best);
}

}  // namespace

Limits::Limits(const BenchRun& run) {
  for (const Row& row : run.rows) {
    if (row.what != "limit") continue;
    for (const auto& [name, value] : row.parameters) {
      if (name == "of") values_[{row.device, value}] = row.value;
    }
  }
}

double Limits::Get(const std::string& device, const std::string& of) const {
  const auto found = values_.find({device, of});
  return found == values_.end() ? 0.0 : found->second;
}

absl::optional<Limits::Bound> Limits::Of(const Row& row) const {
  absl::optional<Bound> least;
  const auto consider = [&](double count, const std::string& of) {
    const double limit = Get(row.device, of);
    if (count <= 0.0 || limit <= 0.0) return;
    const bool is_time = row.unit == "s";
    const double value = is_time ? count / limit : limit / count;
    if (!least.has_value() || (is_time ? value > least->value : value < least->value)) {
      least = Bound{value, of};
    }
  };
  consider(row.bytes, row.over);
  consider(row.operations, row.of);
  return least;
}

double ShareOf(const Limits::Bound& bound, const Row& row) {
  return row.unit == "s" ? bound.value / row.value : row.value / bound.value;
}

std::vector<Figure> FiguresOf(const BenchRun& run) {
  std::vector<Figure> figures;
  for (const Row& row : run.rows) {
    if (row.along.empty()) continue;
    std::string title = row.what;
    std::string label = row.device;
    double x = 0.0;
    bool is_number = false;
    for (const auto& [name, value] : row.parameters) {
      if (name == row.along) {
        is_number = absl::SimpleAtod(value, &x);
      } else {
        absl::StrAppend(name == "operation" ? &title : &label, " ",
                        absl::StripPrefix(value, "NR "));
      }
    }
    if (!is_number) continue;
    const Kind kind = KindOf(row);
    Figure& figure = FindOrAdd(&figures, &Figure::name, kind.name);
    figure.title = kind.title;
    Panel& panel = FindOrAdd(&figure.panels, &Panel::title, title);
    panel.along = row.along;
    panel.unit = row.unit;
    FindOrAdd(&panel.series, &Series::label, label).points.emplace_back(x, row);
  }
  for (Figure& figure : figures) {
    for (Panel& panel : figure.panels) {
      for (Series& series : panel.series) {
        std::stable_sort(series.points.begin(), series.points.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
      }
    }
  }
  return figures;
}

std::string DrawFigure(const Figure& figure, const std::string& machine) {
  ctl::Plot plot;
  plot.title = figure.title;
  plot.subtitle = machine;
  // Every panel has every label, for they share a legend.
  std::vector<std::string> labels;
  for (const Panel& panel : figure.panels) {
    for (const Series& series : panel.series) {
      if (std::find(labels.begin(), labels.end(), series.label) == labels.end()) {
        labels.push_back(series.label);
      }
    }
  }
  for (const Panel& panel : figure.panels) {
    ctl::PlotPanel& drawn = plot.panels.emplace_back();
    drawn.title = panel.title;
    drawn.x.label = panel.along;
    drawn.x.decades = panel.along != "load";
    const SiPrefix prefix = PrefixOf(panel);
    drawn.y = {
        absl::StrCat(panel.unit == "s" ? "time" : "rate", " [", prefix.letter, panel.unit, "]"), 0,
        0, /*decades=*/true};
    drawn.new_row = plot.panels.size() % 3 == 1 && plot.panels.size() > 1;
    for (const std::string& label : labels) {
      ctl::PlotSeries& series = drawn.series.emplace_back();
      series.label = label;
      for (const Series& of : panel.series) {
        if (of.label != label) continue;
        for (const auto& [x, row] : of.points) {
          series.points.push_back({x, row.value / prefix.factor});
        }
      }
    }
  }
  return RenderSvg(plot);
}

std::string DrawRoofline(const BenchRun& run, const std::string& machine) {
  const Limits limits(run);
  ctl::Plot plot;
  plot.title = "Rooflines: what is reached of what the memory and the operations allow";
  plot.subtitle = machine;
  std::vector<std::string> labels;
  std::set<std::pair<std::string, std::string>> panels;  // device, kind of operation
  const auto is_shown = [&](const Row& row) {
    return row.along.empty() && row.bytes > 0.0 && row.over == kMemory && row.operations > 0.0 &&
           limits.Get(row.device, kMemory) > 0.0 && limits.Get(row.device, row.of) > 0.0;
  };
  for (const Row& row : run.rows) {
    if (!is_shown(row)) continue;
    panels.emplace(row.device, row.of);
    if (std::find(labels.begin(), labels.end(), row.what) == labels.end()) {
      labels.push_back(row.what);
    }
  }
  if (panels.empty()) return "";
  for (const auto& [device, of] : panels) {
    ctl::PlotPanel& panel = plot.panels.emplace_back();
    panel.title = absl::StrCat(device, ", ", of);
    panel.x = {"operations a byte", 0, 0, /*decades=*/true};
    panel.y = {"operations/s", 0, 0, /*decades=*/true};
    const double memory = limits.Get(device, kMemory);
    const double most = limits.Get(device, of);
    double least_x = most / memory;
    double most_x = least_x;
    ctl::PlotSeries& roof = panel.series.emplace_back();
    roof.label = "limit";
    roof.mark = ctl::PlotMark::kNone;
    for (const std::string& label : labels) {
      ctl::PlotSeries& series = panel.series.emplace_back();
      series.label = label;
      series.line = false;
      for (const Row& row : run.rows) {
        if (!is_shown(row) || row.device != device || row.of != of || row.what != label) continue;
        const double x = row.operations / row.bytes;
        series.points.push_back({x, row.operations * row.value});
        least_x = std::min(least_x, x);
        most_x = std::max(most_x, x);
      }
    }
    panel.series[0].points = {
        {least_x / 2, memory * least_x / 2}, {most / memory, most}, {most_x * 2, most}};
  }
  return RenderSvg(plot);
}

}  // namespace baseband::bench
