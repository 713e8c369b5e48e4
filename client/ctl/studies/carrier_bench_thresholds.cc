// The least SNR from which the carrier of a frame of 64800 bits is found, by amplitude weight, and
// from which the default method locks.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/plot/plot.h"
#include "client/ctl/studies/carrier_bench.h"

namespace baseband::ctl {
namespace {

constexpr int kFarthestBelow = 20;  // dB around the operating point, that are looked at
constexpr int kFarthestAbove = 10;
constexpr double kRowHeight = 22;  // of a constellation in the picture, in pixels

struct Mode {
  const char* label;
  const char* key;
  v1::AmplitudeWeight amplitude;
  v1::FineMethod fine;
  bool must_lock;
};

constexpr Mode kModes[] = {
    {"plain: found", "plain", v1::AMPLITUDE_WEIGHT_PLAIN, v1::FINE_METHOD_INTERPOLATE, false},
    {"unit: found", "unit", v1::AMPLITUDE_WEIGHT_UNIT, v1::FINE_METHOD_INTERPOLATE, false},
    {"optimal: found", "optimal", v1::AMPLITUDE_WEIGHT_OPTIMAL, v1::FINE_METHOD_INTERPOLATE, false},
    {"default method: locked", "default_locked", v1::AMPLITUDE_WEIGHT_OPTIMAL,
     v1::FINE_METHOD_REMODULATE, true}};

// One constellation's frames, made once an SNR, and what was found out with them.
class Search {
 public:
  Search(Bench* bench, const NamedPoints& constellation, double progress)
      : bench_(bench), name_(constellation.name), progress_(progress) {
    spec_.constellation = &constellation;
    spec_.num_symbols = constellation.SymbolsOf64800Bits();
    spec_.count = bench->settings().frames > 0 ? bench->settings().frames : 40;
    spec_.seed = bench->settings().seed;
    power_ = bench->settings().power > 0 ? bench->settings().power : constellation.power;
    spec_.frequency_range = 0.9 * 0.5 / power_;
    operating_ = static_cast<int>(std::ceil(constellation.operating_snr_db));
  }

  int power() const { return power_; }
  int num_symbols() const { return spec_.num_symbols; }
  int frames() const { return spec_.count; }
  int locked_wrong() const { return locked_wrong_; }
  int judged() const { return judged_; }

  // Whole dB from which on all but 2.5 % succeed; NaN if nowhere within reach, or if the server
  // refuses this weight because it leaves no line at all.
  absl::StatusOr<double> Threshold(const Mode& mode) {
    int snr = operating_;
    absl::StatusOr<bool> enough = Enough(mode, snr);
    while (enough.ok() && !*enough && snr < operating_ + kFarthestAbove) {
      enough = Enough(mode, ++snr);
    }
    if (absl::IsInvalidArgument(enough.status()) || (enough.ok() && !*enough)) {
      return NAN;
    }
    if (!enough.ok()) {
      return enough.status();
    }
    while (snr > operating_ - kFarthestBelow) {
      enough = Enough(mode, snr - 1);
      if (!enough.ok()) {
        return enough.status();
      }
      if (!*enough) {
        break;
      }
      --snr;
    }
    return snr;
  }

 private:
  absl::StatusOr<bool> Enough(const Mode& mode, int snr) {
    bench_->Progress(progress_, absl::StrFormat("%s, %s, %d dB", name_, mode.key, snr));
    auto found = frames_.find(snr);
    if (found == frames_.end()) {
      spec_.snr_db = snr;
      Frames frames = MakeFrames(spec_);
      frames.sent = {};
      found = frames_.emplace(snr, std::move(frames)).first;
    }
    v1::CarrierGroup group = GroupOf(spec_);
    group.set_coarse(v1::COARSE_METHOD_POWER);
    group.set_power(static_cast<uint32_t>(power_));
    group.set_amplitude(mode.amplitude);
    group.set_fine(mode.fine);
    const auto recovered = bench_->Recover(group, found->second.received);
    if (!recovered.ok()) {
      return recovered.status();
    }
    const Accuracy accuracy = Compare(found->second, recovered->frames,
                                      1.0 / (static_cast<double>(power_) * spec_.num_symbols));
    locked_wrong_ += accuracy.locked_wrong;
    judged_ += accuracy.frames;
    const int good = mode.must_lock ? accuracy.locked - accuracy.locked_wrong : accuracy.right;
    return good >= 0.975 * accuracy.frames;
  }

  Bench* const bench_;
  const std::string name_;
  const double progress_;
  FramesSpec spec_;
  int power_ = 1;
  int operating_ = 0;
  int locked_wrong_ = 0;
  int judged_ = 0;
  std::map<int, Frames> frames_;
};

void AddDots(const char* label, PlotMark mark, PlotPanel* panel) {
  PlotSeries& series = panel->series.emplace_back();
  series.label = label;
  series.line = false;
  series.mark = mark;
}

}  // namespace

absl::StatusOr<BenchResult> RunThresholds(Bench* bench) {
  const auto constellations = bench->Points(bench->settings().constellations);
  if (!constellations.ok()) {
    return constellations.status();
  }
  BenchResult result;
  Plot plot;
  plot.title = "Least Es/N0 at which the carrier of a frame of 64800 bits is found";
  PlotPanel& panel = plot.panels.emplace_back();
  panel.x.label = "Es/N0 [dB]";
  panel.width = 650;
  panel.height = kRowHeight * static_cast<double>(constellations->size());
  std::string head = absl::StrFormat("%-18s power  operating", "constellation");
  for (const Mode& mode : kModes) {
    AddDots(mode.label, PlotMark::kSymbol, &panel);
    absl::StrAppendFormat(&head, "  %14s", mode.key);
  }
  AddDots("operating point", PlotMark::kTick, &panel);
  bench->Say(absl::StrCat("Es/N0 in dB\n", head, "  wrongly locked"));
  for (size_t c = 0; c < constellations->size(); ++c) {
    const NamedPoints& constellation = (*constellations)[c];
    Search search(bench, constellation,
                  static_cast<double>(c) / static_cast<double>(constellations->size()));
    plot.subtitle = absl::StrFormat(
        "at least 97.5 %% of %d frames from there on, frequency drawn within 0.9/(2p)",
        search.frames());
    const double row_at = -static_cast<double>(c);
    panel.y.names.push_back(constellation.name);
    panel.series.back().points.push_back({constellation.operating_snr_db, row_at});
    Table::Row row = {{"constellation", constellation.name},
                      {"symbols", static_cast<double>(search.num_symbols())},
                      {"power", static_cast<double>(search.power())},
                      {"range_cycles_per_symbol", 0.5 / search.power()},
                      {"operating_snr_db", constellation.operating_snr_db}};
    std::string line = absl::StrFormat("%-18s  %4d  %9.1f", constellation.name, search.power(),
                                       constellation.operating_snr_db);
    for (size_t m = 0; m < std::size(kModes); ++m) {
      const Mode& mode = kModes[m];
      const absl::StatusOr<double> threshold = search.Threshold(mode);
      if (!threshold.ok()) {
        return threshold.status();
      }
      // Those of equal value stand one above the other.
      panel.series[m].points.push_back(
          {*threshold, row_at + 0.18 * (1.5 - static_cast<double>(m))});
      row.emplace_back(absl::StrCat(mode.key, "_snr_db"), *threshold);
      absl::StrAppend(&line, std::isnan(*threshold) ? absl::StrFormat("  %14s", "never")
                                                    : absl::StrFormat("  %14.0f", *threshold));
    }
    row.emplace_back("frames_a_point", static_cast<double>(search.frames()));
    row.emplace_back("frames_judged", static_cast<double>(search.judged()));
    row.emplace_back("locked_wrong", static_cast<double>(search.locked_wrong()));
    result.table.Add(std::move(row));
    bench->Say(absl::StrFormat("%s  %d of %d", line, search.locked_wrong(), search.judged()));
  }
  result.svg = RenderSvg(plot);
  return result;
}

}  // namespace baseband::ctl
