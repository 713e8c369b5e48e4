// One panel of a picture, from its ranges to its SVG text.
#ifndef BASEBAND_CLIENT_CTL_PLOT_PANEL_H_
#define BASEBAND_CLIENT_CTL_PLOT_PANEL_H_

#include <string>
#include <vector>

#include "client/ctl/plot/plot.h"

namespace baseband::ctl {

inline constexpr char kNoValueColour[] = "#bdbdbd";

// `panel`, one of `all`, with axes that span something: low < high.
PlotPanel WithRanges(const std::vector<PlotPanel>& all, PlotPanel panel);

// What a panel that has its ranges needs besides what its axes enclose.
double LeftMargin(const PlotPanel& panel);
inline constexpr double kRightMargin = 18;
inline constexpr double kBottomMargin = 52;
inline constexpr double kTopMargin = 26;  // if it has a title

// The panel with its axes' upper left corner at (left, top).
std::string DrawPanel(const PlotPanel& panel, double left, double top);

// What stands for a series in the pictures: in the legend at (x, y).
std::string DrawSample(const PlotSeries& series, int style, double x, double y);

// Values as a picture of a pixel a cell, stretched over the rectangle.
std::string DrawCells(const PlotCells& cells, double left, double top, double width, double height);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_PLOT_PANEL_H_
