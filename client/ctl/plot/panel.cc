#include "client/ctl/plot/panel.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/plot/svg_elements.h"

namespace baseband::ctl {
namespace {

constexpr size_t kMaxDots = 6000;  // of a cloud

using Points = std::vector<std::pair<double, double>>;  // in pixels

bool IsOn(const PlotAxis& axis, double value) {
  return std::isfinite(value) && (!axis.decades || value > 0);
}

// The value as it is drawn.
double Drawn(const PlotAxis& axis, double value) {
  return axis.decades ? std::log10(value) : value;
}

// A range that holds all `values`, as they are drawn, and `margin` of it at either end.
void SetRange(const std::vector<double>& values, double margin, PlotAxis* axis) {
  if (axis->low < axis->high) {
    return;
  }
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  axis->low = values.empty() ? -1 : *least;
  axis->high = values.empty() ? 0 : *greatest;
  if (!axis->names.empty()) {
    axis->low = 0.5 - static_cast<double>(axis->names.size());
    axis->high = 0.5;
  } else if (axis->decades) {
    axis->high = std::ceil(axis->high - 1e-9);
    axis->low = std::min(std::floor(axis->low + 1e-9), axis->high - 1);
  } else {
    const double room = axis->low < axis->high ? margin * (axis->high - axis->low) : 0.05;
    axis->low -= room;
    axis->high += room;
  }
}

// What nearly all points of all clouds lie within: a few stray ones must not shrink the others.
double RadiusOf(const std::vector<PlotCloud>& clouds) {
  float radius = 0;
  for (const PlotCloud& cloud : clouds) {
    std::vector<float> radii = {0};
    for (const auto& point : cloud.points) {
      radii.push_back(std::abs(point));
    }
    const auto most = radii.begin() + static_cast<ptrdiff_t>((radii.size() - 1) * 499 / 500);
    std::nth_element(radii.begin(), most, radii.end());
    radius = std::max(radius, *most);
  }
  return radius > 0 ? 1.08 * radius : 1;
}

struct Tick {
  double at = 0;      // as it is drawn
  std::string label;  // empty: a faint line
};

std::vector<Tick> TicksOf(const PlotAxis& axis, double pixels) {
  std::vector<Tick> ticks;
  for (size_t i = 0; i < axis.names.size(); ++i) {
    ticks.push_back({-static_cast<double>(i), axis.names[i]});
  }
  for (double decade = axis.low; axis.decades && decade <= axis.high; ++decade) {
    ticks.push_back({decade, std::abs(decade) < 5 ? absl::StrFormat("%g", std::pow(10, decade))
                                                  : absl::StrCat("1e", decade)});
    for (int digit = 2; digit < 10 && decade < axis.high; ++digit) {
      ticks.push_back({decade + std::log10(digit), ""});
    }
  }
  if (ticks.empty()) {
    const double step = svg::TickStep(axis.high - axis.low, pixels < 320 ? 6 : 10);
    for (double tick = std::ceil(axis.low / step - 1e-9) * step; tick <= axis.high + 1e-9 * step;
         tick += step) {
      ticks.push_back({tick, svg::TickLabel(tick, step)});
    }
  }
  return ticks;
}

// "M1 2L3 4..": of `together` points that follow one another the least and the greatest.
std::string PathOf(const Points& points, size_t together) {
  std::string path;
  for (size_t i = 0; i < points.size(); i += together) {
    const auto first = points.begin() + static_cast<ptrdiff_t>(i);
    const auto last = first + static_cast<ptrdiff_t>(std::min(together, points.size() - i));
    const auto ends = std::minmax_element(
        first, last, [](const auto& a, const auto& b) { return a.second < b.second; });
    absl::StrAppendFormat(&path, "%s%.1f %.1f", i == 0 ? "M" : "L", first->first,
                          ends.first->second);
    if (ends.first != ends.second) {
      absl::StrAppendFormat(&path, "V%.1f", ends.second->second);
    }
  }
  return path;
}

std::string StrokeOf(const PlotSeries& series, int style) {
  return absl::StrCat("fill=\"none\" stroke-linejoin=\"round\" stroke=\"",
                      series.reference ? svg::kGrey : svg::Colour(static_cast<size_t>(style)),
                      series.reference                 ? "\" stroke-dasharray=\"5 4\""
                      : series.mark == PlotMark::kNone ? "\" stroke-width=\"1.2\""
                                                       : "\" stroke-width=\"2\"");
}

std::string DrawMark(const PlotSeries& series, int style, double x, double y) {
  if (series.reference || series.mark == PlotMark::kNone) {
    return "";
  }
  if (series.mark == PlotMark::kSymbol) {
    return svg::Marker(static_cast<size_t>(style), x, y);
  }
  if (series.mark == PlotMark::kTick) {
    return svg::Line(x, y - 9, x, y + 9, "stroke=\"#888888\" stroke-width=\"3\"");
  }
  const std::string target = absl::StrFormat(
      "M%.1f %.1fm-7 0a7 7 0 1 0 14 0a7 7 0 1 0-14 0m-4 0h7m8 0h7m-11-11v7m0 8v7", x, y);
  return svg::Path(target, "fill=\"none\" stroke=\"#000\" stroke-width=\"4\"") +
         svg::Path(target, "fill=\"none\" stroke=\"#fff\" stroke-width=\"1.8\"");
}

class Painter {
 public:
  Painter(const PlotPanel& panel, double left, double top)
      : panel_(panel),
        left_(left),
        top_(top),
        right_(left + panel.width),
        bottom_(top + panel.height) {}

  std::string Paint() const {
    std::string svg = Grid();
    if (panel_.cells.columns > 0) {
      svg += DrawCells(panel_.cells, left_, top_, panel_.width, panel_.height);
    }
    // An element of its own, which cuts off what leaves it; marks at the very top have some room.
    absl::StrAppendFormat(&svg,
                          "<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                          "viewBox=\"%.1f %.1f %.1f %.1f\">\n",
                          left_, top_ - 6, panel_.width, panel_.height + 6, left_, top_ - 6,
                          panel_.width, panel_.height + 6);
    for (const PlotCloud& cloud : panel_.clouds) {
      svg += Cloud(cloud);
    }
    int next = 0;
    for (const PlotSeries& series : panel_.series) {
      svg += Series(series, series.style.value_or(next));
      next += series.reference ? 0 : 1;
    }
    svg += svg::Close();
    for (size_t i = 0; i < panel_.bands.size(); ++i) {
      svg += Band(panel_.bands[i], static_cast<double>(i % 3));
    }
    return svg + Frame();
  }

 private:
  double X(double drawn) const {
    return left_ + (drawn - panel_.x.low) / (panel_.x.high - panel_.x.low) * panel_.width;
  }
  double Y(double drawn) const {
    return bottom_ - (drawn - panel_.y.low) / (panel_.y.high - panel_.y.low) * panel_.height;
  }

  // A line at each tick, from its label through all of the panel.
  std::string Grid() const {
    std::string svg;
    const auto look = [](const Tick& tick) {
      return tick.label.empty() ? "stroke=\"#f0f0f0\"" : "stroke=\"#d4d4d4\"";
    };
    for (const Tick& tick : TicksOf(panel_.x, panel_.width)) {
      svg += svg::Line(X(tick.at), top_, X(tick.at), bottom_ + 4, look(tick));
      svg += svg::Text(X(tick.at), bottom_ + 18, "text-anchor=\"middle\"", tick.label);
    }
    for (const Tick& tick : TicksOf(panel_.y, panel_.height)) {
      svg += svg::Line(left_ - 4, Y(tick.at), right_, Y(tick.at), look(tick));
      svg += svg::Text(left_ - 7, Y(tick.at) + 4, "text-anchor=\"end\"", tick.label);
    }
    return svg;
  }

  std::string Frame() const {
    const double middle = (left_ + right_) / 2;
    const double label_x = left_ - LeftMargin(panel_) + 22;
    const double label_y = (top_ + bottom_) / 2;
    constexpr char kLabel[] = "text-anchor=\"middle\" font-size=\"14\"";
    const char* const colour = panel_.title_style.has_value()
                                   ? svg::Colour(static_cast<size_t>(*panel_.title_style))
                                   : "#222";
    return svg::Rect(left_, top_, panel_.width, panel_.height, "fill=\"none\" stroke=\"#444\"") +
           svg::Text(middle, bottom_ + 40, kLabel, panel_.x.label) +
           svg::Text(
               label_x, label_y,
               absl::StrFormat("%s transform=\"rotate(-90 %.1f %.1f)\"", kLabel, label_x, label_y),
               panel_.y.label) +
           svg::Text(middle, top_ - 9,
                     absl::StrCat("text-anchor=\"middle\" font-size=\"13\" font-weight=\"600\" "
                                  "fill=\"",
                                  colour, "\""),
                     panel_.title);
  }

  std::string Series(const PlotSeries& series, int style) const {
    Points points;
    std::string marks;
    for (const PlotPoint& point : series.points) {
      if (!IsOn(panel_.x, point.x) || !IsOn(panel_.y, point.y)) {
        continue;
      }
      const double x = X(Drawn(panel_.x, point.x));
      points.emplace_back(x, Y(Drawn(panel_.y, point.y)));
      if (point.low < point.high) {
        const bool has_end = IsOn(panel_.y, point.low);
        marks += svg::Line(x, has_end ? Y(Drawn(panel_.y, point.low)) : bottom_, x,
                           Y(Drawn(panel_.y, point.high)),
                           absl::StrCat(StrokeOf(series, style), " stroke-opacity=\"0.5\""));
      }
      marks += DrawMark(series, style, x, points.back().second);
    }
    // Many points within a pixel.
    const size_t together = series.mark != PlotMark::kNone
                                ? 1
                                : points.size() / static_cast<size_t>(2 * panel_.width) + 1;
    return (series.line ? svg::Path(PathOf(points, together), StrokeOf(series, style)) : "") +
           marks;
  }

  // One path of all points; dots are lines of no length with round ends.
  std::string Cloud(const PlotCloud& cloud) const {
    std::string path;
    std::set<std::pair<int, int>> taken;  // half pixels
    const size_t stride = (cloud.points.size() + kMaxDots - 1) / kMaxDots;
    for (size_t i = 0; i < cloud.points.size(); i += stride) {
      const double x = X(cloud.points[i].real());
      const double y = Y(cloud.points[i].imag());
      if (std::isfinite(x) && std::isfinite(y) &&
          taken.emplace(static_cast<int>(2 * x), static_cast<int>(2 * y)).second) {
        absl::StrAppendFormat(
            &path, cloud.crosses ? "M%.1f %.1fm-3-3l6 6m-6 0l6-6" : "M%.1f %.1fh0", x, y);
      }
    }
    return svg::Path(path, absl::StrCat("fill=\"none\" stroke=\"", svg::Colour(cloud.crosses),
                                        cloud.crosses ? "\" stroke-width=\"1.4\""
                                                      : "\" stroke-width=\"1.8\" "
                                                        "stroke-linecap=\"round\" "
                                                        "stroke-opacity=\"0.4\""));
  }

  // `row`: of its label, so that those of neighbours do not cover it.
  std::string Band(const PlotBand& band, double row) const {
    const double low = panel_.x.low;
    const double span = panel_.x.high - low;
    // At least two pixels wide.
    const double half = std::min(span / 2, std::max(band.half_width, span / panel_.width));
    const std::string colour = svg::Colour(static_cast<size_t>(band.style));
    std::string svg;
    for (const double shift : {-span, 0.0, span}) {
      const double begin = X(std::max(low, band.centre + shift - half));
      const double end = X(std::min(low + span, band.centre + shift + half));
      if (begin < end) {
        svg += svg::Rect(begin, top_, end - begin, panel_.height,
                         absl::StrCat("fill=\"", colour, "\" fill-opacity=\"0.16\""));
      }
    }
    const double middle = X(band.centre - span * std::floor((band.centre - low) / span));
    return svg +
           svg::Line(middle, top_, middle, bottom_,
                     absl::StrCat("stroke=\"", colour, "\" stroke-dasharray=\"3 3\"")) +
           svg::Text(
               middle, top_ + 13 + 16 * row,
               absl::StrCat("text-anchor=\"middle\" font-weight=\"600\" fill=\"", colour, "\""),
               band.label);
  }

  const PlotPanel& panel_;
  const double left_;
  const double top_;
  const double right_;
  const double bottom_;
};

}  // namespace

PlotPanel WithRanges(const std::vector<PlotPanel>& all, PlotPanel panel) {
  std::vector<double> xs;
  std::vector<double> ys;
  if (!panel.clouds.empty()) {
    const double radius = RadiusOf(panel.clouds);
    panel.x.decades = panel.y.decades = false;
    panel.y.low = -radius;
    panel.y.high = radius;
    panel.x.high = radius * panel.width / panel.height;
    panel.x.low = -panel.x.high;
  }
  const auto add = [&](const PlotPanel& of, bool with_y) {
    for (const PlotSeries& series : of.series) {
      for (const PlotPoint& point : series.points) {
        if (series.reference || !IsOn(of.x, point.x) || !IsOn(of.y, point.y)) {
          continue;
        }
        xs.push_back(Drawn(panel.x, point.x));
        if (with_y) {
          ys.push_back(Drawn(panel.y, point.y));
        }
      }
    }
  };
  add(panel, /*with_y=*/true);
  for (const PlotPanel& other : all) {
    if (other.x.label.empty() && panel.x.label.empty()) {
      add(other, /*with_y=*/false);
    }
  }
  SetRange(xs, 0.04, &panel.x);
  SetRange(ys, 0.06, &panel.y);
  return panel;
}

double LeftMargin(const PlotPanel& panel) {
  size_t longest = 0;
  for (const Tick& tick : TicksOf(panel.y, panel.height)) {
    longest = std::max(longest, tick.label.size());
  }
  return std::max(74.0, 34 + 6.7 * static_cast<double>(longest));
}

std::string DrawPanel(const PlotPanel& panel, double left, double top) {
  return Painter(panel, left, top).Paint();
}

std::string DrawSample(const PlotSeries& series, int style, double x, double y) {
  return (series.line ? svg::Line(x, y, x + 34, y, StrokeOf(series, style)) : "") +
         DrawMark(series, style, x + 17, y);
}

}  // namespace baseband::ctl
