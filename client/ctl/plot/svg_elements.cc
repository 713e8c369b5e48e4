#include "client/ctl/plot/svg_elements.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace baseband::ctl::svg {
namespace {

constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#333333", "#a6761d"};
constexpr size_t kNumMarkers = 6;

std::string Escape(absl::string_view text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

}  // namespace

const char* Colour(size_t index) { return kColours[index % std::size(kColours)]; }

std::string Open(double width, double height, absl::string_view title, absl::string_view subtitle) {
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
      "height=\"%.0f\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" "
      "font-size=\"12\" fill=\"#222\">\n<rect width=\"100%%\" height=\"100%%\" "
      "fill=\"#ffffff\"/>\n",
      width, height, width, height);
  svg += Text(width / 2, 27, "text-anchor=\"middle\" font-size=\"17\" font-weight=\"600\"", title);
  svg += Text(width / 2, 48, "text-anchor=\"middle\" font-size=\"12.5\" fill=\"#666\"", subtitle);
  return svg;
}

std::string Close() { return "</svg>\n"; }

std::string Text(double x, double y, absl::string_view attributes, absl::string_view text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, attributes,
                         Escape(text));
}

std::string PowerOfTen(double x, double y, absl::string_view attributes, int exponent) {
  return absl::StrFormat(
      "<text x=\"%.1f\" y=\"%.1f\" %s>10<tspan dy=\"-5\" font-size=\"9\">%d</tspan></text>\n", x, y,
      attributes, exponent);
}

std::string Line(double x1, double y1, double x2, double y2, absl::string_view attributes) {
  return absl::StrFormat("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2,
                         y2, attributes);
}

std::string Frame(double left, double top, double right, double bottom) {
  return absl::StrFormat(
      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
      "stroke=\"#444\"/>\n",
      left, top, right - left, bottom - top);
}

std::string Marker(size_t index, double x, double y) {
  const std::string style =
      absl::StrCat("fill=\"#ffffff\" stroke=\"", Colour(index), "\" stroke-width=\"2\"");
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

std::string ClipBegin(int id, double left, double top, double right, double bottom) {
  return absl::StrFormat(
      "<clipPath id=\"c%d\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
      "height=\"%.1f\"/></clipPath>\n<g clip-path=\"url(#c%d)\">\n",
      id, left, top, right - left, bottom - top, id);
}

std::string ClipEnd() { return "</g>\n"; }

double TickStep(double range) {
  const double power = std::pow(10, std::floor(std::log10(range / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (range / (factor * power) <= 10) {
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
