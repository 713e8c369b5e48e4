#include "client/ctl/plot/svg_elements.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace baseband::ctl::svg {
namespace {

constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#333333", "#a6761d"};
// A ring, a square, triangles, a diamond, a cross.
constexpr const char* kShapes[] = {
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "M-3.7-3.7h7.4v7.4h-7.4z", "M0-5l4.6 8h-9.2z",
    "M0-5.2l5.2 5.2-5.2 5.2-5.2-5.2z",    "M0 5l4.6-8h-9.2z",        "M-4-4l8 8m-8 0l8-8"};

}  // namespace

const char* Colour(size_t index) { return kColours[index % std::size(kColours)]; }

std::string Open(double width, double height, absl::string_view title, absl::string_view subtitle) {
  return absl::StrFormat(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
             "height=\"%.0f\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" "
             "font-size=\"12\" fill=\"#222\">\n<rect width=\"100%%\" height=\"100%%\" "
             "fill=\"#ffffff\"/>\n",
             width, height, width, height) +
         Text(width / 2, 27, "text-anchor=\"middle\" font-size=\"17\" font-weight=\"600\"", title) +
         Text(width / 2, 48, "text-anchor=\"middle\" font-size=\"12.5\" fill=\"#666\"", subtitle);
}

std::string Close() { return "</svg>\n"; }

std::string Text(double x, double y, absl::string_view attributes, absl::string_view text) {
  if (text.empty()) {
    return "";
  }
  return absl::StrFormat(
      "<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, attributes,
      absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}}));
}

std::string Line(double x1, double y1, double x2, double y2, absl::string_view attributes) {
  return absl::StrFormat("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2,
                         y2, attributes);
}

std::string Rect(double left, double top, double width, double height,
                 absl::string_view attributes) {
  return absl::StrFormat("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" %s/>\n", left,
                         top, width, height, attributes);
}

std::string Path(absl::string_view path, absl::string_view attributes) {
  return absl::StrFormat("<path d=\"%s\" %s/>\n", path, attributes);
}

std::string Marker(size_t index, double x, double y) {
  return Path(kShapes[index % std::size(kShapes)],
              absl::StrFormat("transform=\"translate(%.1f %.1f)\" fill=\"#ffffff\" stroke=\"%s\" "
                              "stroke-width=\"2\"",
                              x, y, Colour(index)));
}

double TickStep(double range, int most) {
  const double power = std::pow(10, std::floor(std::log10(range / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (range / (factor * power) <= most) {
      return factor * power;
    }
  }
  return 10 * power;
}

std::string TickLabel(double tick, double step) {
  const double value = std::round(tick / step) * step + 0.0;  // no negative zero
  const double digits =
      value == 0 ? 0 : std::floor(std::log10(std::abs(value))) - std::floor(std::log10(step)) + 1;
  return absl::StrFormat("%.*g", std::clamp(static_cast<int>(digits), 6, 17), value);
}

}  // namespace baseband::ctl::svg
