// Values over a plane as colours: an SVG picture with axes and a bar that tells the colours.
#ifndef BASEBAND_CLIENT_CTL_PLOT_SVG_MAP_H_
#define BASEBAND_CLIENT_CTL_PLOT_SVG_MAP_H_

#include <string>
#include <utility>
#include <vector>

namespace baseband::ctl {

struct MapAxis {
  std::string label;
  double low = 0;   // the first cell's outer edge
  double high = 1;  // the last cell's; below `low` if the coordinate falls
  int cells = 1;
};

struct HeatMap {
  std::string title;
  std::string subtitle;
  MapAxis x;
  MapAxis y;
  std::string value_label;
  std::vector<double> values;                     // [x.cells][y.cells]; not finite: grey
  std::vector<std::pair<double, double>> points;  // to be marked, (x, y)
  std::string points_label;
};

// A complete SVG document; the cells are a picture within it. Colours from the least to the
// greatest value are viridis (van der Walt and Smith 2015): equal steps look equal, also in grey
// and to those who do not see all colours.
std::string RenderSvg(const HeatMap& map);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_PLOT_SVG_MAP_H_
