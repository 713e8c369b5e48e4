// Frequency and phase of the default method against the Cramer-Rao bounds: that of a receiver that
// knows the symbols, and that of one that does not, which lies well above it where the
// constellation is used.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/angles.h"
#include "client/ctl/plot/plot.h"
#include "client/ctl/studies/carrier_bench.h"
#include "client/ctl/studies/carrier_bounds.h"

namespace baseband::ctl {
namespace {

// One constellation at one SNR.
struct Point {
  double above_db = 0;  // relative to the operating point
  double snr_db = 0;
  Accuracy measured;
  double frequency_known = 0;  // bounds
  double frequency_blind = 0;
  double phase_known = 0;
  double phase_blind = 0;

  double FrequencyRatio() const { return measured.frequency_rms / frequency_blind; }
  double PhaseRatio() const { return measured.phase_rms / phase_blind; }
  double FrequencyPrediction() const {
    return measured.frequency_predicted / measured.frequency_rms;
  }
  double PhasePrediction() const { return measured.phase_predicted / measured.phase_rms; }
};

struct Curves {
  std::string name;
  std::vector<Point> points;
};

// As many as there are colours: "16APSK", and one each for all of "PSK" and "QAM".
std::string Family(const std::string& name) {
  for (const char* kind : {"APSK", "QAM", "PSK"}) {
    if (const size_t at = name.find(kind); at != std::string::npos) {
      return kind[0] == 'A' ? name.substr(0, at + 4) : kind;
    }
  }
  return name;
}

PlotPanel Panel(const std::string& label, const std::vector<Curves>& curves,
                double (Point::*ratio)() const) {
  PlotPanel panel;
  panel.y = {label, 0, 3};
  // Many curves are told apart by their family only.
  const bool families = curves.size() > 8;
  std::map<std::string, int> styles;
  for (const Curves& curve : curves) {
    const std::string family = Family(curve.name);
    const auto style = styles.emplace(family, static_cast<int>(styles.size()));
    PlotSeries series;
    series.label = families ? family : curve.name;
    series.mark = families ? PlotMark::kNone : PlotMark::kSymbol;
    series.in_legend = !families || style.second;
    if (families) {
      series.style = style.first->second;
    }
    for (const Point& point : curve.points) {
      series.points.push_back({point.above_db, (point.*ratio)()});
    }
    panel.series.push_back(std::move(series));
  }
  PlotSeries one;
  one.label = "equal";
  one.reference = true;
  one.points = {{-100, 1}, {100, 1}};
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
      Panel("frequency: rms error / bound", curves, &Point::FrequencyRatio),
      Panel("phase at the centre: rms error / bound", curves, &Point::PhaseRatio),
      Panel("frequency: predicted / measured deviation", curves, &Point::FrequencyPrediction)};
  return RenderSvg(plot);
}

// The frames of a constellation, but for their SNR.
FramesSpec SpecOf(const BenchSettings& settings, const NamedPoints& constellation, int power) {
  FramesSpec spec;
  spec.constellation = &constellation;
  spec.num_symbols = constellation.SymbolsOf64800Bits();
  spec.count = settings.frames > 0 ? settings.frames : 100;
  spec.frequency_range = 0.9 * 0.5 / power;
  spec.seed = settings.seed;
  return spec;
}

absl::StatusOr<Point> MeasurePoint(Bench* bench, FramesSpec spec, double above_db, int power) {
  Point point;
  point.above_db = above_db;
  point.snr_db = spec.snr_db = spec.constellation->operating_snr_db + above_db;
  const double snr = std::pow(10, spec.snr_db / 10);
  const double known = KnownInformation(snr);
  const double blind = BlindInformation(spec.constellation->points, snr);
  point.frequency_known = FrequencyBound(known, spec.num_symbols);
  point.frequency_blind = FrequencyBound(blind, spec.num_symbols);
  point.phase_known = PhaseBound(known, spec.num_symbols);
  point.phase_blind = PhaseBound(blind, spec.num_symbols);

  v1::CarrierGroup group = GroupOf(spec);
  group.set_power(static_cast<uint32_t>(bench->settings().power));
  const Frames frames = MakeFrames(spec);
  const auto recovered = bench->Recover(group, frames.received);
  if (!recovered.ok()) {
    return recovered.status();
  }
  point.measured =
      Compare(frames, recovered->frames, 1 / (static_cast<double>(power) * spec.num_symbols));
  return point;
}

Table::Row ToRow(const FramesSpec& spec, int power, const Point& point) {
  const Accuracy& a = point.measured;
  return {{"constellation", spec.constellation->name},
          {"symbols", static_cast<double>(spec.num_symbols)},
          {"power", static_cast<double>(power)},
          {"snr_db", point.snr_db},
          {"snr_above_operating_db", point.above_db},
          {"frames", static_cast<double>(a.frames)},
          {"locked", static_cast<double>(a.locked)},
          {"right", static_cast<double>(a.right)},
          {"locked_wrong", static_cast<double>(a.locked_wrong)},
          {"locked_off", static_cast<double>(a.locked_off)},
          {"locked_unsure", static_cast<double>(a.locked_unsure)},
          {"frequency_rms_cycles_per_symbol", a.frequency_rms},
          {"frequency_predicted_cycles_per_symbol", a.frequency_predicted},
          {"frequency_bound_known_cycles_per_symbol", point.frequency_known},
          {"frequency_bound_blind_cycles_per_symbol", point.frequency_blind},
          {"frequency_over_blind_bound", point.FrequencyRatio()},
          {"frequency_predicted_over_rms", point.FrequencyPrediction()},
          {"phase_rms_rad", a.phase_rms},
          {"phase_predicted_rad", a.phase_predicted},
          {"phase_bound_known_rad", point.phase_known},
          {"phase_bound_blind_rad", point.phase_blind},
          {"phase_over_blind_bound", point.PhaseRatio()},
          {"phase_predicted_over_rms", point.PhasePrediction()}};
}

constexpr char kHead[] =
    " Es/N0  locked  right  wrong  off  unsure  frequency rms  /blind  /known  predicted  phase "
    "rms  /blind"
    "  predicted";

std::string ToLine(const Point& point) {
  const Accuracy& a = point.measured;
  return absl::StrFormat(
      "%6.2f  %6d  %5d  %5d  %3d  %6d  %13.2e  %6.2f  %6.2f  %9.2f  %9.4f  %6.2f  %9.2f",
      point.snr_db, a.locked, a.right, a.locked_wrong, a.locked_off, a.locked_unsure,
      a.frequency_rms, point.FrequencyRatio(), a.frequency_rms / point.frequency_known,
      point.FrequencyPrediction(), kDegreesPerRadian * a.phase_rms, point.PhaseRatio(),
      point.PhasePrediction());
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
  BenchResult result;
  bench->Say(
      "wrong: locked at a wrong frequency. off: locked, and more than six predicted deviations off."
      "\nunsure: locked, with a phase told modulo less than the symmetry allows. /blind, /known: "
      "over"
      "\nthe Cramer-Rao bound without and with known symbols. predicted: over the measured "
      "deviation."
      "\nErrors of the frames that are locked and right; phase at the centre, in degrees.");
  std::vector<Curves> all;
  for (const NamedPoints& constellation : *constellations) {
    const int power = settings.power > 0 ? settings.power : constellation.power;
    const FramesSpec spec = SpecOf(settings, constellation, power);
    bench->Say(absl::StrFormat("\n%s, %d symbols, |frequency| <= %.4f\n%s", constellation.name,
                               spec.num_symbols, spec.frequency_range, kHead));
    Curves curves;
    curves.name = constellation.name;
    for (const double above : above_db) {
      const double part =
          static_cast<double>(curves.points.size()) / static_cast<double>(above_db.size());
      bench->Progress(
          (static_cast<double>(all.size()) + part) / static_cast<double>(constellations->size()),
          absl::StrFormat("%s, %+g dB", constellation.name, above));
      const auto point = MeasurePoint(bench, spec, above, power);
      if (!point.ok()) {
        return point.status();
      }
      result.table.Add(ToRow(spec, power, *point));
      bench->Say(ToLine(*point));
      curves.points.push_back(*point);
    }
    all.push_back(std::move(curves));
  }
  result.svg = Draw(all, all.empty() ? 0 : all[0].points[0].measured.frames);
  return result;
}

}  // namespace baseband::ctl
