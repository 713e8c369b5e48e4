// Curves and clouds of points as an SVG picture of one or more panels.
#ifndef BASEBAND_CLIENT_CTL_PLOT_SVG_PLOT_H_
#define BASEBAND_CLIENT_CTL_PLOT_SVG_PLOT_H_

#include <complex>
#include <string>
#include <vector>

#include "absl/types/optional.h"

namespace baseband::ctl {

struct PlotPoint {
  double x = 0;
  double y = 0;    // on a logarithmic axis drawn only if > 0
  double low = 0;  // confidence limits, drawn as a bar if low < high
  double high = 0;
};

struct PlotSeries {
  std::string label;
  std::vector<PlotPoint> points;
  bool reference = false;  // a thin dashed grey line without markers; does not set the ranges
  // What else the look may be; a reference keeps its own.
  bool line = true;
  bool markers = true;
  absl::optional<int> style;  // colour and marker; empty: the next that is free
  bool in_legend = true;
};

// Points of the complex plane.
struct PlotCloud {
  std::vector<std::complex<float>> points;
  bool crosses = false;  // small orange crosses instead of translucent dots
};

struct PlotPanel {
  std::string y_label;
  // Series of the same index have the same colour and marker in all panels, and one legend entry.
  std::vector<PlotSeries> series;
  std::string x_label;  // of this panel alone, which then has a range of x of its own, too
  bool log_x =
      false;  // the x axis is logarithmic, with whole decades; points of x <= 0 are left out
  bool linear = false;  // the y axis; else logarithmic, with whole decades
  double y_low = 0;     // of a linear axis, if y_low < y_high; else all that is to be seen
  double y_high = 0;
  // If there are any, they are what is drawn: both axes linear and alike, zero in the middle. Of
  // each at most 6000 points, evenly over it, and none on top of another.
  std::vector<PlotCloud> clouds;
};

struct Plot {
  std::string title;
  std::string subtitle;
  std::string x_label;
  std::vector<PlotPanel> panels;  // side by side
};

// A complete SVG document. Text is escaped; the same plot gives the same bytes.
std::string RenderSvg(const Plot& plot);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_PLOT_SVG_PLOT_H_
