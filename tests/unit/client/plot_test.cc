#include "client/ctl/plot/plot.h"

#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/plot/png.h"
#include "client/ctl/plot/svg_elements.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace baseband::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kRing[] = "M-4 0a4";  // the first series' symbol

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
  curve.points = {{0, 0.1, 0.05, 0.2}, {1, 1e-3}, {2, 0}};
  plot.panels.resize(1);
  plot.panels[0].y = {"BER", 0, 0, /*decades=*/true};
  plot.panels[0].series = {curve};
  return plot;
}

TEST(PlotTest, TextIsEscaped) {
  EXPECT_THAT(RenderSvg(OneCurve()), HasSubstr("A &lt; B &amp; &quot;C&quot;"));
}

TEST(PlotTest, PointsWithoutErrorsAreLeftOut) {
  // Two points that can be drawn, and the legend.
  EXPECT_EQ(Count(RenderSvg(OneCurve()), kRing), 3);
}

TEST(PlotTest, DecadesSpanTheData) {
  const std::string svg = RenderSvg(OneCurve());
  EXPECT_THAT(svg, HasSubstr(">0.1</text>"));
  EXPECT_THAT(svg, HasSubstr(">0.001</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">0.0001</text>")));
}

TEST(PlotTest, ALogarithmicXAxisHasWholeDecades) {
  Plot plot = OneCurve();
  plot.panels[0].x.decades = true;
  plot.panels[0].series[0].points = {{0, 0.1}, {130, 0.1}, {9e6, 0.5}};
  const std::string svg = RenderSvg(plot);
  EXPECT_EQ(Count(svg, kRing), 3);
  EXPECT_THAT(svg, HasSubstr(">100</text>"));
  EXPECT_THAT(svg, HasSubstr(">1e7</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">1e8</text>")));
}

TEST(PlotTest, TicksOfASmallPartOfALargeNumberDiffer) {
  EXPECT_EQ(svg::TickLabel(467321.5, 0.5), "467321.5");
  EXPECT_EQ(svg::TickLabel(0.30000000000000004, 0.1), "0.3");
  EXPECT_EQ(svg::TickLabel(-1e-18, 0.1), "0");
  EXPECT_EQ(svg::TickLabel(2e9, 1e9), "2e+09");
}

TEST(PlotTest, APlotWithoutDataIsStillAPicture) {
  Plot plot = OneCurve();
  plot.panels[0].series[0].points.clear();
  const std::string svg = RenderSvg(plot);
  EXPECT_THAT(svg, HasSubstr("</svg>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(PlotTest, ALinearAxisDrawsZeroAndLess) {
  Plot plot = OneCurve();
  plot.panels[0].y.decades = false;
  plot.panels[0].series[0].points = {{0, 0}, {1, -1}, {2, 1}, {3, NAN}};
  const std::string svg = RenderSvg(plot);
  EXPECT_EQ(Count(svg, kRing), 4);
  EXPECT_THAT(svg, HasSubstr(">-0.5</text>"));
}

TEST(PlotTest, ACloudIsThinnedOutAndStrayPointsDoNotShrinkIt) {
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

TEST(PlotTest, RowsHaveNamesInPlaceOfNumbers) {
  Plot plot = OneCurve();
  PlotPanel& panel = plot.panels[0];
  panel.y = {"", 0, 0, false, {"first", "second & last"}};
  panel.series[0].line = false;
  panel.series[0].points = {{1, 0}, {2, -1}};
  panel.series.push_back(panel.series[0]);
  panel.series[1].mark = PlotMark::kTick;
  const std::string svg = RenderSvg(plot);
  EXPECT_THAT(svg, HasSubstr(">first</text>"));
  EXPECT_THAT(svg, HasSubstr(">second &amp; last</text>"));
  EXPECT_EQ(Count(svg, kRing), 3);                 // one in the legend
  EXPECT_EQ(Count(svg, "stroke-width=\"3\""), 3);  // likewise
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(PlotTest, OfManyPointsWithinAPixelTheLeastAndTheGreatestAreDrawn) {
  Plot plot = OneCurve();
  PlotPanel& panel = plot.panels[0];
  panel.y = {"", -2, 2};
  panel.series[0].mark = PlotMark::kNone;
  panel.series[0].points.clear();
  for (int i = 0; i < 100000; ++i) {
    panel.series[0].points.push_back({1.0 * i, i == 50001 ? 1.0 : i == 50002 ? -1.0 : 0.0});
  }
  const std::string svg = RenderSvg(plot);
  // The box is 348 high, its top at 66: 1 is at a quarter, -1 at three quarters.
  EXPECT_THAT(svg, HasSubstr(" 153.0V327.0"));
  EXPECT_LT(svg.size(), 40000U);
}

TEST(PlotTest, BandsFoldOverTheEndsAndTheirLabelsDoNotCoverOneAnother) {
  Plot plot = OneCurve();
  PlotPanel& panel = plot.panels[0];
  panel.x.low = -10;
  panel.x.high = 10;
  panel.bands = {{"in the middle", 0, 1, 0}, {"beside it", 0.1, 1, 1}, {"at the edge", 9.5, 1, 2}};
  const std::string svg = RenderSvg(plot);
  EXPECT_EQ(Count(svg, "fill-opacity=\"0.16\""), 4);
  EXPECT_THAT(svg,
              HasSubstr("y=\"79.0\" text-anchor=\"middle\" font-weight=\"600\" fill=\"#0072b2\""));
  EXPECT_THAT(svg,
              HasSubstr("y=\"95.0\" text-anchor=\"middle\" font-weight=\"600\" fill=\"#d55e00\""));
}

TEST(PlotTest, PanelsStandInRows) {
  Plot plot = OneCurve();
  plot.panels.push_back(plot.panels[0]);
  plot.panels.push_back(plot.panels[0]);
  plot.panels[2].new_row = true;
  plot.panels[2].title = "third";
  EXPECT_THAT(RenderSvg(plot), HasSubstr("viewBox=\"0 0 900 930\""));
}

TEST(CellsTest, ACellIsAPixelAndWhatHasNoValueIsTold) {
  Plot plot;
  PlotPanel& panel = plot.panels.emplace_back();
  panel.x = {"x", 0, 2};
  panel.y = {"y", 0, 1};
  panel.cells.columns = 2;
  panel.cells.rows = 1;
  panel.cells.values = {1, NAN};
  std::string svg = RenderSvg(plot);
  // Two pixels: the first colour, and grey.
  EXPECT_THAT(svg, HasSubstr("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAMA"));
  EXPECT_THAT(svg, HasSubstr("no value"));
  panel.cells.values = {1, 2};
  plot.panels.push_back(ColourBar("value", plot.panels[0].cells));
  svg = RenderSvg(plot);
  EXPECT_THAT(svg, Not(HasSubstr("no value")));
  EXPECT_EQ(Count(svg, "data:image/png"), 2);
  EXPECT_THAT(svg, HasSubstr(">1.5</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

// Two pixels, black and red; as Python's zlib and struct write them.
TEST(PngTest, TheFileIsTheStandards) {
  const uint8_t pixels[] = {0, 1};
  const Rgb palette[] = {{0, 0, 0}, {255, 0, 0}};
  EXPECT_EQ(absl::Base64Escape(ToPng(2, pixels, palette)),
            "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAMAAADD/I+4AAAABlBMVEUAAAD/AAAb/"
            "40iAAAAC0lEQVR42mNgYAQAAAQAAizeSK0AAAAASUVORK5CYII=");
}

TEST(PngTest, ItIsCompressed) {
  const std::vector<uint8_t> pixels(256 * 256, 1);
  const Rgb palette[] = {{0, 0, 0}, {255, 0, 0}};
  EXPECT_LT(ToPng(256, pixels, palette).size(), 500U);
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
