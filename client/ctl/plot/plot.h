// Pictures made of panels: two axes each, and curves, marks, clouds of points, bands or cells of
// colour in between; a title, and a legend for all. Rendered as SVG.
//
//   Plot plot;
//   plot.title = "Error of the corrected symbols";
//   PlotPanel& panel = plot.panels.emplace_back();
//   panel.x.label = "Es/N0 [dB]";
//   panel.y = {"NMSE", 0, 0, /*decades=*/true};
//   panel.series.push_back({"default", {{0, 1.02}, {1, 0.81}}});
//   const std::string svg = RenderSvg(plot);
#ifndef BASEBAND_CLIENT_CTL_PLOT_PLOT_H_
#define BASEBAND_CLIENT_CTL_PLOT_PLOT_H_

#include <complex>
#include <string>
#include <vector>

#include "absl/types/optional.h"

namespace baseband::ctl {

struct PlotAxis {
  std::string label;
  // What it spans, exactly, if low < high; else all that is to be seen, and a little more. Of
  // decades the exponents.
  double low = 0;
  double high = 0;
  bool decades = false;              // logarithmic, over whole decades; values <= 0 are left out
  std::vector<std::string> names{};  // in place of numbers: name i stands at -i
};

struct PlotPoint {
  double x = 0;
  double y = 0;
  double low = 0;  // confidence limits, drawn as a bar if low < high
  double high = 0;
};

enum class PlotMark {
  kNone,
  kSymbol,  // of the series' style
  kTick,    // a grey upright stroke
  kTarget,  // a cross in a ring that is seen on every colour
};

// A point that is not finite is left out.
struct PlotSeries {
  std::string label;
  std::vector<PlotPoint> points{};
  // A thin dashed grey line without marks, which does not set the ranges.
  bool reference = false;
  bool line = true;  // of many points within a pixel the least and the greatest are drawn
  PlotMark mark = PlotMark::kSymbol;
  absl::optional<int> style{};  // colour and symbol; empty: the next that is free
  bool in_legend = true;
};

// Points of the complex plane, on axes that are alike, with zero in the middle. At most 6000 are
// drawn, evenly over all, and none on top of another.
struct PlotCloud {
  std::vector<std::complex<float>> points{};
  bool crosses = false;  // small orange crosses instead of translucent dots
};

// A part of the x axis: a coloured ground, a line in its middle, and its label on top where there
// is room. What is beyond an end of the axis goes on at the other one.
struct PlotBand {
  std::string label;
  double centre = 0;
  double half_width = 0;
  int style = 0;
};

// Values over all of the panel as colours. From the least to the greatest value they are viridis
// (van der Walt and Smith 2015): equal steps look equal, also in grey and to those who do not see
// all colours.
struct PlotCells {
  int columns = 0;
  int rows = 0;
  std::vector<double> values;  // [columns][rows], from the axes' low ends on; not finite: grey
};

struct PlotPanel {
  std::string title;
  absl::optional<int> title_style{};  // its colour
  // An x axis without a label has the plot's, and the range that all such panels need.
  PlotAxis x;
  PlotAxis y;
  std::vector<PlotSeries> series;  // series of the same index look the same in all panels
  std::vector<PlotCloud> clouds;
  std::vector<PlotBand> bands;
  PlotCells cells;
  double width = 358;  // of what the axes enclose, in pixels
  double height = 348;
  bool new_row = false;  // else it stands at the right of the one before
};

struct Plot {
  std::string title;
  std::string subtitle;
  std::string x_label;
  std::vector<PlotPanel> panels;
};

// A narrow panel that tells what the colours of `cells` mean.
PlotPanel ColourBar(const std::string& label, const PlotCells& cells);

// A complete SVG document. Text is escaped; the same plot gives the same bytes. The legend is that
// of the panel with the most series, and names the grey of cells.
std::string RenderSvg(const Plot& plot);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_PLOT_PLOT_H_
