#include "client/ctl/plot/svg_dots.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "client/ctl/plot/svg_elements.h"

namespace baseband::ctl {
namespace {

constexpr double kWidth = 820;
constexpr double kTop = 66;
constexpr double kLeft = 150;
constexpr double kRight = 800;
constexpr double kRow = 22;
constexpr double kLegendCell = 215;
constexpr double kLegendRow = 24;
constexpr double kSpread = 4;  // between dots of a row, up and down

}  // namespace

std::string RenderSvg(const DotPlot& plot) {
  double low = INFINITY;
  double high = -INFINITY;
  const auto add = [&](double value) {
    if (std::isfinite(value)) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  };
  for (const DotRow& row : plot.rows) {
    std::for_each(row.values.begin(), row.values.end(), add);
    add(row.tick);
  }
  if (low > high) {
    low = 0;
    high = 1;
  }
  low -= 1;
  high += 1;
  const double bottom = kTop + kRow * static_cast<double>(plot.rows.size()) + 8;
  const int entries = static_cast<int>(plot.series.size()) + 1;
  const int columns = static_cast<int>((kWidth - 70) / kLegendCell);
  const double height = bottom + 62 + kLegendRow * ((entries + columns - 1) / columns);
  const auto x = [&](double value) {
    return kLeft + (value - low) / (high - low) * (kRight - kLeft);
  };

  std::string svg = svg::Open(kWidth, height, plot.title, plot.subtitle);
  const double step = svg::TickStep(high - low);
  for (double tick = std::ceil(low / step) * step; tick <= high; tick += step) {
    svg += svg::Line(x(tick), kTop, x(tick), bottom, "stroke=\"#d4d4d4\"");
    svg += svg::Text(x(tick), bottom + 18, "text-anchor=\"middle\"", svg::TickLabel(tick, step));
  }
  const double middle = (static_cast<double>(plot.series.size()) - 1) / 2;
  double y = kTop + kRow / 2 + 4;
  const std::string tick_look = absl::StrCat("stroke=\"", svg::kGrey, "\" stroke-width=\"3\"");
  for (const DotRow& row : plot.rows) {
    svg += svg::Line(kLeft, y, kRight, y, "stroke=\"#f0f0f0\"");
    svg += svg::Text(kLeft - 8, y + 4, "text-anchor=\"end\"", row.name);
    if (std::isfinite(row.tick)) {
      svg += svg::Line(x(row.tick), y - 9, x(row.tick), y + 9, tick_look);
    }
    for (size_t i = 0; i < row.values.size(); ++i) {
      if (std::isfinite(row.values[i])) {
        svg += svg::Marker(i, x(row.values[i]), y + kSpread * (static_cast<double>(i) - middle));
      }
    }
    y += kRow;
  }
  svg += svg::Frame(kLeft, kTop, kRight, bottom);
  svg += svg::Text((kLeft + kRight) / 2, bottom + 38, "text-anchor=\"middle\" font-size=\"14\"",
                   plot.x_label);
  for (int i = 0; i < entries; ++i) {
    const double left = 70 + kLegendCell * (i % columns);
    const double line = bottom + 62 + kLegendRow * (i / columns);
    const bool tick = i + 1 == entries;
    svg += tick ? svg::Line(left, line - 9, left, line + 9, tick_look)
                : svg::Marker(static_cast<size_t>(i), left, line);
    svg +=
        svg::Text(left + 14, line + 5, "font-size=\"13\"", tick ? plot.tick_label : plot.series[i]);
  }
  return svg + svg::Close();
}

}  // namespace baseband::ctl
