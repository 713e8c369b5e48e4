// What `load` sends and how fast: from flags, and from a scenario file.
#ifndef BASEBAND_CLIENT_CTL_LOAD_LOAD_SCENARIO_H_
#define BASEBAND_CLIENT_CTL_LOAD_LOAD_SCENARIO_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "client/ctl/load/load_traffic.h"
#include "client/load/arrivals.h"

namespace baseband::ctl {

// Empty: not said.
struct PaceSettings {
  absl::optional<double> rate;
  absl::optional<std::string> arrivals;  // "poisson", "constant"
  absl::optional<int> cells;
  absl::optional<absl::Duration> slot;
  absl::optional<absl::Duration> jitter;
  absl::optional<int> in_flight;
  absl::optional<absl::Duration> duration;
  absl::optional<absl::Duration> warm_up;
};

// What `first` says, and where it says nothing what `second` does. What makes another kind of pace
// than the first one's is not taken over: a rate replaces cells, and the other way round.
PaceSettings Merge(const PaceSettings& first, const PaceSettings& second);

// Cells make slots, a rate an open loop, neither a closed loop. InvalidArgument names what does not
// go together, and as Pace::Check.
absl::StatusOr<load::Pace> ToPace(const PaceSettings& settings);

struct Scenario {
  PaceSettings pace;
  std::vector<TrafficSpec> mix;
};

// A JSON object: "mix", a list of objects with an "operation" each, and keys of PaceSettings by
// name ("warmup" for warm_up). What an item of the mix does not say is as in `common`; a code of
// its own replaces that of `common` whole. InvalidArgument names the place, "mix[1].blocks: ..",
// also of a key that is for other operations.
//
//   {"cells": 4, "slot": "500us", "mix": [
//     {"operation": "decode", "nr_bg": 1, "zc": 384, "rows": 24, "deadline": "2ms", "weight": 3},
//     {"operation": "encode", "wifi": "1/2", "blocks": 4, "priority": "low"}]}
absl::StatusOr<Scenario> ParseScenario(const std::string& text, const TrafficSpec& common);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LOAD_LOAD_SCENARIO_H_
