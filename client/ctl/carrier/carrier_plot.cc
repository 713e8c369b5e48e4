#include "client/ctl/carrier/carrier_plot.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/carrier/carrier_flags.h"
#include "client/ctl/carrier/carrier_report.h"

namespace baseband::ctl {
namespace {

std::vector<Complex> DividedBy(absl::Span<const Complex> samples, float gain) {
  std::vector<Complex> scaled;
  scaled.reserve(samples.size());
  for (const Complex& sample : samples) {
    scaled.push_back(sample / gain);
  }
  return scaled;
}

// Relative to the coarse estimate, in millionths: a sweep is that narrow.
PlotPanel SweepPanel(const v1::CarrierResult& result, const v1::CarrierCurve& curve,
                     absl::Span<const float> values) {
  PlotPanel panel;
  panel.y.label = "mean relative error (equation 8)";
  panel.x.label = "frequency - coarse frequency [1e-6 cycles/symbol]";
  PlotSeries series;
  series.mark = values.size() <= 100 ? PlotMark::kSymbol : PlotMark::kNone;
  for (size_t i = 0; i < values.size(); ++i) {
    const double frequency = curve.begin() + static_cast<double>(i) * curve.step();
    series.points.push_back({1e6 * (frequency - result.coarse_frequency()), values[i]});
  }
  panel.series.push_back(std::move(series));
  return panel;
}

PlotPanel SpectrumPanel(const v1::CarrierCurve& curve, absl::Span<const float> values) {
  PlotPanel panel;
  panel.y.label = "power of the coarse spectrum over its mean";
  panel.y.decades = true;
  panel.x.label = "frequency [cycles/symbol]";
  PlotSeries series;
  series.mark = PlotMark::kNone;
  for (size_t i = 0; i < values.size(); ++i) {
    // What is far below the mean would only stretch the axis.
    series.points.push_back({curve.begin() + static_cast<double>(i) * curve.step(),
                             std::max(0.1, static_cast<double>(values[i]))});
  }
  panel.series.push_back(std::move(series));
  return panel;
}

}  // namespace

Plot PlotFrame(const std::string& title, const v1::CarrierGroup& group,
               absl::Span<const Complex> received, absl::Span<const Complex> points,
               const Recovered& recovered) {
  const v1::CarrierResult& result = recovered.frames[0];
  const CarrierReport report{"", group, &recovered};
  const float scale = group.scale() > 0 ? group.scale() : DefaultScale(group.format());
  const float gain = result.gain() > 0 ? result.gain() : 1;
  Plot plot;
  plot.title = title;
  plot.subtitle = absl::StrFormat(
      "%s, %d symbols: %s, frequency %+.9f cycles/symbol, Es/N0 %.2f dB, EVM %.2f %%",
      Describe(group.constellation()), report.frame_symbols(),
      report.is_locked(0) ? "locked" : absl::StrCat("NOT LOCKED, ", report.reason(0)),
      result.frequency(), result.snr_db(), 100 * result.evm());

  PlotPanel before;
  before.x.label = "I, as received";
  before.y.label = "Q";
  before.clouds.push_back({DividedBy(received, gain), false});
  PlotPanel after;
  after.x.label = "I, corrected";
  after.y.label = "Q";
  after.clouds.push_back(
      {DividedBy(ToComplex(recovered.corrected, group.format(), scale), gain), false});
  after.clouds.push_back({std::vector<Complex>(points.begin(), points.end()), true});
  plot.panels = {std::move(before), std::move(after)};
  if (!recovered.curves.empty() && recovered.curves[0].num_points() > 0) {
    plot.panels.push_back(group.fine() == v1::FINE_METHOD_SWEEP
                              ? SweepPanel(result, recovered.curves[0], recovered.curve_points)
                              : SpectrumPanel(recovered.curves[0], recovered.curve_points));
    for (PlotSeries& series : plot.panels.back().series) {
      series.in_legend = false;
    }
  }
  return plot;
}

}  // namespace baseband::ctl
