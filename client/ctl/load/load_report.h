// What `load` has measured, for people and for machines.
#ifndef BASEBAND_CLIENT_CTL_LOAD_LOAD_REPORT_H_
#define BASEBAND_CLIENT_CTL_LOAD_LOAD_REPORT_H_

#include <string>
#include <utility>
#include <vector>

#include "client/ctl/common/table.h"
#include "client/ctl/load/load_probe.h"
#include "client/load/confirm.h"
#include "client/load/knee.h"
#include "client/load/run.h"
#include "client/load/threshold.h"
#include "nlohmann/json_fwd.hpp"

namespace baseband::ctl {

struct LoadReport {
  std::string server;       // version and devices
  load::LoadResult result;  // with a knee: of the highest rate borne; without: the last probe's
  std::vector<load::Threshold> limits;  // of --fail-above
  std::vector<load::Threshold> bounds;  // of the knee
  load::WrongAnswers wrong_before;      // the load: of what was asked to know what is right
  std::vector<KneeProbe> probes;        // in the order they were run; empty: no knee was sought
  load::Knee knee;                      // of them, and of the measurements that followed
  // The whole measurements that broke a bound at a rate that the probes had borne: from the highest
  // on, each at a lower one. `result` is what came after them; the last of them, if none did.
  std::vector<KneeProbe> not_held;

  // A knee was sought, and there is none: no load was borne, or no whole measurement.
  bool NothingIsBorne() const { return !probes.empty() && knee.low == 0; }
  // No call of the measurement came to a right answer by its deadline.
  bool NothingIsServed() const;
  // More than half of its calls came to no right answer, late ones apart: they were refused above
  // all, expired or not sent.
  bool MostAreUnserved() const;
  std::vector<load::Threshold> BrokenLimits() const;
  // Before, in the warm-up and in the measurement, of all loads.
  load::WrongAnswers AllWrongAnswers() const;
  // What exit code 4 stands for: any of these.
  bool IsNegative() const;
};

// Quantiles that every report has, by name: "p50" .. "p99.99".
const std::vector<std::pair<const char*, double>>& ReportedQuantiles();

// "1.2 ms"; "-" if nothing was recorded.
std::string QuantileText(const load::Histogram& times, double quantile);
std::string MeanText(const load::Histogram& times);
// "3.21"; empty if nothing was decoded.
std::string MeanText(const load::Iterations& iterations);
// "0.1 %"; "-" if no call was due.
std::string MissedText(const load::Outcomes& outcomes);
// "1e-05"; empty without blocks.
std::string BlerText(const load::Blocks& blocks);
// "highest rate borne: 1200 calls/s (1260 are too much), by 17 loads"; "no rate is borne, not even
// 0.5 calls/s, by 18 loads". Where whole measurements broke the bounds, how many did.
std::string KneeSentence(const LoadReport& report);

// "unary", "stream" or "ring".
std::string TransportOf(const load::LoadSpec& spec);
// "4 connections to 127.0.0.1:50051, payloads in the messages".
std::string ConnectionsText(const load::LoadResult& result);
// "payloads in the messages", "payloads by shared memory", "payloads in place in shared memory", or
// how many of them.
std::string PayloadsText(const load::LoadResult& result);
// "input int16, llr_scale 6"; empty without any.
std::string ToText(const load::Settings& settings);
// Those of all workloads, in their order.
std::vector<std::string> SettingNames(const load::LoadResult& result);

// What is not right about the figures or the server, a sentence each.
std::vector<std::string> Remarks(const LoadReport& report);
// "cores", "lanes busy", .. of the server's metrics, and their values; empty without them.
std::vector<std::pair<std::string, std::string>> ServerFigures(const load::LoadResult& result);

// Calls due, and those of each outcome.
nlohmann::ordered_json ToJson(const load::Outcomes& outcomes);
// What a workload sends.
nlohmann::ordered_json ToJson(const load::Settings& settings);
// Of times in nanoseconds: count, min_s, mean_s, the reported quantiles, max_s.
nlohmann::ordered_json ToJson(const load::Histogram& latency);

std::string ToText(const LoadReport& report);
nlohmann::ordered_json ToJson(const LoadReport& report);
// A row for each workload and one for all; with a knee, one for each of its loads.
std::string ToCsv(const LoadReport& report);

// One line while it runs.
std::string ToText(const load::LoadProgress& progress);
std::string ToJsonLine(const load::LoadProgress& progress);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LOAD_LOAD_REPORT_H_
