#include "client/ctl/studies/ber_report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/ldpc/awgn.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

constexpr char kCsvHeader[] =
    "code,schedule,algorithm,iterations,ebn0_db,frames,frame_errors,undetected_frame_errors,fer,"
    "fer_low95,fer_high95,bits,bit_errors,ber,ber_low95,ber_high95,channel_ber,mean_iterations,"
    "seconds\n";

std::string CsvRow(const std::string& code, const Curve& curve, const CurvePoint& point) {
  const ErrorRate& rate = point.rate;
  const Interval fer = rate.FerInterval();
  const Interval ber = rate.BerInterval();
  return absl::StrFormat(
      "\"%s\",%s,%s,%d,%g,%d,%d,%d,%.6g,%.6g,%.6g,%d,%d,%.6g,%.6g,%.6g,%.6g,%.4g,%.3f\n", code,
      curve.flags.schedule, curve.flags.algorithm, curve.flags.iterations, point.ebn0_db,
      rate.frames(), rate.frame_errors(), rate.undetected_errors(), rate.fer(), fer.low, fer.high,
      rate.bits(), rate.bit_errors(), rate.ber(), ber.low, ber.high, rate.channel_ber(),
      rate.mean_iterations(), point.seconds);
}

// Uncoded BPSK over the range of the curves.
PlotSeries Uncoded(const std::vector<Curve>& curves) {
  double begin = INFINITY;
  double end = -INFINITY;
  for (const Curve& curve : curves) {
    for (const CurvePoint& point : curve.points) {
      begin = std::min(begin, point.ebn0_db - 0.5);
      end = std::max(end, point.ebn0_db + 0.5);
    }
  }
  PlotSeries series;
  series.label = "uncoded BPSK";
  series.reference = true;
  for (int i = 0; i <= 50; ++i) {
    const double x = begin + (end - begin) * i / 50;
    series.points.push_back({x, UncodedBer(x)});
  }
  return series;
}

}  // namespace

std::string ToCsv(const std::vector<Curve>& curves) {
  std::string csv = kCsvHeader;
  for (const Curve& curve : curves) {
    for (const CurvePoint& point : curve.points) {
      csv += CsvRow(Describe(curve.decode.code()), curve, point);
    }
  }
  return csv;
}

nlohmann::ordered_json ToJson(const Curve& curve) {
  nlohmann::ordered_json json;
  json["schedule"] = curve.flags.schedule;
  json["algorithm"] = curve.flags.algorithm;
  json["iterations"] = curve.flags.iterations;
  json["points"] = nlohmann::ordered_json::array();
  for (const CurvePoint& point : curve.points) {
    const Interval fer = point.rate.FerInterval();
    const Interval ber = point.rate.BerInterval();
    json["points"].push_back({{"ebn0_db", point.ebn0_db},
                              {"frames", point.rate.frames()},
                              {"frame_errors", point.rate.frame_errors()},
                              {"fer", point.rate.fer()},
                              {"fer_95", {fer.low, fer.high}},
                              {"bit_errors", point.rate.bit_errors()},
                              {"ber", point.rate.ber()},
                              {"ber_95", {ber.low, ber.high}},
                              {"channel_ber", point.rate.channel_ber()},
                              {"mean_iterations", point.rate.mean_iterations()},
                              {"seconds", point.seconds}});
  }
  json["left_out_db"] = curve.left_out;
  return json;
}

Plot ToPlot(const std::vector<Curve>& curves) {
  Plot plot;
  plot.title = absl::StrCat("LDPC decoding, ", Describe(curves[0].decode.code()));
  plot.subtitle = absl::StrFormat(
      "BPSK over AWGN, 8-bit LLRs with scale %g, at most %d iterations; bars: 95 %% confidence",
      curves[0].flags.llr_scale, curves[0].flags.iterations);
  plot.x_label = "Eb/N0 [dB]";
  PlotPanel ber;
  PlotPanel fer;
  ber.y = {"bit error rate", 0, 0, /*decades=*/true};
  fer.y = {"frame error rate", 0, 0, /*decades=*/true};
  for (const Curve& curve : curves) {
    PlotSeries ber_series;
    PlotSeries fer_series;
    ber_series.label = fer_series.label = curve.label;
    for (const CurvePoint& point : curve.points) {
      const Interval ber_95 = point.rate.BerInterval();
      const Interval fer_95 = point.rate.FerInterval();
      ber_series.points.push_back({point.ebn0_db, point.rate.ber(), ber_95.low, ber_95.high});
      fer_series.points.push_back({point.ebn0_db, point.rate.fer(), fer_95.low, fer_95.high});
    }
    ber.series.push_back(std::move(ber_series));
    fer.series.push_back(std::move(fer_series));
  }
  ber.series.push_back(Uncoded(curves));
  plot.panels = {std::move(ber), std::move(fer)};
  return plot;
}

}  // namespace baseband::ctl
