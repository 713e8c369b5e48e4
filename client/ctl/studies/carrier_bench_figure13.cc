// Figure 13 of Gao, Yang, Fu: QPSK, 32400 symbols, normalised mean square error of the corrected
// symbols over SNR. The paper's offset of 0.02 lies exactly on an FFT bin, where every method looks
// perfect; so a random part of a bin is added.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/angles.h"
#include "client/ctl/plot/plot.h"
#include "client/ctl/studies/carrier_bench.h"
#include "client/ctl/studies/carrier_bounds.h"

namespace baseband::ctl {
namespace {

constexpr int kSymbols = 32400;
constexpr double kFrequency = 0.02;

struct Method {
  std::string label;
  std::string key;  // in the table
  v1::CarrierGroup group;
};

std::vector<Method> Methods(const v1::CarrierGroup& base) {
  std::vector<Method> methods;
  const auto add = [&](std::string label, std::string key, v1::FineMethod fine) {
    methods.push_back({std::move(label), std::move(key), base});
    methods.back().group.set_corrected(true);
    methods.back().group.set_fine(fine);
    return &methods.back().group;
  };
  add("FFT bin alone", "bin", v1::FINE_METHOD_NONE);
  for (const double step : {2e-6, 5e-7}) {
    v1::SweepOptions* sweep = add(absl::StrFormat("FFT, sweep of step %g", step),
                                  absl::StrFormat("sweep %g", step), v1::FINE_METHOD_SWEEP)
                                  ->mutable_sweep();
    // Half a bin of the spectrum of the fourth power.
    sweep->set_range(1.0 / (8 * kSymbols));
    sweep->set_step(step);
  }
  add("default (remodulation)", "remodulate", v1::FINE_METHOD_REMODULATE);
  for (const float bandwidth : {0.002F, 0.005F, 0.01F, 0.02F}) {
    add(absl::StrFormat("FFT, PLL BnT %g", bandwidth), absl::StrFormat("pll %g", bandwidth),
        v1::FINE_METHOD_PLL)
        ->mutable_pll()
        ->set_bandwidth(bandwidth);
  }
  return methods;
}

// Sums over all frames.
struct Energies {
  double error = 0;  // in the quadrant that is least
  double noise = 0;  // what was added
  double sent = 0;
};

// Of one frame: |z - s j^k|^2 = |z|^2 + |s|^2 - 2 Re(z conj(s) j^-k), k the best.
double LeastError(const Complex* corrected, const Complex* sent, int count) {
  std::complex<double> product = 0;
  double energy = 0;
  for (int n = 0; n < count; ++n) {
    const std::complex<double> z(corrected[n]);
    const std::complex<double> s(sent[n]);
    product += z * std::conj(s);
    energy += std::norm(z) + std::norm(s);
  }
  return energy - 2 * std::max(std::abs(product.real()), std::abs(product.imag()));
}

Energies Measure(const Frames& frames, const std::string& corrected) {
  const std::vector<Complex> z = ToComplex(corrected, v1::SAMPLE_FORMAT_FLOAT32, 1);
  const std::vector<Complex> r = ToComplex(frames.received, v1::SAMPLE_FORMAT_FLOAT32, 1);
  Energies energies;
  for (int i = 0; i < frames.count(); ++i) {
    const int64_t first = int64_t{i} * frames.num_symbols;
    energies.error += LeastError(&z[first], &frames.sent[first], frames.num_symbols);
    for (int n = 0; n < frames.num_symbols; ++n) {
      const std::complex<double> s(frames.sent[first + n]);
      const double turns = frames.frequency[i] * n;
      const double angle = frames.phase[i] + 2 * kPi * (turns - std::floor(turns));
      energies.noise += std::norm(std::complex<double>(r[first + n]) - s * std::polar(1.0, angle));
      energies.sent += std::norm(s);
    }
  }
  return energies;
}

Plot ToPlot(const std::vector<Method>& methods, const std::vector<double>& snr_db,
            const std::vector<std::vector<double>>& nmse, int frames) {
  Plot plot;
  plot.title = "Error of the corrected symbols over SNR (figure 13)";
  plot.subtitle = absl::StrFormat(
      "QPSK, %d symbols, frequency 0.02 + a random part of a bin, phase pi/8, %d frames a point",
      kSymbols, frames);
  plot.x_label = "Es/N0 [dB]";
  plot.panels.resize(2);
  plot.panels[0].y = {"NMSE", 0, 0, /*decades=*/true};
  plot.panels[1].y = {"NMSE times SNR: 1 is the noise alone", 0.98, 1.42};
  for (size_t m = 0; m < methods.size(); ++m) {
    PlotSeries error;
    PlotSeries ratio;
    error.label = ratio.label = methods[m].label;
    for (size_t i = 0; i < snr_db.size(); ++i) {
      error.points.push_back({snr_db[i], nmse[m][i]});
      ratio.points.push_back({snr_db[i], nmse[m][i] * std::pow(10, snr_db[i] / 10)});
    }
    plot.panels[0].series.push_back(std::move(error));
    plot.panels[1].series.push_back(std::move(ratio));
  }
  PlotSeries theory;
  PlotSeries one;
  theory.label = one.label = "theory, 1/SNR";
  theory.reference = one.reference = true;
  for (const double snr : snr_db) {
    theory.points.push_back({snr, std::pow(10, -snr / 10)});
    one.points.push_back({snr, 1});
  }
  plot.panels[0].series.push_back(std::move(theory));
  plot.panels[1].series.push_back(std::move(one));
  return plot;
}

}  // namespace

absl::StatusOr<BenchResult> RunFigure13(Bench* bench) {
  const auto qpsk = bench->Points({"QPSK"});
  if (!qpsk.ok()) {
    return qpsk.status();
  }
  std::vector<double> snr_db = bench->settings().snr_db;
  for (int snr = 0; snr <= 20 && bench->settings().snr_db.empty(); ++snr) {
    snr_db.push_back(snr);
  }
  FramesSpec spec;
  spec.constellation = &qpsk->front();
  spec.num_symbols = kSymbols;
  spec.count = bench->settings().frames > 0 ? bench->settings().frames : 40;
  spec.frequency = kFrequency;
  spec.frequency_range = 0.5 / kSymbols;
  spec.phase = kPi / 8;
  spec.seed = bench->settings().seed;
  const std::vector<Method> methods = Methods(GroupOf(spec));

  BenchResult result;
  std::vector<std::vector<double>> nmse(methods.size());
  std::string head = " Es/N0   theory";
  for (const Method& method : methods) {
    absl::StrAppendFormat(&head, " %11s", method.key);
  }
  bench->Say(absl::StrCat("NMSE of the corrected symbols, QPSK\n", head));
  for (size_t i = 0; i < snr_db.size(); ++i) {
    spec.snr_db = snr_db[i];
    const double snr = std::pow(10, snr_db[i] / 10);
    const Frames frames = MakeFrames(spec);
    std::string line = absl::StrFormat("%6.1f  %.5f", snr_db[i], 1 / snr);
    for (size_t m = 0; m < methods.size(); ++m) {
      bench->Progress((static_cast<double>(i) + static_cast<double>(m) / 8) /
                          static_cast<double>(snr_db.size()),
                      absl::StrFormat("%g dB, %s", snr_db[i], methods[m].label));
      const auto recovered = bench->Recover(methods[m].group, frames.received);
      if (!recovered.ok()) {
        return recovered.status();
      }
      const Energies energies = Measure(frames, recovered->corrected);
      const Accuracy accuracy = Compare(frames, recovered->frames, 1);
      const double bound = FrequencyBound(KnownInformation(snr), kSymbols);
      nmse[m].push_back(energies.error / energies.sent);
      result.table.Add({{"method", methods[m].key},
                        {"snr_db", snr_db[i]},
                        {"frames", static_cast<double>(spec.count)},
                        {"nmse", nmse[m].back()},
                        {"nmse_times_snr", nmse[m].back() * snr},
                        {"noise_drawn", energies.noise / energies.sent},
                        {"nmse_over_noise_drawn", energies.error / energies.noise},
                        {"theory", 1 / snr},
                        {"locked", static_cast<double>(accuracy.locked)},
                        {"frequency_rms_cycles_per_symbol", accuracy.frequency_rms},
                        {"frequency_rms_over_known_bound", accuracy.frequency_rms / bound}});
      absl::StrAppendFormat(&line, " %11.5f", nmse[m].back());
    }
    bench->Say(line);
  }
  result.svg = RenderSvg(ToPlot(methods, snr_db, nmse, spec.count));
  return result;
}

}  // namespace baseband::ctl
