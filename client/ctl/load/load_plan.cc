#include "client/ctl/load/load_plan.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "client/ctl/load/load_probe.h"
#include "client/ctl/load/load_scenario.h"
#include "kernels/base/status_macros.h"

namespace baseband::ctl {
namespace {

constexpr double kKneeFirstRate = 100;
constexpr char kMostMissed[] = "missed=0.1%";
constexpr absl::Duration kLongestCellTry = absl::Minutes(1);

absl::Status CheckWays(const LoadFlags& load, const GlobalFlags& flags, const CLI::App& app) {
  if (flags.ring && (load.stream || flags.shared_memory)) {
    return absl::InvalidArgumentError(
        absl::StrCat(load.stream ? "--stream" : "--shared-memory",
                     " does not go with --ring, whose requests and payloads are in its memory"));
  }
  if (app.count("--attempts") > 0 && (flags.ring || load.stream)) {
    return absl::InvalidArgumentError("--attempts goes with neither --stream nor --ring");
  }
  if (load.no_throttle && flags.ring) {
    return absl::InvalidArgumentError("--no-throttle does not go with --ring, which has none");
  }
  if (!load.transports.empty() &&
      (load.find_knee || load.stream || flags.shared_memory || flags.ring || !load.csv.empty() ||
       !load.html.empty() || !load.fail_above.empty())) {
    return absl::InvalidArgumentError(
        "--transports does not go with --find-knee, --stream, --shared-memory, --ring, --csv,"
        " --html or --fail-above");
  }
  if (load.find_cells &&
      (load.find_knee || !load.transports.empty() || !load.csv.empty() || !load.html.empty() ||
       !load.fail_above.empty() || !load.metrics_url.empty())) {
    return absl::InvalidArgumentError(
        "--find-cells does not go with --find-knee, --transports, --csv, --html, --fail-above or"
        " --metrics");
  }
  if (load.in_place && load.transports.empty() && !flags.ring && !flags.shared_memory) {
    return absl::InvalidArgumentError(
        "--in-place goes with --shared-memory or --ring: payloads lie in such memory");
  }
  return absl::OkStatus();
}

// With the rate that a search begins at.
absl::StatusOr<load::Pace> PaceOf(const LoadFlags& load, PaceSettings settings) {
  if (load.find_knee && !settings.rate.has_value()) {
    if (settings.cells.has_value()) {
      return absl::InvalidArgumentError("--find-knee looks for a rate, and does not go with cells");
    }
    settings.rate = kKneeFirstRate;
  }
  if (load.find_cells && !settings.cells.has_value()) settings.cells = 1;
  const absl::StatusOr<load::Pace> pace = ToPace(settings);
  if (!pace.ok()) {
    return pace.status();
  }
  if (const double least = LeastProbedRate(load.knee_probe); load.find_knee && pace->rate < least) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--find-knee looks at rates from %.3g calls/s on, and not from %.3g: at"
                        " fewer a probe would last for minutes, or tell nothing",
                        least, pace->rate));
  }
  return pace;
}

absl::StatusOr<CellCriterion> CriterionOf(const LoadFlags& load,
                                          const std::vector<TrafficSpec>& mix) {
  for (const TrafficSpec& part : mix) {
    if (part.deadline == absl::InfiniteDuration()) continue;
    return absl::InvalidArgumentError(
        "a deadline does not go with --find-cells, which has those of --cell-deadlines");
  }
  CellCriterion criterion;
  if (!load.cell_deadlines.empty()) criterion.deadlines = load.cell_deadlines;
  criterion.in_time = load.in_time_percent / 100;
  return criterion;
}

absl::StatusOr<load::Threshold> LimitOf(const char* flag, const std::string& text) {
  absl::StatusOr<load::Threshold> limit = load::ParseThreshold(text);
  if (!limit.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(flag, " ", limit.status().message()));
  }
  return limit;
}

}  // namespace

absl::StatusOr<LoadPlan> ToPlan(const LoadFlags& load, const GlobalFlags& flags,
                                const CLI::App& app) {
  absl::optional<int> in_flight;
  if (app.get_parent()->get_option("--in-flight")->count() > 0) {
    in_flight = flags.in_flight;
  }
  BASEBAND_RETURN_IF_ERROR(CheckWays(load, flags, app));
  BASEBAND_ASSIGN_OR_RETURN(Scenario scenario, ToScenario(load, app, in_flight));
  LoadPlan plan;
  plan.mix = std::move(scenario.mix);
  for (TrafficSpec& part : plan.mix) {
    if (part.priority.empty()) part.priority = flags.priority;
  }
  if (!load.transports.empty()) {
    BASEBAND_ASSIGN_OR_RETURN(plan.transports, ParseTransports(load.transports, flags.target));
  }
  for (const Transport& transport : plan.transports) {
    if (load.in_place && !IsByMemory(transport)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--in-place does not go with --transports=", transport.name,
                       ": of these, payloads lie in the memory of shm and ring"));
    }
  }
  BASEBAND_ASSIGN_OR_RETURN(plan.spec.pace, PaceOf(load, scenario.pace));
  if (load.find_cells) {
    BASEBAND_ASSIGN_OR_RETURN(plan.cells, CriterionOf(load, plan.mix));
    plan.spec.duration = kLongestCellTry;
  }
  for (const std::string& text : load.fail_above) {
    BASEBAND_ASSIGN_OR_RETURN(const load::Threshold limit, LimitOf("--fail-above", text));
    plan.limits.push_back(limit);
  }
  BASEBAND_ASSIGN_OR_RETURN(const load::Threshold bound, LimitOf("--knee-bound", load.knee_bound));
  plan.bounds = {bound, *load::ParseThreshold(kMostMissed)};
  BASEBAND_ASSIGN_OR_RETURN(plan.spec.client, ToClientOptions(flags));
  plan.spec.client.throttle = !load.no_throttle;
  plan.spec.attempts = load.attempts;
  plan.spec.workers = load.threads;
  plan.spec.warm_up = scenario.pace.warm_up.value_or(plan.spec.warm_up);
  plan.spec.duration = scenario.pace.duration.value_or(plan.spec.duration);
  plan.spec.timeout = flags.timeout;
  plan.spec.wait_for_server = flags.wait;
  plan.spec.max_in_flight = load.max_in_flight;
  plan.spec.seed = load.seed;
  plan.spec.stream = load.stream;
  plan.spec.in_place = load.in_place;
  plan.spec.metrics_url = load.metrics_url;
  return plan;
}

}  // namespace baseband::ctl
