// The plots of the report of `load`, as HTML.
#ifndef BASEBAND_CLIENT_CTL_LOAD_LOAD_PLOTS_H_
#define BASEBAND_CLIENT_CTL_LOAD_LOAD_PLOTS_H_

#include <string>

#include "client/ctl/load/load_report.h"
#include "client/load/run.h"

namespace baseband::ctl {

// Latency of each workload by percentile, on an axis with as much room for each nine.
std::string PercentileChart(const load::LoadResult& result);
// Median, 99th percentile and maximum of each interval.
std::string LatencyChart(const load::LoadResult& result);
// Calls that were due, answered rightly, and good, in each interval.
std::string ThroughputChart(const load::LoadResult& result);
// Shares of the outcomes of each workload and of all.
std::string OutcomeBars(const load::LoadResult& result);
// Where the mean call's time went, stage by stage.
std::string StageBars(const load::LoadResult& result);
// Latency at each rate that was tried. Of a report with a knee.
std::string KneeChart(const LoadReport& report);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LOAD_LOAD_PLOTS_H_
