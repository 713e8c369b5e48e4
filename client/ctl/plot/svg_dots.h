// A dot plot as an SVG picture: a row a name, a dot a series, one linear axis.
#ifndef BASEBAND_CLIENT_CTL_PLOT_SVG_DOTS_H_
#define BASEBAND_CLIENT_CTL_PLOT_SVG_DOTS_H_

#include <string>
#include <vector>

namespace baseband::ctl {

struct DotRow {
  std::string name;
  std::vector<double> values;  // one a series; NaN: no dot
  double tick = 0;             // a grey mark; NaN: none
};

struct DotPlot {
  std::string title;
  std::string subtitle;
  std::string x_label;
  std::string tick_label;           // what the grey mark means
  std::vector<std::string> series;  // names
  std::vector<DotRow> rows;
};

// A complete SVG document. Dots of equal value stand in the row one above the other.
std::string RenderSvg(const DotPlot& plot);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_PLOT_SVG_DOTS_H_
