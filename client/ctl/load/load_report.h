// What `load` has measured, for people and for machines.
#ifndef BASEBAND_CLIENT_CTL_LOAD_LOAD_REPORT_H_
#define BASEBAND_CLIENT_CTL_LOAD_LOAD_REPORT_H_

#include <string>
#include <utility>
#include <vector>

#include "client/ctl/common/table.h"
#include "client/load/confirm.h"
#include "client/load/knee.h"
#include "client/load/run.h"
#include "client/load/threshold.h"
#include "nlohmann/json_fwd.hpp"

namespace baseband::ctl {

// A load at one rate of the search for the highest.
struct KneeProbe {
  load::LoadResult result;
  std::vector<load::Threshold> broken;
  bool kept_up = true;  // nearly all calls were answered in the time they came in

  bool borne() const { return broken.empty() && kept_up; }
};

struct LoadReport {
  std::string server;                   // version and devices
  load::LoadResult result;              // with a knee: of the highest rate that was borne
  std::vector<load::Threshold> limits;  // of --fail-above
  std::vector<load::Threshold> bounds;  // of the knee
  load::WrongAnswers wrong_before;      // the load: of what was asked to know what is right
  std::vector<KneeProbe> probes;        // in the order they were run; empty: no knee was sought
  load::Knee knee;                      // of them

  std::vector<load::Threshold> BrokenLimits() const;
  // Before, in the warm-up and in the measurement, of all loads.
  load::WrongAnswers AllWrongAnswers() const;
};

// Quantiles that every report has, by name: "p50" .. "p99.99".
const std::vector<std::pair<const char*, double>>& ReportedQuantiles();

// "1e-05"; empty without blocks.
std::string BlerText(const load::Blocks& blocks);
// "highest rate borne: 1200 calls/s (1260 are too much), by 17 loads".
std::string KneeSentence(const load::Knee& knee);

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
