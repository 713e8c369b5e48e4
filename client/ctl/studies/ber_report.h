// What `ber` writes about its curves: a table, JSON, a plot.
#ifndef BASEBAND_CLIENT_CTL_STUDIES_BER_REPORT_H_
#define BASEBAND_CLIENT_CTL_STUDIES_BER_REPORT_H_

#include <string>
#include <vector>

#include "client/ctl/ldpc/code_flags.h"
#include "client/ctl/ldpc/error_rate.h"
#include "client/ctl/plot/plot.h"
#include "client/ctl/studies/left_out.h"
#include "nlohmann/json_fwd.hpp"

namespace baseband::ctl {

struct CurvePoint {
  double ebn0_db = 0;
  double seconds = 0;  // spent measuring it
  ErrorRate rate;
};

struct Curve {
  std::string label;
  DecodeFlags flags;
  v1::DecodeGroup decode;
  std::vector<CurvePoint> points;
  LeftOut left_out{};
};

// A header line, and a row for each point.
std::string ToCsv(const std::vector<Curve>& curves);

nlohmann::ordered_json ToJson(const Curve& curve);

// Bit errors and frame errors side by side; `curves` are of one code, one or more.
Plot ToPlot(const std::vector<Curve>& curves);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_STUDIES_BER_REPORT_H_
