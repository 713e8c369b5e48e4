// Charts for a page: SVG elements that take their colours of ink, grid and ground from the page's
// style (variables --ink, --soft, --grid) and show a point's values under the pointer.
#ifndef BASEBAND_CLIENT_CTL_LOAD_LOAD_CHARTS_H_
#define BASEBAND_CLIENT_CTL_LOAD_LOAD_CHARTS_H_

#include <string>
#include <utility>
#include <vector>

namespace baseband::ctl {

struct ChartAxis {
  std::string label;
  double low = 0;
  double high = 1;   // > low
  bool log = false;  // then low > 0
  std::vector<std::pair<double, std::string>> ticks;
};

// An axis from zero, with round ticks, that ends above `most`; its ticks are `unit` each.
ChartAxis LinearAxis(const std::string& label, double most);
// An axis of times in nanoseconds that holds [least, most], with ticks at 1, 2 and 5.
ChartAxis TimeAxis(double least_ns, double most_ns);

struct ChartSeries {
  std::string name;
  std::string colour;
  // In order of x; those off the axes are left out, and so are values that no log axis has.
  std::vector<std::pair<double, double>> points;
  std::vector<std::string> labels;  // under the pointer, one a point; none: no labels
  bool area = false;                // filled down to the axis
  bool dashed = false;
};

struct Chart {
  ChartAxis x;
  ChartAxis y;
  std::vector<ChartSeries> series;
};

std::string RenderChart(const Chart& chart);

struct Bar {
  std::string name;
  std::vector<double> parts;        // lengths, >= 0
  std::vector<std::string> labels;  // under the pointer, one a part
};

// Rows of parts one after the other, all to the scale of the longest row; part i has colours[i].
std::string RenderBars(const std::vector<Bar>& bars, const std::vector<std::string>& colours);

// Names beside small squares of their colours.
std::string RenderLegend(const std::vector<std::pair<std::string, std::string>>& names_and_colours);

// `text` for HTML and SVG.
std::string EscapeHtml(const std::string& text);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LOAD_LOAD_CHARTS_H_
