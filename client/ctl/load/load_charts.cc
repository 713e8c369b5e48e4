#include "client/ctl/load/load_charts.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/plot/svg_elements.h"

namespace baseband::ctl {
namespace {

constexpr double kWidth = 560;
constexpr double kHeight = 270;
constexpr double kLeft = 62;
constexpr double kRight = kWidth - 14;
constexpr double kTop = 12;
constexpr double kBottom = kHeight - 42;

// The place of `value` on an axis drawn from `from` to `to`.
double Place(const ChartAxis& axis, double value, double from, double to) {
  const double share = axis.log ? std::log(value / axis.low) / std::log(axis.high / axis.low)
                                : (value - axis.low) / (axis.high - axis.low);
  return from + share * (to - from);
}

bool IsOn(const ChartAxis& axis, double value) {
  return std::isfinite(value) && value >= axis.low && value <= axis.high;
}

std::string Axes(const Chart& chart) {
  std::string svg;
  for (const auto& [value, label] : chart.y.ticks) {
    const double y = Place(chart.y, value, kBottom, kTop);
    svg += svg::Line(kLeft, y, kRight, y, "class=\"grid\"");
    svg += svg::Text(kLeft - 7, y + 4, "class=\"tick\" text-anchor=\"end\"", label);
  }
  for (const auto& [value, label] : chart.x.ticks) {
    const double x = Place(chart.x, value, kLeft, kRight);
    svg += svg::Line(x, kTop, x, kBottom, "class=\"grid\"");
    svg += svg::Text(x, kBottom + 17, "class=\"tick\" text-anchor=\"middle\"", label);
  }
  svg += svg::Line(kLeft, kBottom, kRight, kBottom, "class=\"axis\"");
  svg += svg::Text((kLeft + kRight) / 2, kHeight - 6, "class=\"tick\" text-anchor=\"middle\"",
                   chart.x.label);
  return svg;
}

std::string Curve(const Chart& chart, const ChartSeries& series) {
  std::string path;
  std::string dots;
  double first = 0;
  double last = 0;
  for (size_t i = 0; i < series.points.size(); ++i) {
    const auto& [x_value, y_value] = series.points[i];
    if (!IsOn(chart.x, x_value) || !IsOn(chart.y, y_value)) continue;
    const double x = Place(chart.x, x_value, kLeft, kRight);
    const double y = Place(chart.y, y_value, kBottom, kTop);
    absl::StrAppendFormat(&path, "%s%.1f %.1f", path.empty() ? "M" : "L", x, y);
    first = path.find('L') == std::string::npos ? x : first;
    last = x;
    if (i < series.labels.size()) {
      absl::StrAppendFormat(&dots,
                            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\"><title>%s</title></circle>", x,
                            y, EscapeHtml(series.labels[i]));
    }
  }
  if (path.empty()) return "";
  std::string svg;
  if (series.area) {
    svg += absl::StrFormat("<path d=\"%sL%.1f %.1fL%.1f %.1fZ\" fill=\"%s\" opacity=\"0.16\"/>\n",
                           path, last, kBottom, first, kBottom, series.colour);
  }
  svg += absl::StrFormat(
      "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\" "
      "stroke-linejoin=\"round\"%s/>\n",
      path, series.colour, series.dashed ? " stroke-dasharray=\"5 4\"" : "");
  return svg + absl::StrFormat("<g fill=\"%s\" class=\"dots\">%s</g>\n", series.colour, dots);
}

}  // namespace

ChartAxis LinearAxis(const std::string& label, double most) {
  ChartAxis axis;
  axis.label = label;
  const double step = svg::TickStep(std::max(most, 1e-9));
  axis.high = step * std::ceil(std::max(most, 1e-9) / step * (1 - 1e-9));
  for (int i = 0; i * step <= axis.high * (1 + 1e-9); ++i) {
    axis.ticks.emplace_back(i * step, HumanCount(i * step));
  }
  return axis;
}

ChartAxis TimeAxis(double least_ns, double most_ns) {
  ChartAxis axis;
  axis.log = true;
  least_ns = std::max(least_ns, 1e3);
  most_ns = std::max(most_ns, 2 * least_ns);
  axis.low = least_ns * 0.8;
  axis.high = most_ns * 1.25;
  const bool wide = axis.high > 1e3 * axis.low;  // then powers of ten alone
  for (double decade = 1e3; decade <= axis.high; decade *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double ns = factor * decade;
      if (IsOn(axis, ns) && (!wide || factor == 1)) {
        const bool whole = ns < 1e9;
        axis.ticks.emplace_back(ns, whole ? absl::StrFormat(ns < 1e6 ? "%.0f us" : "%.0f ms",
                                                            ns < 1e6 ? ns / 1e3 : ns / 1e6)
                                          : absl::StrFormat("%.0f s", ns / 1e9));
      }
    }
  }
  return axis;
}

std::string RenderChart(const Chart& chart) {
  std::string svg =
      absl::StrFormat("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n", kWidth, kHeight);
  svg += Axes(chart);
  std::vector<std::pair<std::string, std::string>> legend;
  for (const ChartSeries& series : chart.series) {
    svg += Curve(chart, series);
    legend.emplace_back(series.name, series.colour);
  }
  return absl::StrCat(RenderLegend(legend), svg, "</svg>\n");
}

std::string RenderBars(const std::vector<Bar>& bars, const std::vector<std::string>& colours) {
  double longest = 0;
  for (const Bar& bar : bars) {
    double length = 0;
    for (const double part : bar.parts) length += part;
    longest = std::max(longest, length);
  }
  std::string html = "<div class=\"bars\">\n";
  for (const Bar& bar : bars) {
    absl::StrAppend(&html, "<div class=\"name\">", EscapeHtml(bar.name),
                    "</div><div class=\"bar\">");
    for (size_t i = 0; i < bar.parts.size() && longest > 0; ++i) {
      if (bar.parts[i] <= 0) continue;
      absl::StrAppendFormat(&html, "<i style=\"width:%.3f%%;background:%s\" title=\"%s\"></i>",
                            100 * bar.parts[i] / longest, colours[i % colours.size()],
                            EscapeHtml(bar.labels[i]));
    }
    html += "</div>\n";
  }
  return html + "</div>\n";
}

std::string RenderLegend(
    const std::vector<std::pair<std::string, std::string>>& names_and_colours) {
  std::string html = "<div class=\"legend\">";
  for (const auto& [name, colour] : names_and_colours) {
    absl::StrAppend(&html, "<span><i style=\"background:", colour, "\"></i>", EscapeHtml(name),
                    "</span>");
  }
  return html + "</div>\n";
}

std::string EscapeHtml(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

}  // namespace baseband::ctl
