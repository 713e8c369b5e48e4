// Error-rate curves as an SVG picture: linear Eb/N0, logarithmic rate, one or more panels.
#ifndef BASEBAND_CLIENT_CTL_SVG_PLOT_H_
#define BASEBAND_CLIENT_CTL_SVG_PLOT_H_

#include <string>
#include <vector>

namespace baseband::ctl {

struct PlotPoint {
  double x = 0;
  double y = 0;    // drawn only if > 0
  double low = 0;  // confidence limits, drawn as a bar if low < high
  double high = 0;
};

struct PlotSeries {
  std::string label;
  std::vector<PlotPoint> points;
  bool reference = false;  // a thin dashed grey line without markers; does not set the ranges
};

struct PlotPanel {
  std::string y_label;
  // Series of the same index have the same colour and marker in all panels, and one legend entry.
  std::vector<PlotSeries> series;
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

#endif  // BASEBAND_CLIENT_CTL_SVG_PLOT_H_
