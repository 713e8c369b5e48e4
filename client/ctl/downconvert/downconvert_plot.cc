#include "client/ctl/downconvert/downconvert_plot.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/frequency.h"
#include "client/ctl/common/symbols.h"
#include "client/ctl/common/terminal.h"

namespace baseband::ctl {
namespace {

constexpr int kInputSize = 4096;
constexpr int kOutputSize = 1024;
constexpr int64_t kLong = int64_t{1} << 40;  // what is not known to be short

constexpr size_t kMaxBands = 64;
constexpr int kGround = 6;  // a dark grey of the styles: not a channel's

// Segments of each piece that are looked at: enough for a smooth curve, and no more.
constexpr int kSegments = 24;

struct Unit {
  double hz;
  const char* name;
};
Unit UnitOf(double hz) {
  return hz >= 1e9   ? Unit{1e9, "GHz"}
         : hz >= 1e6 ? Unit{1e6, "MHz"}
         : hz >= 1e3 ? Unit{1e3, "kHz"}
                     : Unit{1, "Hz"};
}

// Frequencies in the unit that suits them.
PlotPanel ToPanel(const Spectrum& spectrum, double rate_hz, const char* x_label) {
  const std::vector<double> decibels = spectrum.Decibels();
  const Unit unit = UnitOf(rate_hz / 2);
  const double step_hz = rate_hz / static_cast<double>(decibels.size());
  PlotPanel panel;
  panel.x = {absl::StrFormat("%s [%s], bins of %.4g %s", x_label, unit.name,
                             step_hz / UnitOf(step_hz).hz, UnitOf(step_hz).name),
             -rate_hz / 2 / unit.hz, rate_hz / 2 / unit.hz};
  PlotSeries& series = panel.series.emplace_back();
  series.mark = PlotMark::kNone;
  series.in_legend = false;
  for (size_t i = 0; i < decibels.size(); ++i) {
    series.points.push_back(
        {panel.x.low + static_cast<double>(i) * step_hz / unit.hz, decibels[i]});
  }
  return panel;
}

// One axis of power for all panels, so that heights can be compared: whole tens, with some room
// above the highest; below, what all but the deepest hundredth of each curve needs.
void SetPowerAxis(std::vector<PlotPanel>* panels) {
  constexpr double kMost = 160;  // dB between the top and the bottom
  double high = -INFINITY;
  double low = INFINITY;
  for (const PlotPanel& panel : *panels) {
    std::vector<double> sorted;
    for (const PlotPoint& point : panel.series[0].points) {
      if (point.y > -300) {
        sorted.push_back(point.y);
      }
    }
    if (!sorted.empty()) {
      std::sort(sorted.begin(), sorted.end());
      high = std::max(high, sorted.back());
      low = std::min(low, sorted[sorted.size() / 100]);
    }
  }
  for (PlotPanel& panel : *panels) {
    panel.y = {"power [dB of full scale]", -100, 0};
    if (low <= high) {
      panel.y.high = 10 * std::ceil((high + 5) / 10);
      panel.y.low = 10 * std::floor((std::max(low, high - kMost) - 3) / 10);
    }
  }
}

}  // namespace

DownconvertSpectra::DownconvertSpectra(const WidebandFormat& format, const DownconvertPlan& plan,
                                       int64_t num_samples)
    : wire_format_(format),
      plan_(plan),
      input_(SpectrumSize(num_samples < 0 ? kLong : num_samples, kInputSize)) {
  for (int c = 0; c < std::min(kMaxPanels, plan.setup.channels_size()); ++c) {
    const double factor = OutputsPerInput(plan.setup.channels(c).filter());
    const int64_t outputs =
        num_samples < 0 ? kLong : static_cast<int64_t>(factor * static_cast<double>(num_samples));
    outputs_.push_back({Spectrum(SpectrumSize(outputs, kOutputSize)), {}});
  }
}

void DownconvertSpectra::AddInput(absl::string_view samples) {
  input_.Add(WidebandToComplex(samples, wire_format_), kSegments);
}

void DownconvertSpectra::AddOutput(int channel, absl::string_view samples) {
  if (channel >= static_cast<int>(outputs_.size())) {
    return;
  }
  const v1::SampleFormat format = plan_.setup.channels(channel).output();
  const float scale = format == v1::SAMPLE_FORMAT_INT16 ? 1.0F / 32767 : 1.0F;
  const std::vector<Complex> numbers = ToComplex(samples, format, scale);
  Output& output = outputs_[channel];
  output.waiting.insert(output.waiting.end(), numbers.begin(), numbers.end());
  if (static_cast<int>(output.waiting.size()) >= 8 * output.spectrum.size()) {
    output.spectrum.Add(output.waiting, kSegments);
    output.waiting.clear();
  }
}

Plot DownconvertSpectra::Finish(const DownconvertReport& report) {
  constexpr double kWidth = 1080;  // of a row, in pixels
  constexpr double kBeside = 92;   // what a panel needs besides its box
  const double rate = plan_.setup.sample_rate_hz();
  const std::vector<v1::ChannelDescription>& descriptions = report.totals.descriptions;
  Plot plot;
  plot.title = report.input;
  plot.subtitle = absl::StrFormat(
      "%d samples at %s (%s), %s; a tone's peak shows its power, the floor the noise in a bin",
      report.totals.samples, Hertz(rate), report.format,
      Plural(static_cast<int64_t>(descriptions.size()), "channel"));
  PlotPanel wideband = ToPanel(input_, rate, "frequency");
  const double unit = UnitOf(rate / 2).hz;
  for (size_t c = 0; c < std::min(descriptions.size(), kMaxBands); ++c) {
    wideband.bands.push_back({absl::StrCat(c), descriptions[c].frequency_hz() / unit,
                              descriptions[c].output_rate_hz() / 2 / unit, static_cast<int>(c)});
  }
  wideband.series[0].style = kGround;
  wideband.width = kWidth - kBeside;
  wideband.height = 300;
  plot.panels.push_back(std::move(wideband));
  // Fewer than fill a row share it.
  const size_t columns = std::min(size_t{3}, std::max(size_t{1}, outputs_.size()));
  for (size_t c = 0; c < outputs_.size(); ++c) {
    Output& output = outputs_[c];
    output.spectrum.Add(output.waiting, kSegments);
    output.waiting.clear();
    const v1::ChannelDescription& is = descriptions[c];
    PlotPanel panel = ToPanel(output.spectrum, is.output_rate_hz(), "from its centre");
    panel.title = absl::StrFormat("channel %d: %s, %s wide", c, Hertz(is.frequency_hz()),
                                  Hertz(is.output_rate_hz()));
    panel.title_style = panel.series[0].style = static_cast<int>(c);
    panel.new_row = c % columns == 0;
    panel.width = kWidth / static_cast<double>(columns) - kBeside;
    panel.height = 210;
    plot.panels.push_back(std::move(panel));
  }
  SetPowerAxis(&plot.panels);
  return plot;
}

}  // namespace baseband::ctl
