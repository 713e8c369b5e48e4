#include "client/ctl/load/load_probe.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"

namespace baseband::ctl {
namespace {

constexpr int kLeastCalls = 20;
constexpr double kStepDown = 0.9;
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

std::string KneeProbe::Verdict() const {
  std::vector<std::string> parts;
  if (!kept_up) parts.emplace_back("behind");
  for (const load::Threshold& bound : broken) parts.push_back(load::ToText(bound, result));
  return absl::StrJoin(parts, ", ");
}

double RateBelow(const load::LoadResult& result) {
  const double rate = kStepDown * result.spec.pace.rate;
  return result.Throughput() > 0 ? std::min(rate, kAnsweredShare * result.Throughput()) : rate;
}

absl::Duration ProbeDuration(absl::Duration probe, double rate) {
  return std::max(probe, absl::Seconds(kLeastCalls / rate));
}

double LeastProbedRate(absl::Duration probe) {
  return kLeastCalls / absl::ToDoubleSeconds(std::max(probe, kLongest));
}

}  // namespace baseband::ctl
