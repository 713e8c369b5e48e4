// The elements that all pictures are made of. Each function returns SVG text; attributes are taken
// as they are.
#ifndef BASEBAND_CLIENT_CTL_PLOT_SVG_ELEMENTS_H_
#define BASEBAND_CLIENT_CTL_PLOT_SVG_ELEMENTS_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace baseband::ctl::svg {

inline constexpr char kGrey[] = "#888888";

// Colours that people who do not see all colours can tell apart (Okabe and Ito, and a brown); they
// repeat.
const char* Colour(size_t index);

// The document's first element with a white ground, and its title lines; Close() ends it.
std::string Open(double width, double height, absl::string_view title, absl::string_view subtitle);
std::string Close();

std::string Text(double x, double y, absl::string_view attributes, absl::string_view text);
std::string Line(double x1, double y1, double x2, double y2, absl::string_view attributes);
std::string Rect(double left, double top, double width, double height,
                 absl::string_view attributes);
std::string Path(absl::string_view path, absl::string_view attributes);

// Shape and colour number `index`, around (x, y).
std::string Marker(size_t index, double x, double y);

// 1, 2 or 5 times a power of ten, so that there are about `most` ticks, and not more.
double TickStep(double range, int most = 10);
// The multiple of `step` next to `tick`, with no more digits than it needs.
std::string TickLabel(double tick, double step);

}  // namespace baseband::ctl::svg

#endif  // BASEBAND_CLIENT_CTL_PLOT_SVG_ELEMENTS_H_
