#include "client/ctl/load/load_probe.h"

#include <algorithm>
#include <utility>

namespace baseband::ctl {
namespace {

constexpr int kLeastCalls = 20;
constexpr absl::Duration kLongest = absl::Minutes(1);

}  // namespace

KneeProbe ToProbe(load::LoadResult result, const std::vector<load::Threshold>& bounds) {
  KneeProbe probe;
  for (const load::Threshold& bound : bounds) {
    if (load::IsExceeded(bound, result)) probe.broken.push_back(bound);
  }
  probe.kept_up = result.Offered() > 0 && result.Throughput() >= kAnsweredShare * result.Offered();
  probe.result = std::move(result);
  return probe;
}

absl::Duration ProbeDuration(absl::Duration probe, double rate) {
  return std::max(probe, absl::Seconds(kLeastCalls / rate));
}

double LeastProbedRate(absl::Duration probe) {
  return kLeastCalls / absl::ToDoubleSeconds(std::max(probe, kLongest));
}

}  // namespace baseband::ctl
