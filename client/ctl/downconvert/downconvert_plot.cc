#include "client/ctl/downconvert/downconvert_plot.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/carrier/symbols.h"
#include "client/ctl/common/si_number.h"
#include "client/ctl/common/terminal.h"

namespace baseband::ctl {
namespace {

constexpr int kInputSize = 4096;
constexpr int kOutputSize = 1024;
constexpr int64_t kLong = int64_t{1} << 40;  // what is not known to be short

// Segments of each piece that are looked at: enough for a smooth curve, and no more.
constexpr int kSegments = 24;

// The wire has no unsigned formats.
WidebandFormat SignedFormat(WidebandFormat format) {
  format.is_unsigned = false;
  return format;
}

double OutputsPerInput(const v1::ChannelFilter& filter) {
  return static_cast<double>(std::max(1U, filter.up())) / std::max(1U, filter.down());
}

SpectrumCurve ToCurve(const Spectrum& spectrum, double rate_hz) {
  SpectrumCurve curve;
  curve.decibels = spectrum.Decibels();
  curve.step_hz = rate_hz / spectrum.size();
  curve.low_hz = -rate_hz / 2;
  return curve;
}

}  // namespace

DownconvertSpectra::DownconvertSpectra(const WidebandFormat& format, const DownconvertPlan& plan,
                                       int64_t num_samples)
    : wire_format_(SignedFormat(format)),
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

SpectrumPlot DownconvertSpectra::Finish(const DownconvertReport& report) {
  const double rate = plan_.setup.sample_rate_hz();
  const std::vector<v1::ChannelDescription>& descriptions = report.totals.descriptions;
  SpectrumPlot plot;
  plot.title = report.input;
  plot.subtitle = absl::StrFormat(
      "%d samples at %s (%s), %s; a tone's peak shows its power, the floor the noise in a bin",
      report.totals.samples, Hertz(rate), report.format,
      Plural(static_cast<int64_t>(descriptions.size()), "channel"));
  plot.wideband = ToCurve(input_, rate);
  for (size_t c = 0; c < descriptions.size(); ++c) {
    plot.bands.push_back(
        {absl::StrCat(c), descriptions[c].frequency_hz(), descriptions[c].output_rate_hz() / 2});
  }
  for (size_t c = 0; c < outputs_.size(); ++c) {
    Output& output = outputs_[c];
    output.spectrum.Add(output.waiting, kSegments);
    output.waiting.clear();
    const v1::ChannelDescription& is = descriptions[c];
    plot.channels.push_back({absl::StrFormat("channel %d: %s, %s wide", c, Hertz(is.frequency_hz()),
                                             Hertz(is.output_rate_hz())),
                             static_cast<int>(c), ToCurve(output.spectrum, is.output_rate_hz())});
  }
  return plot;
}

}  // namespace baseband::ctl
