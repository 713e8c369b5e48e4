#include "client/ctl/downconvert/spectrum_plot.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/plot/svg_elements.h"

namespace baseband::ctl {
namespace {

// Pixels.
constexpr double kWidth = 1080;
constexpr double kLeft = 66;   // for the labels of y
constexpr double kRight = 20;  // and right of each panel
constexpr double kTop = 66;
constexpr double kWideHeight = 300;
constexpr double kSmallHeight = 210;
constexpr double kUnder = 48;       // for the labels of x
constexpr double kSmallTitle = 26;  // above a channel's panel
constexpr double kLabelRow = 16;    // of the bands' labels
constexpr int kColumns = 3;
constexpr size_t kMaxBands = 64;
constexpr double kMostDecibels = 160;  // between the top and the bottom of an axis

struct Unit {
  double hz;
  const char* name;
};
Unit UnitOf(double hz) {
  return hz >= 1e9   ? Unit{1e9, "GHz"}
         : hz >= 1e6 ? Unit{1e6, "MHz"}
         : hz >= 1e3 ? Unit{1e3, "kHz"}
                     : Unit{1, "Hz"};
}

struct Decibels {
  double low = -100;
  double high = 0;
};

// One axis of power for all panels, so that heights can be compared: whole tens, with some room
// above the highest; below, what all but the deepest hundredth of each curve needs.
Decibels FindRange(const SpectrumPlot& plot) {
  std::vector<const SpectrumCurve*> curves = {&plot.wideband};
  for (const ChannelPanel& panel : plot.channels) {
    curves.push_back(&panel.curve);
  }
  double high = -INFINITY;
  double low = INFINITY;
  for (const SpectrumCurve* curve : curves) {
    std::vector<double> sorted;
    for (const double value : curve->decibels) {
      if (value > -300) {
        sorted.push_back(value);
      }
    }
    if (sorted.empty()) {
      continue;
    }
    std::sort(sorted.begin(), sorted.end());
    high = std::max(high, sorted.back());
    low = std::min(low, sorted[sorted.size() / 100]);
  }
  if (!(low <= high)) {
    return Decibels();
  }
  Decibels range;
  range.high = 10 * std::ceil((high + 5) / 10);
  range.low = 10 * std::floor((std::max(low, high - kMostDecibels) - 3) / 10);
  return range;
}

class Axes {
 public:
  Axes(const SpectrumCurve& curve, Decibels range, double left, double top, double width,
       double height)
      : curve_(curve),
        range_(range),
        left_(left),
        top_(top),
        right_(left + width),
        bottom_(top + height),
        unit_(UnitOf(std::max(std::abs(curve.low_hz), std::abs(HighHz())))) {}

  double X(double hz) const {
    return left_ + (hz - curve_.low_hz) / (HighHz() - curve_.low_hz) * (right_ - left_);
  }
  double Y(double decibels) const {
    return bottom_ - (decibels - range_.low) / (range_.high - range_.low) * (bottom_ - top_);
  }
  double low_hz() const { return curve_.low_hz; }
  double HighHz() const {
    return curve_.low_hz + curve_.step_hz * static_cast<double>(curve_.decibels.size());
  }
  double top() const { return top_; }
  double bottom() const { return bottom_; }

  std::string Grid(bool label_y) const {
    std::string svg;
    const double step = std::max(10.0, svg::TickStep((range_.high - range_.low) / 1.2));
    for (double tick = std::ceil(range_.low / step) * step; tick <= range_.high; tick += step) {
      svg += svg::Line(left_, Y(tick), right_, Y(tick), "stroke=\"#e2e2e2\"");
      if (label_y) {
        svg += svg::Text(left_ - 7, Y(tick) + 4, "text-anchor=\"end\"", svg::TickLabel(tick, step));
      }
    }
    const double low = low_hz() / unit_.hz;
    const double high = HighHz() / unit_.hz;
    // Small panels have room for fewer ticks than TickStep() makes.
    const double x_step = svg::TickStep((high - low) * (right_ - left_ < 500 ? 1.6 : 1));
    for (double tick = std::ceil(low / x_step - 1e-9) * x_step; tick <= high + 1e-9 * x_step;
         tick += x_step) {
      const double x = X(tick * unit_.hz);
      svg += svg::Line(x, top_, x, bottom_, "stroke=\"#e2e2e2\"");
      svg += svg::Text(x, bottom_ + 18, "text-anchor=\"middle\"", svg::TickLabel(tick, x_step));
    }
    return svg;
  }

  std::string Names(absl::string_view x_label, bool label_y) const {
    const Unit bin_unit = UnitOf(curve_.step_hz);
    std::string svg = svg::Frame(left_, top_, right_, bottom_);
    svg += svg::Text((left_ + right_) / 2, bottom_ + 37, "text-anchor=\"middle\" font-size=\"13\"",
                     absl::StrFormat("%s [%s], bins of %.4g %s", x_label, unit_.name,
                                     curve_.step_hz / bin_unit.hz, bin_unit.name));
    if (label_y) {
      const double middle = (top_ + bottom_) / 2;
      svg += svg::Text(left_ - 46, middle,
                       absl::StrFormat("text-anchor=\"middle\" font-size=\"13\" "
                                       "transform=\"rotate(-90 %.1f %.1f)\"",
                                       left_ - 46, middle),
                       "power [dB of full scale]");
    }
    return svg;
  }

  // Where many bins share a pixel, the line from the least to the most of them.
  std::string Curve(const char* colour, int clip_id) const {
    const size_t bins = curve_.decibels.size();
    const size_t per_pixel =
        std::max<size_t>(1, bins / static_cast<size_t>(2 * (right_ - left_)) + 1);
    std::string path;
    const auto add = [&](size_t bin, double value) {
      absl::StrAppendFormat(&path, "%s%.1f %.1f", path.empty() ? "M" : "L",
                            X(curve_.low_hz + static_cast<double>(bin) * curve_.step_hz),
                            std::clamp(Y(value), top_ - 5, bottom_ + 5));
    };
    for (size_t bin = 0; bin < bins; bin += per_pixel) {
      const auto begin = curve_.decibels.begin() + static_cast<ptrdiff_t>(bin);
      const auto end =
          curve_.decibels.begin() + static_cast<ptrdiff_t>(std::min(bins, bin + per_pixel));
      const auto extremes = std::minmax_element(begin, end);
      add(bin, *extremes.first);
      if (extremes.first != extremes.second) {
        add(bin, *extremes.second);
      }
    }
    return absl::StrCat(svg::ClipBegin(clip_id, left_, top_, right_, bottom_),
                        absl::StrFormat("<path d=\"%s\" fill=\"none\" stroke=\"%s\" "
                                        "stroke-width=\"1.1\" stroke-linejoin=\"round\"/>\n",
                                        path, colour),
                        svg::ClipEnd());
  }

 private:
  const SpectrumCurve& curve_;
  const Decibels range_;
  const double left_;
  const double top_;
  const double right_;
  const double bottom_;
  const Unit unit_;
};

// The rows that labels around `centres` need so that none covers another, each the first that is
// free; -1 where there is none of `rows`.
std::vector<int> PlaceLabels(const std::vector<double>& centres, const std::vector<double>& widths,
                             int rows) {
  std::vector<size_t> order(centres.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return centres[a] < centres[b]; });
  std::vector<double> taken(rows, -INFINITY);
  std::vector<int> placed(centres.size(), -1);
  for (const size_t i : order) {
    for (int row = 0; row < rows && placed[i] < 0; ++row) {
      if (centres[i] - widths[i] / 2 > taken[row]) {
        taken[row] = centres[i] + widths[i] / 2 + 4;
        placed[i] = row;
      }
    }
  }
  return placed;
}

// Each channel a band in its colour, a line at its centre, its label on top.
std::string Bands(const SpectrumPlot& plot, const Axes& axes) {
  std::string svg;
  std::vector<double> centres;
  std::vector<double> widths;
  const size_t count = std::min(plot.bands.size(), kMaxBands);
  for (size_t i = 0; i < count; ++i) {
    const ChannelBand& band = plot.bands[i];
    // At least two pixels wide; a band over the edge goes on at the other end: frequencies fold.
    const double span = axes.HighHz() - axes.low_hz();
    const double half =
        std::min(span / 2, std::max(band.half_width_hz, span / (axes.X(axes.HighHz()) - kLeft)));
    for (const double shift : {-span, 0.0, span}) {
      const double low = std::max(axes.low_hz(), band.centre_hz + shift - half);
      const double high = std::min(axes.HighHz(), band.centre_hz + shift + half);
      if (low < high) {
        svg += absl::StrFormat(
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" "
            "fill-opacity=\"0.16\"/>\n",
            axes.X(low), axes.top(), axes.X(high) - axes.X(low), axes.bottom() - axes.top(),
            svg::Colour(i));
      }
    }
    double centre = band.centre_hz;
    centre -= span * std::floor((centre - axes.low_hz()) / span);
    svg += svg::Line(axes.X(centre), axes.top(), axes.X(centre), axes.bottom(),
                     absl::StrCat("stroke=\"", svg::Colour(i), "\" stroke-dasharray=\"3 3\""));
    centres.push_back(axes.X(centre));
    widths.push_back(7.0 * static_cast<double>(band.label.size()));
  }
  const std::vector<int> rows = PlaceLabels(centres, widths, 3);
  for (size_t i = 0; i < count; ++i) {
    if (rows[i] >= 0) {
      svg += svg::Text(
          centres[i], axes.top() + 13 + kLabelRow * rows[i],
          absl::StrCat("text-anchor=\"middle\" font-weight=\"600\" fill=\"", svg::Colour(i), "\""),
          plot.bands[i].label);
    }
  }
  return svg;
}

}  // namespace

std::string RenderSpectra(const SpectrumPlot& plot) {
  const int rows = (static_cast<int>(plot.channels.size()) + kColumns - 1) / kColumns;
  const double row_height = kSmallTitle + kSmallHeight + kUnder;
  std::string svg =
      svg::Open(kWidth, kTop + kWideHeight + kUnder + rows * row_height, plot.title, plot.subtitle);
  Decibels range = FindRange(plot);
  int clip_id = 0;
  if (!plot.wideband.decibels.empty()) {
    const Axes axes(plot.wideband, range, kLeft, kTop, kWidth - kLeft - kRight, kWideHeight);
    svg += axes.Grid(/*label_y=*/true);
    svg += axes.Curve("#555555", clip_id++);
    svg += Bands(plot, axes);
    svg += axes.Names("frequency", /*label_y=*/true);
  }
  // Fewer than fill a row share it.
  const size_t columns = std::min<size_t>(kColumns, std::max<size_t>(1, plot.channels.size()));
  const double cell = (kWidth - kLeft) / static_cast<double>(columns);
  for (size_t i = 0; i < plot.channels.size(); ++i) {
    const ChannelPanel& panel = plot.channels[i];
    const bool first = i % columns == 0;
    const double left = kLeft + cell * static_cast<double>(i % columns);
    const double top =
        kTop + kWideHeight + kUnder + kSmallTitle + row_height * static_cast<double>(i / columns);
    const Axes axes(panel.curve, range, left, top, cell - kRight, kSmallHeight);
    svg += svg::Text(left + (cell - kRight) / 2, top - 9,
                     absl::StrCat("text-anchor=\"middle\" font-size=\"13\" font-weight=\"600\" "
                                  "fill=\"",
                                  svg::Colour(panel.channel), "\""),
                     panel.title);
    svg += axes.Grid(first);
    svg += axes.Curve(svg::Colour(panel.channel), clip_id++);
    svg += axes.Names("from the channel's centre", first);
  }
  return svg + svg::Close();
}

}  // namespace baseband::ctl
