#include "client/ctl/svg_plot.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace baseband::ctl {
namespace {

// Pixels. A panel is its axes and the space around them for labels.
constexpr double kPanelWidth = 450;
constexpr double kPanelHeight = 400;
constexpr double kAxesLeft = 74;
constexpr double kAxesRight = 18;
constexpr double kAxesBottom = 52;
constexpr double kTitleHeight = 66;
constexpr double kLegendRow = 24;
constexpr double kLegendCell = 225;

// Colours that people who do not see all colours can tell apart (Okabe and Ito).
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#333333"};
constexpr int kNumMarkers = 6;

std::string Escape(absl::string_view text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string Text(double x, double y, absl::string_view attributes, absl::string_view text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, attributes,
                         Escape(text));
}

std::string Line(double x1, double y1, double x2, double y2, absl::string_view attributes) {
  return absl::StrFormat("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2,
                         y2, attributes);
}

std::string Marker(size_t index, double x, double y) {
  const std::string colour = kColours[index % std::size(kColours)];
  const std::string style =
      absl::StrCat("fill=\"#ffffff\" stroke=\"", colour, "\" stroke-width=\"2\"");
  const auto polygon = [&](const char* shape) {
    return absl::StrFormat("<path d=\"%s\" transform=\"translate(%.1f %.1f)\" %s/>\n", shape, x, y,
                           style);
  };
  switch (index % kNumMarkers) {
    case 0:
      return absl::StrFormat("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" %s/>\n", x, y, style);
    case 1:
      return polygon("M-3.7-3.7h7.4v7.4h-7.4z");
    case 2:
      return polygon("M0-5l4.6 8h-9.2z");
    case 3:
      return polygon("M0-5.2l5.2 5.2-5.2 5.2-5.2-5.2z");
    case 4:
      return polygon("M0 5l4.6-8h-9.2z");
    default:
      return polygon("M-4-4l8 8m-8 0l8-8");
  }
}

struct Ranges {
  double x_low = 0;
  double x_high = 1;
  int decade_low = -1;
  int decade_high = 0;
};

// All panels share the range of x; decades are those of `panel`.
Ranges FindRanges(const Plot& plot, const PlotPanel& panel) {
  double x_low = INFINITY;
  double x_high = -INFINITY;
  double y_low = INFINITY;
  double y_high = 0;
  for (const PlotPanel& any : plot.panels) {
    for (const PlotSeries& series : any.series) {
      for (const PlotPoint& point : series.points) {
        if (series.reference || point.y <= 0) {
          continue;
        }
        x_low = std::min(x_low, point.x);
        x_high = std::max(x_high, point.x);
        if (&any == &panel) {
          y_low = std::min(y_low, point.y);
          y_high = std::max(y_high, point.y);
        }
      }
    }
  }
  Ranges ranges;
  if (x_low <= x_high) {
    const double margin = std::max(0.04 * (x_high - x_low), 0.05);
    ranges.x_low = x_low - margin;
    ranges.x_high = x_high + margin;
  }
  if (y_high > 0) {
    ranges.decade_low = static_cast<int>(std::floor(std::log10(y_low) + 1e-9));
    ranges.decade_high = static_cast<int>(std::ceil(std::log10(y_high) - 1e-9));
    ranges.decade_low = std::min(ranges.decade_low, ranges.decade_high - 1);
  }
  return ranges;
}

// 1, 2 or 5 times a power of ten, so that there are five to ten ticks.
double TickStep(double range) {
  const double power = std::pow(10, std::floor(std::log10(range / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (range / (factor * power) <= 10) {
      return factor * power;
    }
  }
  return 10 * power;
}

class PanelPainter {
 public:
  PanelPainter(const Ranges& ranges, double left)
      : ranges_(ranges),
        left_(left + kAxesLeft),
        right_(left + kPanelWidth - kAxesRight),
        top_(kTitleHeight),
        bottom_(kTitleHeight + kPanelHeight - kAxesBottom) {}

  std::string Paint(const PlotPanel& panel, const std::string& x_label, int clip_id) const {
    std::string svg = Grid();
    absl::StrAppendFormat(&svg,
                          "<clipPath id=\"c%d\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                          "height=\"%.1f\"/></clipPath>\n<g clip-path=\"url(#c%d)\">\n",
                          clip_id, left_, top_ - 6, right_ - left_, bottom_ - top_ + 6, clip_id);
    size_t index = 0;
    for (const PlotSeries& series : panel.series) {
      svg += Curve(series, series.reference ? 0 : index);
      index += series.reference ? 0 : 1;
    }
    svg += "</g>\n";
    absl::StrAppendFormat(&svg,
                          "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                          "fill=\"none\" stroke=\"#444\"/>\n",
                          left_, top_, right_ - left_, bottom_ - top_);
    svg += Text((left_ + right_) / 2, bottom_ + 40, "text-anchor=\"middle\" font-size=\"14\"",
                x_label);
    const double middle = (top_ + bottom_) / 2;
    svg += Text(left_ - 52, middle,
                absl::StrFormat("text-anchor=\"middle\" font-size=\"14\" "
                                "transform=\"rotate(-90 %.1f %.1f)\"",
                                left_ - 52, middle),
                panel.y_label);
    return svg;
  }

 private:
  double X(double x) const {
    return left_ + (x - ranges_.x_low) / (ranges_.x_high - ranges_.x_low) * (right_ - left_);
  }
  double Y(double y) const {
    return bottom_ - (std::log10(y) - ranges_.decade_low) /
                         (ranges_.decade_high - ranges_.decade_low) * (bottom_ - top_);
  }

  std::string Grid() const {
    std::string svg;
    for (int decade = ranges_.decade_low; decade <= ranges_.decade_high; ++decade) {
      const double value = std::pow(10, decade);
      const double y = Y(value);
      for (int digit = 2; digit < 10 && decade < ranges_.decade_high; ++digit) {
        svg += Line(left_, Y(digit * value), right_, Y(digit * value), "stroke=\"#f0f0f0\"");
      }
      svg += Line(left_, y, right_, y, "stroke=\"#d4d4d4\"");
      absl::StrAppendFormat(&svg,
                            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">10<tspan dy=\"-5\" "
                            "font-size=\"9\">%d</tspan></text>\n",
                            left_ - 7, y + 5, decade);
    }
    const double step = TickStep(ranges_.x_high - ranges_.x_low);
    for (double tick = std::ceil(ranges_.x_low / step) * step; tick <= ranges_.x_high;
         tick += step) {
      svg += Line(X(tick), top_, X(tick), bottom_, "stroke=\"#d4d4d4\"");
      svg += Text(X(tick), bottom_ + 18, "text-anchor=\"middle\"",
                  absl::StrFormat("%g", std::round(tick * 1000) / 1000 + 0.0));
    }
    return svg;
  }

  std::string Curve(const PlotSeries& series, size_t index) const {
    const std::string colour = series.reference ? "#888888" : kColours[index % std::size(kColours)];
    std::string path;
    std::string marks;
    for (const PlotPoint& point : series.points) {
      if (point.y <= 0) {
        continue;
      }
      absl::StrAppendFormat(&path, "%s%.1f %.1f", path.empty() ? "M" : "L", X(point.x), Y(point.y));
      if (series.reference) {
        continue;
      }
      if (point.low < point.high) {
        const double bottom = point.low > 0 ? std::min(Y(point.low), bottom_) : bottom_;
        marks += Line(X(point.x), bottom, X(point.x), Y(point.high),
                      absl::StrCat("stroke=\"", colour, "\" stroke-opacity=\"0.5\""));
      }
      marks += Marker(index, X(point.x), Y(point.y));
    }
    return absl::StrFormat("<path d=\"%s\" fill=\"none\" stroke=\"%s\" %s/>\n%s", path, colour,
                           series.reference ? "stroke-dasharray=\"5 4\" stroke-width=\"1.2\""
                                            : "stroke-width=\"2\" stroke-linejoin=\"round\"",
                           marks);
  }

  const Ranges ranges_;
  const double left_;
  const double right_;
  const double top_;
  const double bottom_;
};

std::string LegendEntry(const PlotSeries& series, size_t index, double x, double y) {
  const std::string colour = series.reference ? "#888888" : kColours[index % std::size(kColours)];
  std::string svg =
      Line(x, y, x + 34, y,
           absl::StrCat("stroke=\"", colour, "\" ",
                        series.reference ? "stroke-dasharray=\"5 4\" stroke-width=\"1.2\""
                                         : "stroke-width=\"2\""));
  if (!series.reference) {
    svg += Marker(index, x + 17, y);
  }
  return svg + Text(x + 42, y + 5, "font-size=\"13\"", series.label);
}

}  // namespace

std::string RenderSvg(const Plot& plot) {
  const double width = kPanelWidth * std::max<double>(1, static_cast<double>(plot.panels.size()));
  // The legend lists what any panel shows; the panel with the most series has them all.
  std::vector<PlotSeries> legend;
  for (const PlotPanel& panel : plot.panels) {
    if (panel.series.size() > legend.size()) {
      legend = panel.series;
    }
  }
  const int columns = std::max(1, static_cast<int>((width - kAxesLeft) / kLegendCell));
  const int rows = (static_cast<int>(legend.size()) + columns - 1) / columns;
  const double height = kTitleHeight + kPanelHeight + kLegendRow * rows + 14;

  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
      "height=\"%.0f\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" "
      "font-size=\"12\" fill=\"#222\">\n<rect width=\"100%%\" height=\"100%%\" "
      "fill=\"#ffffff\"/>\n",
      width, height, width, height);
  svg += Text(width / 2, 27, "text-anchor=\"middle\" font-size=\"17\" font-weight=\"600\"",
              plot.title);
  svg +=
      Text(width / 2, 48, "text-anchor=\"middle\" font-size=\"12.5\" fill=\"#666\"", plot.subtitle);
  for (size_t i = 0; i < plot.panels.size(); ++i) {
    svg += PanelPainter(FindRanges(plot, plot.panels[i]), kPanelWidth * static_cast<double>(i))
               .Paint(plot.panels[i], plot.x_label, static_cast<int>(i));
  }
  size_t colour = 0;
  for (size_t i = 0; i < legend.size(); ++i) {
    const int row = static_cast<int>(i) / columns;
    const int column = static_cast<int>(i) % columns;
    svg += LegendEntry(legend[i], colour, kAxesLeft + kLegendCell * column,
                       kTitleHeight + kPanelHeight + 8 + kLegendRow * row);
    colour += legend[i].reference ? 0 : 1;
  }
  return svg + "</svg>\n";
}

}  // namespace baseband::ctl
