// Frames that are hopeless without known symbols, with and without the pilots of DVB-S2.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/carrier/known_symbols.h"
#include "client/ctl/plot/plot.h"
#include "client/ctl/studies/carrier_bench.h"
#include "client/ctl/studies/carrier_bounds.h"

namespace baseband::ctl {
namespace {

constexpr double kPilotRange = 0.1;  // cycles per symbol: beyond any blind range here

PlotSeries Errors(const std::string& label, const Frames& frames,
                  const std::vector<v1::CarrierResult>& results) {
  PlotSeries series;
  series.label = label;
  series.line = false;
  for (int i = 0; i < frames.count(); ++i) {
    series.points.push_back(
        {static_cast<double>(i), std::abs(results[i].frequency() - frames.frequency[i])});
  }
  return series;
}

}  // namespace

absl::StatusOr<BenchResult> RunPilots(Bench* bench) {
  const BenchSettings& settings = bench->settings();
  const auto constellations = bench->Points(
      settings.constellations.empty()
          ? std::vector<std::string>{"64APSK 132/180", "128APSK 135/180", "256APSK 20/30"}
          : settings.constellations);
  if (!constellations.ok()) {
    return constellations.status();
  }
  BenchResult result;
  Plot plot;
  plot.title = "Frequency error, with the pilots of DVB-S2 and blind";
  plot.x_label = "frame";
  bench->Say(
      "constellation     pilots  Es/N0  frames  locked  right  wrongly locked  frequency rms");
  for (const NamedPoints& constellation : *constellations) {
    PlotPanel panel;
    panel.y.label = absl::StrCat(constellation.name, ": |error| [cycles/symbol]");
    panel.y.decades = true;
    const double snr_db =
        settings.snr_db.empty() ? constellation.operating_snr_db : settings.snr_db[0];
    const double snr = std::pow(10, snr_db / 10);
    for (const bool pilots : {true, false}) {
      FramesSpec spec;
      spec.constellation = &constellation;
      spec.count = settings.frames > 0 ? settings.frames : 60;
      spec.snr_db = snr_db;
      spec.seed = settings.seed;
      const int data = constellation.SymbolsOf64800Bits();
      spec.num_symbols = pilots ? 90 + data + (data - 1) / 1440 * 36 : data;
      spec.frequency_range = pilots ? kPilotRange : 0.9 * 0.5 / constellation.power;
      if (pilots) {
        spec.known_positions = DvbS2Positions(spec.num_symbols);
        Random random(settings.seed);
        spec.known = RandomPilots(static_cast<int64_t>(spec.known_positions.size()), &random);
      }
      v1::CarrierGroup group = GroupOf(spec);
      for (const Complex& value : spec.known) {
        group.mutable_known()->add_values(value.real());
        group.mutable_known()->add_values(value.imag());
      }
      group.mutable_known()->mutable_positions()->Add(spec.known_positions.begin(),
                                                      spec.known_positions.end());
      bench->Progress(
          static_cast<double>(plot.panels.size()) / static_cast<double>(constellations->size()),
          constellation.name);
      const Frames frames = MakeFrames(spec);
      const auto recovered = bench->Recover(group, frames.received);
      if (!recovered.ok()) {
        return recovered.status();
      }
      const int power = pilots ? 1 : constellation.power;
      const Accuracy a = Compare(frames, recovered->frames, 1.0 / (power * spec.num_symbols));
      const double known = KnownInformation(snr);
      result.table.Add(
          {{"constellation", constellation.name},
           {"pilots", std::string(pilots ? "dvbs2" : "none")},
           {"symbols", static_cast<double>(spec.num_symbols)},
           {"snr_db", snr_db},
           {"frames", static_cast<double>(a.frames)},
           {"locked", static_cast<double>(a.locked)},
           {"right", static_cast<double>(a.right)},
           {"locked_wrong", static_cast<double>(a.locked_wrong)},
           {"frequency_rms_cycles_per_symbol", a.frequency_rms},
           {"frequency_predicted_cycles_per_symbol", a.frequency_predicted},
           {"frequency_bound_pilots_cycles_per_symbol",
            pilots ? FrequencyBound(known, spec.known_positions) : NAN},
           {"frequency_bound_known_cycles_per_symbol", FrequencyBound(known, spec.num_symbols)}});
      bench->Say(absl::StrFormat("%-16s  %-6s  %5.1f  %6d  %6d  %5d  %14d  %13.2e",
                                 constellation.name, pilots ? "dvbs2" : "none", snr_db, a.frames,
                                 a.locked, a.right, a.locked_wrong, a.frequency_rms));
      panel.series.push_back(Errors(pilots ? "with pilots" : "blind", frames, recovered->frames));
      if (pilots) {
        plot.subtitle = absl::StrFormat(
            "%d frames of 64800 bits each; |frequency| <= 0.1 with pilots, 0.45/p without",
            a.frames);
      }
    }
    plot.panels.push_back(std::move(panel));
  }
  result.svg = RenderSvg(plot);
  return result;
}

}  // namespace baseband::ctl
