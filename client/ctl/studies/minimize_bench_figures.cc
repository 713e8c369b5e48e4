// The paper's figures 1, 3 and 4, and what single precision does to its functional.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/table.h"
#include "client/ctl/plot/plot.h"
#include "client/ctl/studies/minimize_bench.h"
#include "client/ctl/studies/minimize_paper.h"

namespace baseband::ctl {
namespace {

// The functional at every point of a grid: a profile with a part for each.
struct Curve {
  std::vector<double> offset_hz;  // from the truth
  std::vector<double> values;
};
absl::StatusOr<Curve> Evaluate(client::Client* client, const GlobalFlags& flags, int method,
                               int points, double step_hz) {
  v1::MinimizeRequest request = PaperSearch();
  request.set_method(kPaperMethods[method].method);
  request.set_precision(kPaperMethods[method].precision);
  *request.add_axes() = PaperAxis(points, step_hz);
  request.set_profile_bins(static_cast<uint32_t>(points));
  const auto answer = client->Minimize(request, flags.call());
  if (!answer.ok()) return answer.status();
  Curve curve;
  curve.values.assign(answer->profile().begin(), answer->profile().end());
  for (int i = 0; i < points; ++i) {
    curve.offset_hz.push_back(request.axes(0).begin() + i * step_hz - kPaperFrequencyHz);
  }
  return curve;
}

PlotSeries ToSeries(const Curve& curve, std::string label, double scale = 1, double shift = 0) {
  PlotSeries series;
  series.label = std::move(label);
  series.mark = PlotMark::kNone;
  for (size_t i = 0; i < curve.values.size(); ++i) {
    series.points.push_back({shift + scale * curve.offset_hz[i], curve.values[i]});
  }
  return series;
}

absl::StatusOr<PaperFigure> DrawFunctional(client::Client* client, const GlobalFlags& flags) {
  constexpr int kFast = 3;
  const auto wide = Evaluate(client, flags, kFast, 2001, 30);
  if (!wide.ok()) return wide.status();
  const auto near = Evaluate(client, flags, kFast, 2001, 5);
  if (!near.ok()) return near.status();
  PaperFigure figure;
  Plot plot;
  plot.title = "An example of the likelihood functional (figure 1)";
  plot.subtitle =
      "a sine of 467321.36 Hz beside a known code at 465 kHz, 2400 samples of 0.2 us, float64";
  plot.x_label = "frequency [kHz]";
  Table table;
  for (const auto& curve : {*wide, *near}) {
    PlotPanel panel;
    panel.y.label = "J(f)";
    panel.x.label = plot.x_label;
    panel.series = {ToSeries(curve, "", 1e-3, 1e-3 * kPaperFrequencyHz)};
    panel.series[0].in_legend = false;
    plot.panels.push_back(std::move(panel));
    for (size_t i = 0; i < curve.values.size(); ++i) {
      table.Add({{"offset_hz", curve.offset_hz[i]}, {"functional", curve.values[i]}});
    }
  }
  figure.csv = table.ToCsv();
  figure.svg = RenderSvg(plot);
  return figure;
}

// The least value of a curve, to be marked.
PlotSeries Least(const Curve& curve, std::string label) {
  const auto least = std::min_element(curve.values.begin(), curve.values.end());
  PlotSeries series;
  series.label = std::move(label);
  series.line = false;
  series.points = {{curve.offset_hz[static_cast<size_t>(least - curve.values.begin())], *least}};
  return series;
}

absl::StatusOr<PaperFigure> DrawFloat32(client::Client* client, const GlobalFlags& flags) {
  const auto single = Evaluate(client, flags, 0, 481, kPaperStepHz);
  if (!single.ok()) return single.status();
  const auto both = Evaluate(client, flags, 1, 481, kPaperStepHz);
  if (!both.ok()) return both.status();
  PaperFigure figure;
  Table table;
  for (size_t i = 0; i < both->values.size(); ++i) {
    table.Add({{"offset_hz", both->offset_hz[i]},
               {"literal_float32", single->values[i]},
               {"literal_float64", both->values[i]}});
  }
  figure.csv = table.ToCsv();
  Plot plot;
  plot.title = "The functional as published, around its minimum";
  plot.subtitle = "literal evaluation at steps of 0.17 Hz; the curve can nowhere be below zero";
  plot.x_label = "frequency - 467321.36 Hz [Hz]";
  for (const double half_hz : {41.0, 2.5}) {
    const auto part = [&](const Curve& curve) {
      Curve cut;
      for (size_t i = 0; i < curve.values.size(); ++i) {
        if (std::abs(curve.offset_hz[i]) > half_hz) continue;
        cut.offset_hz.push_back(curve.offset_hz[i]);
        cut.values.push_back(curve.values[i]);
      }
      return cut;
    };
    const Curve of_single = part(*single);
    const Curve of_both = part(*both);
    PlotPanel panel;
    panel.y.label = "J(f)";
    panel.x.label = plot.x_label;
    panel.series = {ToSeries(of_both, "float64"), ToSeries(of_single, "float32"),
                    Least(of_both, "least, float64"), Least(of_single, "least, float32")};
    plot.panels.push_back(std::move(panel));
  }
  figure.svg = RenderSvg(plot);
  return figure;
}

// Figures over the number of points, and the tables behind them.
class OverPoints {
 public:
  OverPoints(std::string title, std::string subtitle) {
    plot_.title = std::move(title);
    plot_.subtitle = std::move(subtitle);
    plot_.x_label = "points of the grid";
  }

  // What follows is of this panel.
  void AddPanel(std::string y_label) {
    PlotPanel panel;
    panel.x.decades = true;
    panel.y = {std::move(y_label), 0, 0, /*decades=*/true};
    plot_.panels.push_back(std::move(panel));
  }

  // value_of(size): not finite: none. Series without a value are left out.
  template <typename ValueOf>
  void Add(const std::string& label, int style, ValueOf value_of) {
    PlotSeries series;
    series.label = label;
    series.style = style;
    for (const PaperRow& size : kPaperTable) {
      const double value = value_of(size);
      if (!std::isfinite(value)) continue;
      series.points.push_back({static_cast<double>(size.points), value});
      table_.Add({{"panel", plot_.panels.back().y.label},
                  {"series", label},
                  {"points", absl::StrCat(size.points)},
                  {"value", value}});
    }
    if (!series.points.empty()) plot_.panels.back().series.push_back(std::move(series));
  }

  // A line where nothing is gained.
  void AddOne() {
    PlotSeries one;
    one.label = "equal";
    one.reference = true;
    one.points = {{1, 1}, {1e12, 1}};
    plot_.panels.back().series.push_back(std::move(one));
  }

  PaperFigure Finish() {
    figure_.csv = table_.ToCsv();
    figure_.svg = RenderSvg(plot_);
    return std::move(figure_);
  }

 private:
  PaperFigure figure_;
  Plot plot_;
  Table table_;
};

double ClientMs(const PaperTimings& timings, const PaperRow& size, int method) {
  const PaperTiming* timing = timings.Find(size.points, method);
  return timing == nullptr ? NAN : timing->client_ms;
}

PaperFigure DrawTimes(const std::vector<PaperTimings>& tables) {
  OverPoints figure("Time to find the minimum (figure 3)",
                    "as the client sees it; the paper: GTX 860M, i5-4210H");
  for (const PaperTimings& table : tables) {
    figure.AddPanel(absl::StrCat("time on ", table.device, " [ms]"));
    for (int method = 0; method < kNumPaperMethods; ++method) {
      figure.Add(kPaperMethods[method].label, method,
                 [&](const PaperRow& size) { return ClientMs(table, size, method); });
    }
    figure.Add("paper, GPU", 6, [](const PaperRow& size) { return size.gpu_ms; });
    figure.Add("paper, CPU", 5, [](const PaperRow& size) { return size.cpu_ms; });
  }
  return figure.Finish();
}

// How much faster the first table's device is than each other, with the same method on both and, as
// the paper did not ask, without a better method against with it; then, what the methods gain.
PaperFigure DrawSpeedUps(const std::vector<PaperTimings>& tables) {
  constexpr char kPaperGain[] = "paper, GPU against CPU";
  const auto paper_gain = [](const PaperRow& size) { return size.cpu_ms / size.gpu_ms; };
  constexpr int kLiteral = 1;
  constexpr int kFast = kNumPaperMethods - 1;
  OverPoints figure("Gain in speed (figure 4)", "quotients of times as the client sees them");
  for (size_t i = 1; i < tables.size(); ++i) {
    figure.AddPanel(
        absl::StrCat("times that ", tables[0].device, " is faster than ", tables[i].device));
    for (int method = 0; method < kNumPaperMethods; ++method) {
      figure.Add(kPaperMethods[method].label, method, [&](const PaperRow& size) {
        return ClientMs(tables[i], size, method) / ClientMs(tables[0], size, method);
      });
    }
    figure.Add("literal against fast there", 4, [&](const PaperRow& size) {
      return ClientMs(tables[i], size, kFast) / ClientMs(tables[0], size, kLiteral);
    });
    figure.Add(kPaperGain, 6, paper_gain);
    figure.AddOne();
  }
  for (const PaperTimings& table : tables) {
    figure.AddPanel(absl::StrCat("times faster than literal, on ", table.device));
    for (int method = 0; method < kNumPaperMethods; ++method) {
      if (method == kLiteral) continue;
      figure.Add(kPaperMethods[method].label, method, [&](const PaperRow& size) {
        return ClientMs(table, size, kLiteral) / ClientMs(table, size, method);
      });
    }
    figure.Add(kPaperGain, 6, paper_gain);
    figure.AddOne();
  }
  return figure.Finish();
}

}  // namespace

absl::StatusOr<std::vector<PaperFigure>> DrawPaperFigures(client::Client* client,
                                                          const GlobalFlags& flags,
                                                          const std::vector<PaperTimings>& tables) {
  absl::StatusOr<PaperFigure> functional = DrawFunctional(client, flags);
  if (!functional.ok()) return functional.status();
  absl::StatusOr<PaperFigure> float32 = DrawFloat32(client, flags);
  if (!float32.ok()) return float32.status();
  return std::vector<PaperFigure>{*std::move(functional), *std::move(float32), DrawTimes(tables),
                                  DrawSpeedUps(tables)};
}

}  // namespace baseband::ctl
