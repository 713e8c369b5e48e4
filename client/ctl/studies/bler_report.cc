#include "client/ctl/studies/bler_report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/terminal.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

std::string Label(const BlerCurves& curves, int transmission) {
  const std::string name = curves.format.index.has_value()
                               ? absl::StrCat("MCS ", *curves.format.index)
                               : curves.format.Name();
  return curves.transmissions == 1
             ? name
             : absl::StrCat(name, ", ", Plural(transmission + 1, "transmission"));
}

// Bits a symbol that white noise lets through at most, over the range of the curves.
PlotSeries Capacity(const std::vector<BlerCurves>& all) {
  double begin = INFINITY;
  double end = -INFINITY;
  for (const BlerCurves& curves : all) {
    for (const BlerPoint& point : curves.points) {
      begin = std::min(begin, point.snr_db);
      end = std::max(end, point.snr_db);
    }
  }
  PlotSeries series;
  series.label = "Shannon's limit";
  series.reference = true;
  for (int i = 0; i <= 50; ++i) {
    const double x = begin + (end - begin) * i / 50;
    series.points.push_back({x, std::log2(1 + std::pow(10, x / 10))});
  }
  return series;
}

double Optional(const absl::optional<int>& value) {
  return value.has_value() ? *value : std::nan("");
}

}  // namespace

Table ToTable(const std::vector<BlerCurves>& all) {
  Table table;
  for (const BlerCurves& curves : all) {
    const TransportFormat& format = curves.format;
    for (const BlerPoint& point : curves.points) {
      for (int t = 0; t < curves.transmissions; ++t) {
        const Interval bler = point.counts.BlerInterval(t);
        const auto number = [](int64_t value) { return static_cast<double>(value); };
        table.Add({{"mcs_table", number(format.table)},
                   {"mcs", Optional(format.index)},
                   {"qm", number(format.mcs.qm)},
                   {"code_rate", format.mcs.code_rate},
                   {"layers", number(format.layers)},
                   {"prbs", number(format.prbs)},
                   {"tb_bits", number(format.plan.tb_bits)},
                   {"snr_db", point.snr_db},
                   {"transmissions", number(t + 1)},
                   {"blocks", number(point.counts.blocks())},
                   {"block_errors", number(point.counts.failed(t))},
                   {"bler", point.counts.bler(t)},
                   {"bler_low95", bler.low},
                   {"bler_high95", bler.high},
                   {"bits_per_symbol", point.counts.BitsPerSymbol(t, format)},
                   {"mean_iterations", point.counts.MeanIterations(t, format)},
                   {"undetected_block_errors", number(point.counts.undetected())},
                   {"seconds", point.seconds}});
      }
    }
  }
  return table;
}

nlohmann::ordered_json ToJson(const BlerCurves& curves) {
  nlohmann::ordered_json json;
  json["format"] = ToJson(curves.format);
  json["points"] = nlohmann::ordered_json::array();
  for (const BlerPoint& point : curves.points) {
    nlohmann::ordered_json after = nlohmann::ordered_json::array();
    for (int t = 0; t < curves.transmissions; ++t) {
      const Interval bler = point.counts.BlerInterval(t);
      after.push_back({{"transmissions", t + 1},
                       {"block_errors", point.counts.failed(t)},
                       {"bler", point.counts.bler(t)},
                       {"bler_95", {bler.low, bler.high}},
                       {"bits_per_symbol", point.counts.BitsPerSymbol(t, curves.format)},
                       {"mean_iterations", point.counts.MeanIterations(t, curves.format)}});
    }
    json["points"].push_back({{"snr_db", point.snr_db},
                              {"blocks", point.counts.blocks()},
                              {"undetected_block_errors", point.counts.undetected()},
                              {"after", std::move(after)},
                              {"seconds", point.seconds}});
  }
  json["left_out_db"] = curves.left_out;
  return json;
}

Plot ToPlot(const std::vector<BlerCurves>& all, const std::string& subtitle) {
  Plot plot;
  const TransportFormat& first = all[0].format;
  plot.title = absl::StrCat("5G NR shared channel, ",
                            all.size() == 1 ? absl::StrCat(first.Name(), ": ", first.Describe())
                                            : absl::StrCat(Plural(first.prbs, "PRB"), ", ",
                                                           Plural(first.layers, "layer")));
  plot.subtitle = subtitle;
  plot.x_label = "Es/N0 [dB]";
  PlotPanel bler;
  PlotPanel throughput;
  bler.y = {"block error rate", 0, 0, /*decades=*/true};
  throughput.y.label = "information bits a symbol";
  for (const BlerCurves& curves : all) {
    for (int t = 0; t < curves.transmissions; ++t) {
      PlotSeries errors;
      PlotSeries bits;
      errors.label = bits.label = Label(curves, t);
      for (const BlerPoint& point : curves.points) {
        const Interval limits = point.counts.BlerInterval(t);
        errors.points.push_back({point.snr_db, point.counts.bler(t), limits.low, limits.high});
        bits.points.push_back({point.snr_db, point.counts.BitsPerSymbol(t, curves.format)});
      }
      bler.series.push_back(std::move(errors));
      throughput.series.push_back(std::move(bits));
    }
  }
  throughput.series.push_back(Capacity(all));
  plot.panels = {std::move(bler), std::move(throughput)};
  return plot;
}

std::string BlerHeader(int transmissions) {
  std::string line = "   Es/N0  blocks    BLER after 1  (95 % limits)      ";
  for (int t = 1; t < transmissions; ++t) absl::StrAppend(&line, "     after ", t + 1);
  return absl::StrCat(line, "  bits/symbol  iterations\n");
}

std::string BlerLine(const BlerCurves& curves, const BlerPoint& point) {
  const BlerCounts& counts = point.counts;
  const Interval limits = counts.BlerInterval(0);
  std::string line = absl::StrFormat("  %6.2f  %6d       %9.2e  (%.1e .. %.1e)", point.snr_db,
                                     counts.blocks(), counts.bler(0), limits.low, limits.high);
  for (int t = 1; t < curves.transmissions; ++t) {
    absl::StrAppendFormat(&line, "  %10.2e", counts.bler(t));
  }
  const int last = curves.transmissions - 1;
  return line + absl::StrFormat("  %11.3f  %10.2f\n", counts.BitsPerSymbol(last, curves.format),
                                counts.MeanIterations(0, curves.format));
}

}  // namespace baseband::ctl
