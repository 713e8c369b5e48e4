#include "client/ctl/plot/plot.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/ctl/plot/panel.h"
#include "client/ctl/plot/svg_elements.h"

namespace baseband::ctl {
namespace {

// Pixels.
constexpr double kTitleHeight = 66;
constexpr double kLegendRow = 24;
constexpr double kLegendCell = 225;
constexpr double kLegendLeft = 74;

// What stands in the legend: what stands for it at (x, y), and what it means.
struct Entry {
  PlotSeries series;
  int style = 0;
  bool no_value = false;
};

// That of the panel with the most series, and of the grey of cells.
std::vector<Entry> LegendOf(const std::vector<PlotPanel>& panels) {
  std::vector<Entry> legend;
  const auto most = std::max_element(
      panels.begin(), panels.end(),
      [](const PlotPanel& a, const PlotPanel& b) { return a.series.size() < b.series.size(); });
  int next = 0;
  for (const PlotSeries& series : most == panels.end() ? std::vector<PlotSeries>() : most->series) {
    if (series.in_legend) {
      legend.push_back({series, series.style.value_or(next)});
    }
    next += series.reference ? 0 : 1;
  }
  for (const PlotPanel& panel : panels) {
    if (!std::all_of(panel.cells.values.begin(), panel.cells.values.end(),
                     [](double value) { return std::isfinite(value); })) {
      legend.push_back({{"no value"}, 0, /*no_value=*/true});
    }
  }
  return legend;
}

std::string DrawEntry(const Entry& entry, double x, double y) {
  const std::string grey = absl::StrCat("fill=\"", kNoValueColour, "\"");
  return (entry.no_value ? svg::Rect(x + 9, y - 8, 16, 16, grey)
                         : DrawSample(entry.series, entry.style, x, y)) +
         svg::Text(x + 42, y + 5, "font-size=\"13\"", entry.series.label);
}

}  // namespace

std::string RenderSvg(const Plot& plot) {
  double left = 0;
  double top = kTitleHeight;
  double right = 450;
  double bottom = kTitleHeight;
  std::string drawn;
  for (const PlotPanel& any : plot.panels) {
    PlotPanel panel = WithRanges(plot.panels, any);
    panel.x.label = any.x.label.empty() ? plot.x_label : any.x.label;
    if (panel.new_row) {
      left = 0;
      top = bottom;
    }
    left += LeftMargin(panel);
    const double below_title = top + (panel.title.empty() ? 0 : kTopMargin);
    drawn += DrawPanel(panel, left, below_title);
    left += panel.width + kRightMargin;
    right = std::max(right, left);
    bottom = std::max(bottom, below_title + panel.height + kBottomMargin);
  }
  const std::vector<Entry> legend = LegendOf(plot.panels);
  const size_t columns = static_cast<size_t>((right - kLegendLeft) / kLegendCell);
  const auto rows = static_cast<double>((legend.size() + columns - 1) / columns);
  for (size_t i = 0; i < legend.size(); ++i) {
    drawn += DrawEntry(legend[i], kLegendLeft + kLegendCell * static_cast<double>(i % columns),
                       bottom + 8 + kLegendRow * static_cast<double>(i / columns));
  }
  return svg::Open(right, bottom + kLegendRow * rows + 14, plot.title, plot.subtitle) + drawn +
         svg::Close();
}

}  // namespace baseband::ctl
