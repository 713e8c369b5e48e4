// The elements that all pictures are made of. Each function returns SVG text.
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

// `text` is escaped; `attributes` are not.
std::string Text(double x, double y, absl::string_view attributes, absl::string_view text);
std::string PowerOfTen(double x, double y, absl::string_view attributes, int exponent);
std::string Line(double x1, double y1, double x2, double y2, absl::string_view attributes);
std::string Frame(double left, double top, double right, double bottom);

// Shape and colour number `index`, around (x, y).
std::string Marker(size_t index, double x, double y);

// A rectangle that what lies between `ClipBegin` and `ClipEnd` does not leave. `id` is unique.
std::string ClipBegin(int id, double left, double top, double right, double bottom);
std::string ClipEnd();

// 1, 2 or 5 times a power of ten, so that there are five to ten ticks.
double TickStep(double range);
// The multiple of `step` next to `tick`, with no more digits than it needs.
std::string TickLabel(double tick, double step);

}  // namespace baseband::ctl::svg

#endif  // BASEBAND_CLIENT_CTL_PLOT_SVG_ELEMENTS_H_
