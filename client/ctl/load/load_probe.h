// The loads by which `load --find-knee` looks for the highest rate that is borne.
#ifndef BASEBAND_CLIENT_CTL_LOAD_LOAD_PROBE_H_
#define BASEBAND_CLIENT_CTL_LOAD_LOAD_PROBE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/load/run.h"
#include "client/load/threshold.h"

namespace baseband::ctl {

// Of the calls due in a probe, the share that has to be answered in its time.
inline constexpr double kAnsweredShare = 0.95;

// A load at one rate.
struct KneeProbe {
  load::LoadResult result;
  std::vector<load::Threshold> broken;
  bool kept_up = true;  // nearly all calls were answered in the time they came in; some were due

  bool borne() const { return broken.empty() && kept_up; }
  // What is not borne about it: "behind, p99=5ms: 7.5 ms"; empty if it is.
  std::string Verdict() const;
};

KneeProbe ToProbe(load::LoadResult result, const std::vector<load::Threshold>& bounds);

// The next rate to try for a whole measurement, where `result`, the last one, broke a bound: a
// tenth less, or just below what was answered, if that is less still.
double RateBelow(const load::LoadResult& result);

// `probe`, or longer: until some twenty calls are due, for fewer tell nothing of a rate.
absl::Duration ProbeDuration(absl::Duration probe, double rate);
// The least rate at which that is at most a minute, or `probe`.
double LeastProbedRate(absl::Duration probe);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LOAD_LOAD_PROBE_H_
