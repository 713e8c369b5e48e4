#include "client/ctl/plot/svg_plot.h"

#include <cmath>
#include <complex>
#include <string>

#include "client/ctl/common/terminal.h"
#include "client/ctl/plot/svg_dots.h"
#include "client/ctl/plot/svg_elements.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace baseband::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

Plot OneCurve() {
  Plot plot;
  plot.title = "A < B & \"C\"";
  PlotSeries curve;
  curve.label = "curve";
  curve.points = {{0, 0.1, 0.05, 0.2}, {1, 1e-3, 0, 0}, {2, 0, 0, 0}};
  plot.panels.resize(1);
  plot.panels[0].y_label = "BER";
  plot.panels[0].series = {curve};
  return plot;
}

TEST(SvgPlotTest, TextIsEscaped) {
  EXPECT_THAT(RenderSvg(OneCurve()), HasSubstr("A &lt; B &amp; &quot;C&quot;"));
}

TEST(SvgPlotTest, PointsWithoutErrorsAreLeftOut) {
  // Two points that can be drawn, and the legend.
  EXPECT_EQ(Count(RenderSvg(OneCurve()), "<circle"), 3);
}

TEST(SvgPlotTest, DecadesSpanTheData) {
  const std::string svg = RenderSvg(OneCurve());
  EXPECT_THAT(svg, HasSubstr(">-1</tspan>"));
  EXPECT_THAT(svg, HasSubstr(">-3</tspan>"));
  EXPECT_THAT(svg, Not(HasSubstr(">-4</tspan>")));
}

TEST(SvgPlotTest, ALogarithmicXAxisHasWholeDecades) {
  Plot plot = OneCurve();
  plot.panels[0].log_x = true;
  plot.panels[0].series[0].points = {{0, 0.1, 0, 0}, {130, 0.1, 0, 0}, {9e6, 0.5, 0, 0}};
  const std::string svg = RenderSvg(plot);
  EXPECT_EQ(Count(svg, "<circle"), 3);
  EXPECT_THAT(svg, HasSubstr(">2</tspan>"));
  EXPECT_THAT(svg, HasSubstr(">7</tspan>"));
  EXPECT_THAT(svg, Not(HasSubstr(">8</tspan>")));
}

TEST(SvgPlotTest, TicksOfASmallPartOfALargeNumberDiffer) {
  EXPECT_EQ(svg::TickLabel(467321.5, 0.5), "467321.5");
  EXPECT_EQ(svg::TickLabel(0.30000000000000004, 0.1), "0.3");
  EXPECT_EQ(svg::TickLabel(-1e-18, 0.1), "0");
  EXPECT_EQ(svg::TickLabel(2e9, 1e9), "2e+09");
}

TEST(SvgPlotTest, APlotWithoutDataIsStillAPicture) {
  Plot plot = OneCurve();
  plot.panels[0].series[0].points.clear();
  const std::string svg = RenderSvg(plot);
  EXPECT_THAT(svg, HasSubstr("</svg>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(SvgPlotTest, ALinearAxisDrawsZeroAndLess) {
  Plot plot = OneCurve();
  plot.panels[0].linear = true;
  plot.panels[0].series[0].points = {{0, 0, 0, 0}, {1, -1, 0, 0}, {2, 1, 0, 0}};
  const std::string svg = RenderSvg(plot);
  EXPECT_EQ(Count(svg, "<circle"), 4);
  EXPECT_THAT(svg, HasSubstr(">-0.5</text>"));
}

TEST(SvgPlotTest, ACloudIsThinnedOutAndStrayPointsDoNotShrinkIt) {
  Plot plot = OneCurve();
  PlotPanel& panel = plot.panels[0];
  panel.series.clear();
  panel.clouds.resize(2);
  for (int i = 0; i < 100000; ++i) {
    const auto phase = static_cast<float>(i);
    panel.clouds[0].points.push_back(std::polar(1.0F, phase));
  }
  panel.clouds[0].points[50] = {1000, 1000};
  panel.clouds[1].points = {{1, 0}, {0, 1}};
  panel.clouds[1].crosses = true;
  const std::string svg = RenderSvg(plot);
  EXPECT_LE(Count(svg, "h0"), 6000);
  EXPECT_GT(Count(svg, "h0"), 1000);
  EXPECT_EQ(Count(svg, "m-3-3"), 2);
  EXPECT_THAT(svg, HasSubstr(">-0.5</text>"));
}

TEST(SvgDotsTest, ARowHasADotForEachValueThereIs) {
  DotPlot plot;
  plot.series = {"a", "b"};
  plot.rows = {{"first", {1, 2}, 1.5}, {"second & last", {std::nan(""), 3}, std::nan("")}};
  const std::string svg = RenderSvg(plot);
  // One circle in the rows, one in the legend; squares likewise, but two.
  EXPECT_EQ(Count(svg, "<circle"), 2);
  EXPECT_EQ(Count(svg, "<path"), 3);
  EXPECT_THAT(svg, HasSubstr("second &amp; last"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(TerminalTest, NumbersHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(HumanBytes(1 << 20), "1.00 MiB");
  EXPECT_EQ(HumanBytes(17), "17 B");
  EXPECT_EQ(HumanRate(1.234e9), "1.23 Gb/s");
  EXPECT_EQ(HumanCount(999.9e3), "1.00 M");
  EXPECT_EQ(HumanDuration(absl::Microseconds(12345)), "12.3 ms");
  EXPECT_EQ(HumanDuration(absl::Seconds(3)), "3.00 s");
}

TEST(TerminalTest, WrapKeepsWordsAndLineBreaks) {
  EXPECT_EQ(Wrap("aa bb cc\ndd", 5, 2), "aa bb\n  cc\n  dd");
}

}  // namespace
}  // namespace baseband::ctl
