// What `load` has measured, for people and for machines.
#ifndef BASEBAND_CLIENT_CTL_LOAD_LOAD_REPORT_H_
#define BASEBAND_CLIENT_CTL_LOAD_LOAD_REPORT_H_

#include <string>
#include <utility>
#include <vector>

#include "client/ctl/common/table.h"
#include "client/load/run.h"
#include "client/load/threshold.h"
#include "nlohmann/json_fwd.hpp"

namespace baseband::ctl {

// A load at one rate of the search for the highest.
struct KneeProbe {
  load::LoadResult result;
  std::vector<load::Threshold> broken;  // none: it was borne
};

struct LoadReport {
  std::string server;                   // version and devices
  load::LoadResult result;              // with a knee: of the highest rate that was borne
  std::vector<load::Threshold> limits;  // of --fail-above
  std::vector<load::Threshold> bounds;  // of the knee
  std::vector<KneeProbe> probes;        // in the order they were run; empty: no knee was sought

  std::vector<load::Threshold> BrokenLimits() const;
  // The rate of result, if it is a knee.
  double knee() const { return probes.empty() ? 0 : result.spec.pace.rate; }
};

// Quantiles that every report has, by name: "p50" .. "p99.99".
const std::vector<std::pair<const char*, double>>& ReportedQuantiles();

// What is not right about the figures or the server, a sentence each.
std::vector<std::string> Remarks(const LoadReport& report);
// "cores", "lanes busy", .. of the server's metrics, and their values; empty without them.
std::vector<std::pair<std::string, std::string>> ServerFigures(const load::LoadResult& result);

std::string ToText(const LoadReport& report);
nlohmann::ordered_json ToJson(const LoadReport& report);
// A row for each workload and one for all; with a knee, one for each of its loads.
std::string ToCsv(const LoadReport& report);

// One line while it runs.
std::string ToText(const load::LoadProgress& progress);
std::string ToJsonLine(const load::LoadProgress& progress);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LOAD_LOAD_REPORT_H_
