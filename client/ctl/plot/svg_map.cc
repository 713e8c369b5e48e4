#include "client/ctl/plot/svg_map.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/plot/png.h"
#include "client/ctl/plot/svg_elements.h"

namespace baseband::ctl {
namespace {

// Pixels.
constexpr double kWidth = 760;
constexpr double kLeft = 92;
constexpr double kTop = 66;
constexpr double kSide = 520;
constexpr double kRight = kLeft + kSide;
constexpr double kBottom = kTop + kSide;
constexpr double kBarLeft = kRight + 26;
constexpr double kBarRight = kBarLeft + 20;
constexpr double kHeight = kBottom + 88;

constexpr int kColours = 255;  // and grey
constexpr Rgb kNoValue = {0xbd, 0xbd, 0xbd};
// Viridis at multiples of 1/8.
constexpr Rgb kViridis[] = {{0x44, 0x01, 0x54}, {0x47, 0x2d, 0x7b}, {0x3b, 0x52, 0x8b},
                            {0x2c, 0x72, 0x8e}, {0x21, 0x91, 0x8c}, {0x28, 0xae, 0x80},
                            {0x5e, 0xc9, 0x62}, {0xad, 0xdc, 0x30}, {0xfd, 0xe7, 0x25}};

std::vector<Rgb> Palette() {
  constexpr size_t kParts = std::size(kViridis) - 1;
  std::vector<Rgb> palette;
  for (int i = 0; i < kColours; ++i) {
    const double at = static_cast<double>(kParts) * i / (kColours - 1);
    const size_t part = std::min(static_cast<size_t>(at), kParts - 1);
    const double rest = at - static_cast<double>(part);
    Rgb colour;
    for (size_t c = 0; c < colour.size(); ++c) {
      const double mixed = (1 - rest) * kViridis[part][c] + rest * kViridis[part + 1][c];
      colour[c] = static_cast<uint8_t>(std::lround(mixed));
    }
    palette.push_back(colour);
  }
  palette.push_back(kNoValue);
  return palette;
}

struct Range {
  double low = INFINITY;
  double high = -INFINITY;
};
Range FiniteRange(const std::vector<double>& values) {
  Range range;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range.low <= range.high ? range : Range{0, 1};
}

std::string Picture(double left, double top, double width, double height, int columns,
                    const std::vector<uint8_t>& pixels) {
  const std::string png = ToPng(columns, pixels, Palette());
  return absl::StrFormat(
      "<image x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" preserveAspectRatio=\"none\" "
      "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,%s\"/>\n",
      left, top, width, height, absl::Base64Escape(png));
}

std::string Cells(const HeatMap& map, const Range& range) {
  const auto columns = static_cast<size_t>(map.x.cells);
  const auto rows = static_cast<size_t>(map.y.cells);
  const double scale = range.high > range.low ? (kColours - 1) / (range.high - range.low) : 0;
  std::vector<uint8_t> pixels(columns * rows);
  for (size_t i = 0; i < columns; ++i) {
    for (size_t j = 0; j < rows; ++j) {
      const size_t column = map.x.low <= map.x.high ? i : columns - 1 - i;
      const size_t row = map.y.low <= map.y.high ? rows - 1 - j : j;
      const double value = map.values[i * rows + j];
      pixels[row * columns + column] =
          std::isfinite(value) ? static_cast<uint8_t>(std::lround((value - range.low) * scale))
                               : uint8_t{kColours};
    }
  }
  return Picture(kLeft, kTop, kSide, kSide, map.x.cells, pixels);
}

// Calls draw(coordinate, its place in [0, 1], label) for each tick of [low, high].
template <typename Draw>
void ForEachTick(double low, double high, Draw draw) {
  const double step = svg::TickStep(high - low);
  for (double tick = std::ceil(low / step - 1e-9) * step; tick <= high + 1e-9 * step;
       tick += step) {
    draw((tick - low) / (high - low), svg::TickLabel(tick, step));
  }
}

std::string Turned(double x, const std::string& label) {
  const double middle = (kTop + kBottom) / 2;
  return svg::Text(x, middle,
                   absl::StrFormat("text-anchor=\"middle\" font-size=\"14\" "
                                   "transform=\"rotate(-90 %.1f %.1f)\"",
                                   x, middle),
                   label);
}

std::string Axes(const HeatMap& map) {
  constexpr char kTick[] = "stroke=\"#444\"";
  std::string svg = svg::Frame(kLeft, kTop, kRight, kBottom);
  ForEachTick(std::min(map.x.low, map.x.high), std::max(map.x.low, map.x.high),
              [&](double place, const std::string& label) {
                const double x = kLeft + place * kSide;
                svg += svg::Line(x, kBottom, x, kBottom + 5, kTick);
                svg += svg::Text(x, kBottom + 19, "text-anchor=\"middle\"", label);
              });
  ForEachTick(std::min(map.y.low, map.y.high), std::max(map.y.low, map.y.high),
              [&](double place, const std::string& label) {
                const double y = kBottom - place * kSide;
                svg += svg::Line(kLeft - 5, y, kLeft, y, kTick);
                svg += svg::Text(kLeft - 9, y + 4, "text-anchor=\"end\"", label);
              });
  svg += svg::Text((kLeft + kRight) / 2, kBottom + 42, "text-anchor=\"middle\" font-size=\"14\"",
                   map.x.label);
  return svg + Turned(kLeft - 68, map.y.label);
}

std::string Bar(const std::string& label, const Range& range) {
  std::vector<uint8_t> pixels;
  for (int i = kColours - 1; i >= 0; --i) pixels.push_back(static_cast<uint8_t>(i));
  std::string svg = Picture(kBarLeft, kTop, kBarRight - kBarLeft, kSide, 1, pixels);
  svg += svg::Frame(kBarLeft, kTop, kBarRight, kBottom);
  if (range.high > range.low) {
    ForEachTick(range.low, range.high, [&](double place, const std::string& tick) {
      const double y = kBottom - place * kSide;
      svg += svg::Line(kBarRight, y, kBarRight + 5, y, "stroke=\"#444\"");
      svg += svg::Text(kBarRight + 9, y + 4, "", tick);
    });
  }
  return svg + Turned(kWidth - 14, label);
}

// A cross in a ring, white on black, to be seen on every colour.
std::string Mark(double x, double y) {
  std::string svg;
  for (const char* look : {"stroke=\"#000\" stroke-width=\"4\"",
                           "stroke=\"#fff\" "
                           "stroke-width=\"1.8\""}) {
    absl::StrAppendFormat(&svg,
                          "<path d=\"M%.1f %.1fm-7 0a7 7 0 1 0 14 0a7 7 0 1 0-14 0m-4 0h7m8 0h7"
                          "m-11-11v7m0 8v7\" fill=\"none\" %s/>\n",
                          x, y, look);
  }
  return svg;
}

}  // namespace

std::string RenderSvg(const HeatMap& map) {
  const Range range = FiniteRange(map.values);
  std::string svg = svg::Open(kWidth, kHeight, map.title, map.subtitle);
  svg += Cells(map, range);
  svg += Axes(map);
  svg += Bar(map.value_label, range);
  const auto place = [](const MapAxis& axis, double at) {
    const double low = std::min(axis.low, axis.high);
    return (at - low) / (std::max(axis.low, axis.high) - low);
  };
  for (const auto& point : map.points) {
    svg += Mark(kLeft + place(map.x, point.first) * kSide,
                kBottom - place(map.y, point.second) * kSide);
  }
  if (!map.points.empty()) {
    svg += Mark(kLeft + 12, kBottom + 68);
    svg += svg::Text(kLeft + 32, kBottom + 73, "font-size=\"13\"", map.points_label);
  }
  if (!std::all_of(map.values.begin(), map.values.end(),
                   [](double value) { return std::isfinite(value); })) {
    absl::StrAppendFormat(&svg,
                          "<rect x=\"%.1f\" y=\"%.1f\" width=\"16\" height=\"16\" "
                          "fill=\"#%02x%02x%02x\"/>\n",
                          kRight - 80, kBottom + 60, kNoValue[0], kNoValue[1], kNoValue[2]);
    svg += svg::Text(kRight - 56, kBottom + 73, "font-size=\"13\"", "no value");
  }
  return svg + svg::Close();
}

}  // namespace baseband::ctl
