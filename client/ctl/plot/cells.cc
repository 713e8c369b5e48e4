// Values as colours.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "client/ctl/plot/panel.h"
#include "client/ctl/plot/png.h"

namespace baseband::ctl {
namespace {

constexpr int kColours = 255;  // and grey
// Viridis at multiples of 1/8.
constexpr Rgb kViridis[] = {{0x44, 0x01, 0x54}, {0x47, 0x2d, 0x7b}, {0x3b, 0x52, 0x8b},
                            {0x2c, 0x72, 0x8e}, {0x21, 0x91, 0x8c}, {0x28, 0xae, 0x80},
                            {0x5e, 0xc9, 0x62}, {0xad, 0xdc, 0x30}, {0xfd, 0xe7, 0x25}};

std::vector<Rgb> Palette() {
  constexpr int kParts = static_cast<int>(std::size(kViridis)) - 1;
  std::vector<Rgb> palette(kColours, Rgb());
  for (int i = 0; i < kColours; ++i) {
    const double at = static_cast<double>(kParts * i) / (kColours - 1);
    const int part = std::min(static_cast<int>(at), kParts - 1);
    for (size_t c = 0; c < 3; ++c) {
      palette[i][c] = static_cast<uint8_t>(
          std::lround((part + 1 - at) * kViridis[part][c] + (at - part) * kViridis[part + 1][c]));
    }
  }
  palette.push_back({0xbd, 0xbd, 0xbd});  // kNoValueColour
  return palette;
}

// Of the finite ones; {0, 1} if there are none.
std::pair<double, double> RangeOf(const std::vector<double>& values) {
  std::pair<double, double> range = {INFINITY, -INFINITY};
  for (const double value : values) {
    if (std::isfinite(value)) {
      range = {std::min(range.first, value), std::max(range.second, value)};
    }
  }
  return range.first <= range.second ? range : std::pair(0.0, 1.0);
}

}  // namespace

std::string DrawCells(const PlotCells& cells, double left, double top, double width,
                      double height) {
  const auto [low, high] = RangeOf(cells.values);
  const double scale = high > low ? (kColours - 1) / (high - low) : 0;
  std::vector<uint8_t> pixels;
  for (int row = cells.rows - 1; row >= 0; --row) {
    for (int column = 0; column < cells.columns; ++column) {
      const double value = cells.values[static_cast<size_t>(column * cells.rows + row)];
      pixels.push_back(static_cast<uint8_t>(
          std::isfinite(value) ? std::lround((value - low) * scale) : kColours));
    }
  }
  return absl::StrFormat(
      "<image x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" preserveAspectRatio=\"none\" "
      "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,%s\"/>\n",
      left, top, width, height, absl::Base64Escape(ToPng(cells.columns, pixels, Palette())));
}

PlotPanel ColourBar(const std::string& label, const PlotCells& cells) {
  PlotPanel bar;
  bar.width = 20;
  bar.x.names = {""};
  bar.y.label = label;
  std::tie(bar.y.low, bar.y.high) = RangeOf(cells.values);
  if (bar.y.low == bar.y.high) {
    bar.y.names = {absl::StrFormat("%.6g", bar.y.low)};
  }
  bar.cells.columns = 1;
  bar.cells.rows = kColours;
  for (int i = 0; i < kColours; ++i) {
    bar.cells.values.push_back(i);
  }
  return bar;
}

}  // namespace baseband::ctl
