// What `bler` writes about its curves: a table, JSON, a plot.
#ifndef BASEBAND_CLIENT_CTL_STUDIES_BLER_REPORT_H_
#define BASEBAND_CLIENT_CTL_STUDIES_BLER_REPORT_H_

#include <string>
#include <vector>

#include "client/ctl/common/table.h"
#include "client/ctl/plot/plot.h"
#include "client/ctl/studies/bler_curve.h"
#include "client/ctl/studies/left_out.h"
#include "nlohmann/json_fwd.hpp"

namespace baseband::ctl {

struct BlerPoint {
  double snr_db = 0;
  double seconds = 0;  // spent measuring it
  BlerCounts counts;
};

// Of one format; a curve for each number of transmissions.
struct BlerCurves {
  TransportFormat format;
  int transmissions = 1;
  std::vector<BlerPoint> points;
  LeftOut left_out{};
};

// A row for each point and number of transmissions.
Table ToTable(const std::vector<BlerCurves>& all);

nlohmann::ordered_json ToJson(const BlerCurves& curves);

// Block errors, and information bits a symbol beside what the channel lets through (Shannon 1948).
// `subtitle` says how it was measured.
Plot ToPlot(const std::vector<BlerCurves>& all, const std::string& subtitle);

// For the terminal: a header line, and a line a point.
std::string BlerHeader(int transmissions);
std::string BlerLine(const BlerCurves& curves, const BlerPoint& point);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_STUDIES_BLER_REPORT_H_
