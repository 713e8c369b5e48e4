// Frequency and phase of the default method against the Cramer-Rao bounds: that of a receiver that
// knows the symbols, and that of one that does not, which lies well above it where the
// constellation is used.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/carrier_bench.h"
#include "client/ctl/carrier_bounds.h"
#include "client/ctl/svg_plot.h"

namespace baseband::ctl {
namespace {

constexpr double kDegrees = 57.29577951308232;

// One constellation's curves.
struct Curves {
  std::string name;
  std::vector<double> above_db;  // relative to the operating point
  std::vector<double> frequency_ratio;
  std::vector<double> phase_ratio;
  std::vector<double> predicted_ratio;
};

PlotPanel Panel(const std::string& label, const std::vector<Curves>& curves,
                std::vector<double> Curves::*ratio) {
  PlotPanel panel;
  panel.y_label = label;
  panel.linear = true;
  panel.y_low = 0;
  panel.y_high = 3;
  // Many curves are told apart by their number of points only: "16APSK", "256QAM".
  const bool families = curves.size() > 8;
  std::map<std::string, int> styles;
  for (const Curves& curve : curves) {
    const std::string family = curve.name.substr(0, curve.name.find(' '));
    const auto style = styles.emplace(family, static_cast<int>(styles.size()));
    PlotSeries series;
    series.label = families ? family : curve.name;
    series.markers = !families;
    series.in_legend = !families || style.second;
    if (families) {
      series.style = style.first->second;
    }
    for (size_t i = 0; i < curve.above_db.size(); ++i) {
      series.points.push_back({curve.above_db[i], (curve.*ratio)[i], 0, 0});
    }
    panel.series.push_back(std::move(series));
  }
  PlotSeries one;
  one.label = "equal";
  one.reference = true;
  one.points = {{-100, 1, 0, 0}, {100, 1, 0, 0}};
  panel.series.push_back(std::move(one));
  return panel;
}

std::string Draw(const std::vector<Curves>& curves, int frames) {
  Plot plot;
  plot.title = "Default method against the Cramer-Rao bound without known symbols";
  plot.subtitle = absl::StrFormat(
      "frames of 64800 bits, frequency and phase drawn at random, %d frames a point", frames);
  plot.x_label = "Es/N0 above the operating point [dB]";
  plot.panels = {
      Panel("frequency: rms error / bound", curves, &Curves::frequency_ratio),
      Panel("phase at the centre: rms error / bound", curves, &Curves::phase_ratio),
      Panel("frequency: predicted / measured deviation", curves, &Curves::predicted_ratio)};
  return RenderSvg(plot);
}

}  // namespace

absl::StatusOr<BenchResult> RunAccuracy(Bench* bench) {
  const BenchSettings& settings = bench->settings();
  const auto constellations = bench->Points(settings.constellations);
  if (!constellations.ok()) {
    return constellations.status();
  }
  const std::vector<double> above_db =
      settings.snr_db.empty() ? std::vector<double>{-2, 0, 2, 4, 6, 8, 10} : settings.snr_db;
  const int count = settings.frames > 0 ? settings.frames : 100;
  BenchResult result;
  result.table = Table({"constellation",
                        "symbols",
                        "power",
                        "snr_db",
                        "snr_above_operating_db",
                        "frames",
                        "locked",
                        "right",
                        "locked_wrong",
                        "frequency_rms",
                        "frequency_predicted",
                        "frequency_bound_known",
                        "frequency_bound_blind",
                        "frequency_over_blind_bound",
                        "frequency_predicted_over_rms",
                        "phase_rms",
                        "phase_predicted",
                        "phase_bound_known",
                        "phase_bound_blind",
                        "phase_over_blind_bound",
                        "phase_predicted_over_rms"});
  std::vector<Curves> all;
  for (const NamedPoints& constellation : *constellations) {
    FramesSpec spec;
    spec.constellation = &constellation;
    spec.num_symbols = constellation.SymbolsOf64800Bits();
    spec.count = count;
    spec.seed = settings.seed;
    const int power = settings.power > 0 ? settings.power : constellation.power;
    spec.frequency_range = 0.9 * 0.5 / power;
    v1::CarrierGroup group = GroupOf(spec);
    group.set_power(settings.power);
    const double n = spec.num_symbols;
    Curves curves;
    curves.name = constellation.name;
    bench->Say(absl::StrFormat(
        "\n%s, %d symbols, |frequency| <= %.4f\n Es/N0  locked  right  wrong   frequency: rms  /"
        "blind /known  predicted   phase: rms  /blind  predicted",
        constellation.name, spec.num_symbols, spec.frequency_range));
    for (const double above : above_db) {
      bench->Progress(
          (static_cast<double>(all.size()) +
           static_cast<double>(curves.above_db.size()) / static_cast<double>(above_db.size())) /
              static_cast<double>(constellations->size()),
          absl::StrFormat("%s, %+g dB", constellation.name, above));
      spec.snr_db = constellation.operating_snr_db + above;
      const double snr = std::pow(10, spec.snr_db / 10);
      const double known = KnownInformation(snr);
      const double blind = BlindInformation(constellation.points, snr);
      const Frames frames = MakeFrames(spec);
      const auto recovered = bench->Recover(group, frames.received);
      if (!recovered.ok()) {
        return recovered.status();
      }
      const Accuracy a = Compare(frames, recovered->frames, 1 / (power * n));
      const double frequency_ratio = a.frequency_rms / FrequencyBound(blind, spec.num_symbols);
      const double phase_ratio = a.phase_rms / PhaseBound(blind, spec.num_symbols);
      const double predicted_ratio = a.frequency_predicted / a.frequency_rms;
      curves.above_db.push_back(above);
      curves.frequency_ratio.push_back(frequency_ratio);
      curves.phase_ratio.push_back(phase_ratio);
      curves.predicted_ratio.push_back(predicted_ratio);
      result.table.Add({constellation.name,
                        n,
                        static_cast<double>(power),
                        spec.snr_db,
                        above,
                        static_cast<double>(a.frames),
                        static_cast<double>(a.locked),
                        static_cast<double>(a.right),
                        static_cast<double>(a.locked_wrong),
                        a.frequency_rms,
                        a.frequency_predicted,
                        FrequencyBound(known, spec.num_symbols),
                        FrequencyBound(blind, spec.num_symbols),
                        frequency_ratio,
                        predicted_ratio,
                        a.phase_rms,
                        a.phase_predicted,
                        PhaseBound(known, spec.num_symbols),
                        PhaseBound(blind, spec.num_symbols),
                        phase_ratio,
                        a.phase_predicted / a.phase_rms});
      bench->Say(absl::StrFormat(
          "%6.2f  %6d  %5d  %5d     %12.2e  %6.2f %6.2f  %9.2f   %8.3f d  %6.2f  %9.2f",
          spec.snr_db, a.locked, a.right, a.locked_wrong, a.frequency_rms, frequency_ratio,
          a.frequency_rms / FrequencyBound(known, spec.num_symbols), predicted_ratio,
          kDegrees * a.phase_rms, phase_ratio, a.phase_predicted / a.phase_rms));
    }
    all.push_back(std::move(curves));
  }
  result.svg = Draw(all, count);
  return result;
}

}  // namespace baseband::ctl
