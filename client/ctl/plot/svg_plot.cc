#include "client/ctl/plot/svg_plot.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/plot/svg_elements.h"

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
constexpr double kAxesWidth = kPanelWidth - kAxesLeft - kAxesRight;
constexpr double kAxesHeight = kPanelHeight - kAxesBottom;

constexpr size_t kMaxDots = 6000;

// What the axes span as it is drawn, that is, of a logarithmic axis the decades.
struct Ranges {
  double x_low = 0;
  double x_high = 1;
  double y_low = -1;
  double y_high = 0;
};

// The least interval that holds all that was added.
struct Extent {
  double low = INFINITY;
  double high = -INFINITY;
  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

bool IsDrawn(const PlotPanel& panel, const PlotPoint& point) {
  return std::isfinite(point.y) && (panel.linear || point.y > 0) && (!panel.log_x || point.x > 0);
}

Ranges CloudRanges(const PlotPanel& panel) {
  double extent = 0;
  for (const PlotCloud& cloud : panel.clouds) {
    std::vector<float> radii;
    for (const auto& point : cloud.points) {
      radii.push_back(std::abs(point));
    }
    if (!radii.empty()) {
      // A few stray points must not shrink all others.
      const auto most = radii.begin() + static_cast<ptrdiff_t>((radii.size() - 1) * 499 / 500);
      std::nth_element(radii.begin(), most, radii.end());
      extent = std::max(extent, static_cast<double>(*most));
    }
  }
  extent = extent > 0 ? 1.08 * extent : 1;
  const double aspect = kAxesWidth / kAxesHeight;
  return {-extent * aspect, extent * aspect, -extent, extent};
}

// Panels without an x label of their own share the range of x.
Ranges FindRanges(const Plot& plot, const PlotPanel& panel) {
  if (!panel.clouds.empty()) {
    return CloudRanges(panel);
  }
  Extent x;
  Extent y;
  for (const PlotPanel& any : plot.panels) {
    const bool same_x = &any == &panel || (any.x_label.empty() && panel.x_label.empty());
    for (const PlotSeries& series : any.series) {
      for (const PlotPoint& point : series.points) {
        if (series.reference || !IsDrawn(any, point)) {
          continue;
        }
        if (same_x) {
          x.Add(point.x);
        }
        if (&any == &panel) {
          y.Add(point.y);
        }
      }
    }
  }
  Ranges ranges;
  if (!x.empty() && panel.log_x) {
    ranges.x_low = std::floor(std::log10(x.low) + 1e-9);
    ranges.x_high = std::max(std::ceil(std::log10(x.high) - 1e-9), ranges.x_low + 1);
  } else if (!x.empty()) {
    const double margin = x.high > x.low ? 0.04 * (x.high - x.low) : 0.05;
    ranges.x_low = x.low - margin;
    ranges.x_high = x.high + margin;
  }
  if (panel.linear) {
    const double margin = y.empty() ? 0 : std::max(0.06 * (y.high - y.low), 1e-9);
    ranges.y_low = panel.y_low < panel.y_high ? panel.y_low : y.empty() ? 0 : y.low - margin;
    ranges.y_high = panel.y_low < panel.y_high ? panel.y_high : y.empty() ? 1 : y.high + margin;
  } else if (!y.empty()) {
    ranges.y_high = std::ceil(std::log10(y.high) - 1e-9);
    ranges.y_low = std::min(std::floor(std::log10(y.low) + 1e-9), ranges.y_high - 1);
  }
  return ranges;
}

class PanelPainter {
 public:
  PanelPainter(const PlotPanel& panel, const Ranges& ranges, double left)
      : panel_(panel),
        ranges_(ranges),
        linear_(panel.linear || !panel.clouds.empty()),
        left_(left + kAxesLeft),
        right_(left_ + kAxesWidth),
        top_(kTitleHeight),
        bottom_(top_ + kAxesHeight) {}

  std::string Paint(const std::string& shared_x_label, int clip_id) const {
    std::string svg = linear_ ? LinearGrid() : DecadeGrid();
    svg += panel_.log_x ? XDecades() : XTicks();
    // Room for markers of values at the very top, unless that was not chosen by the values.
    const double above = panel_.y_low < panel_.y_high ? 0 : 6;
    svg += svg::ClipBegin(clip_id, left_, top_ - above, right_, bottom_);
    for (const PlotCloud& cloud : panel_.clouds) {
      svg += Cloud(cloud);
    }
    size_t index = 0;
    for (const PlotSeries& series : panel_.series) {
      svg += Curve(series, series.style.value_or(static_cast<int>(index)));
      index += series.reference ? 0 : 1;
    }
    svg += svg::ClipEnd();
    svg += svg::Frame(left_, top_, right_, bottom_);
    svg += svg::Text((left_ + right_) / 2, bottom_ + 40, "text-anchor=\"middle\" font-size=\"14\"",
                     panel_.x_label.empty() ? shared_x_label : panel_.x_label);
    const double middle = (top_ + bottom_) / 2;
    return svg + svg::Text(left_ - 52, middle,
                           absl::StrFormat("text-anchor=\"middle\" font-size=\"14\" "
                                           "transform=\"rotate(-90 %.1f %.1f)\"",
                                           left_ - 52, middle),
                           panel_.y_label);
  }

 private:
  double X(double x) const {
    const double drawn = panel_.log_x ? std::log10(x) : x;
    return left_ + (drawn - ranges_.x_low) / (ranges_.x_high - ranges_.x_low) * kAxesWidth;
  }
  double Y(double y) const {
    const double drawn = linear_ ? y : std::log10(y);
    return bottom_ - (drawn - ranges_.y_low) / (ranges_.y_high - ranges_.y_low) * kAxesHeight;
  }

  std::string DecadeGrid() const {
    std::string svg;
    for (int decade = static_cast<int>(ranges_.y_low); decade <= ranges_.y_high; ++decade) {
      const double value = std::pow(10, decade);
      const double y = Y(value);
      for (int digit = 2; digit < 10 && decade < ranges_.y_high; ++digit) {
        svg += svg::Line(left_, Y(digit * value), right_, Y(digit * value), "stroke=\"#f0f0f0\"");
      }
      svg += svg::Line(left_, y, right_, y, "stroke=\"#d4d4d4\"");
      svg += svg::PowerOfTen(left_ - 7, y + 5, "text-anchor=\"end\"", decade);
    }
    return svg;
  }

  std::string LinearGrid() const {
    std::string svg;
    const double step = svg::TickStep(ranges_.y_high - ranges_.y_low);
    for (double tick = std::ceil(ranges_.y_low / step) * step; tick <= ranges_.y_high;
         tick += step) {
      svg += svg::Line(left_, Y(tick), right_, Y(tick), "stroke=\"#d4d4d4\"");
      svg += svg::Text(left_ - 7, Y(tick) + 4, "text-anchor=\"end\"", svg::TickLabel(tick, step));
    }
    return svg;
  }

  std::string XDecades() const {
    std::string svg;
    for (int decade = static_cast<int>(ranges_.x_low); decade <= ranges_.x_high; ++decade) {
      const double value = std::pow(10, decade);
      for (int digit = 2; digit < 10 && decade < ranges_.x_high; ++digit) {
        svg += svg::Line(X(digit * value), top_, X(digit * value), bottom_, "stroke=\"#f0f0f0\"");
      }
      svg += svg::Line(X(value), top_, X(value), bottom_, "stroke=\"#d4d4d4\"");
      svg += svg::PowerOfTen(X(value), bottom_ + 20, "text-anchor=\"middle\"", decade);
    }
    return svg;
  }

  std::string XTicks() const {
    std::string svg;
    const double step = svg::TickStep(ranges_.x_high - ranges_.x_low);
    for (double tick = std::ceil(ranges_.x_low / step) * step; tick <= ranges_.x_high;
         tick += step) {
      svg += svg::Line(X(tick), top_, X(tick), bottom_, "stroke=\"#d4d4d4\"");
      svg += svg::Text(X(tick), bottom_ + 18, "text-anchor=\"middle\"", svg::TickLabel(tick, step));
    }
    return svg;
  }

  std::string Curve(const PlotSeries& series, int style) const {
    const std::string colour = series.reference ? svg::kGrey : svg::Colour(style);
    std::string path;
    std::string marks;
    for (const PlotPoint& point : series.points) {
      if (!IsDrawn(panel_, point)) {
        continue;
      }
      absl::StrAppendFormat(&path, "%s%.1f %.1f", path.empty() ? "M" : "L", X(point.x), Y(point.y));
      if (series.reference || !series.markers) {
        continue;
      }
      if (point.low < point.high) {
        const double bottom = linear_ || point.low > 0 ? std::min(Y(point.low), bottom_) : bottom_;
        marks += svg::Line(X(point.x), bottom, X(point.x), Y(point.high),
                           absl::StrCat("stroke=\"", colour, "\" stroke-opacity=\"0.5\""));
      }
      marks += svg::Marker(style, X(point.x), Y(point.y));
    }
    if (!series.line) {
      return marks;
    }
    const char* look = series.reference ? "stroke-dasharray=\"5 4\" stroke-width=\"1.2\""
                       : series.markers ? "stroke-width=\"2\" stroke-linejoin=\"round\""
                                        : "stroke-width=\"1.2\" stroke-linejoin=\"round\"";
    return absl::StrFormat("<path d=\"%s\" fill=\"none\" stroke=\"%s\" %s/>\n%s", path, colour,
                           look, marks);
  }

  // One path of all points; dots are lines of no length with round ends.
  std::string Cloud(const PlotCloud& cloud) const {
    std::string path;
    std::set<std::pair<int, int>> taken;  // half pixels
    const size_t stride = (cloud.points.size() + kMaxDots - 1) / kMaxDots;
    for (size_t i = 0; i < cloud.points.size(); i += stride) {
      const double x = X(cloud.points[i].real());
      const double y = Y(cloud.points[i].imag());
      if (!std::isfinite(x) || !std::isfinite(y) ||
          !taken.emplace(static_cast<int>(2 * x), static_cast<int>(2 * y)).second) {
        continue;
      }
      absl::StrAppendFormat(&path, cloud.crosses ? "M%.1f %.1fm-3-3l6 6m-6 0l6-6" : "M%.1f %.1fh0",
                            x, y);
    }
    return absl::StrFormat(
        "<path d=\"%s\" fill=\"none\" stroke=\"%s\" %s/>\n", path,
        svg::Colour(cloud.crosses ? 1 : 0),
        cloud.crosses ? "stroke-width=\"1.4\""
                      : "stroke-width=\"1.8\" stroke-linecap=\"round\" stroke-opacity=\"0.4\"");
  }

  const PlotPanel& panel_;
  const Ranges ranges_;
  const bool linear_;
  const double left_;
  const double right_;
  const double top_;
  const double bottom_;
};

std::string LegendEntry(const PlotSeries& series, int style, double x, double y) {
  const std::string colour = series.reference ? svg::kGrey : svg::Colour(style);
  std::string svg;
  if (series.line || series.reference) {
    svg += svg::Line(x, y, x + 34, y,
                     absl::StrCat("stroke=\"", colour, "\" ",
                                  series.reference ? "stroke-dasharray=\"5 4\" stroke-width=\"1.2\""
                                                   : "stroke-width=\"2\""));
  }
  if (!series.reference && series.markers) {
    svg += svg::Marker(style, x + 17, y);
  }
  return svg + svg::Text(x + 42, y + 5, "font-size=\"13\"", series.label);
}

// What any panel shows, and its style; the panel with the most series has them all.
std::vector<std::pair<PlotSeries, int>> Legend(const Plot& plot) {
  const PlotPanel* most = nullptr;
  for (const PlotPanel& panel : plot.panels) {
    if (most == nullptr || panel.series.size() > most->series.size()) {
      most = &panel;
    }
  }
  std::vector<std::pair<PlotSeries, int>> legend;
  int index = 0;
  for (const PlotSeries& series : most == nullptr ? std::vector<PlotSeries>() : most->series) {
    if (series.in_legend) {
      legend.emplace_back(series, series.style.value_or(index));
    }
    index += series.reference ? 0 : 1;
  }
  return legend;
}

}  // namespace

std::string RenderSvg(const Plot& plot) {
  const double width = kPanelWidth * std::max<double>(1, static_cast<double>(plot.panels.size()));
  const auto legend = Legend(plot);
  const int columns = std::max(1, static_cast<int>((width - kAxesLeft) / kLegendCell));
  const int rows = (static_cast<int>(legend.size()) + columns - 1) / columns;
  std::string svg = svg::Open(width, kTitleHeight + kPanelHeight + kLegendRow * rows + 14,
                              plot.title, plot.subtitle);
  for (size_t i = 0; i < plot.panels.size(); ++i) {
    svg += PanelPainter(plot.panels[i], FindRanges(plot, plot.panels[i]),
                        kPanelWidth * static_cast<double>(i))
               .Paint(plot.x_label, static_cast<int>(i));
  }
  for (size_t i = 0; i < legend.size(); ++i) {
    const int row = static_cast<int>(i) / columns;
    const int column = static_cast<int>(i) % columns;
    svg += LegendEntry(legend[i].first, legend[i].second, kAxesLeft + kLegendCell * column,
                       kTitleHeight + kPanelHeight + 8 + kLegendRow * row);
  }
  return svg + svg::Close();
}

}  // namespace baseband::ctl
