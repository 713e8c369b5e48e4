// What `load` is to do, by all its flags together.
#ifndef BASEBAND_CLIENT_CTL_LOAD_LOAD_PLAN_H_
#define BASEBAND_CLIENT_CTL_LOAD_LOAD_PLAN_H_

#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "client/ctl/common/session.h"
#include "client/ctl/load/load_cells.h"
#include "client/ctl/load/load_flags.h"
#include "client/ctl/load/load_traffic.h"
#include "client/ctl/load/load_transports.h"
#include "client/load/run.h"
#include "client/load/threshold.h"

namespace baseband::ctl {

struct LoadPlan {
  std::vector<TrafficSpec> mix;
  load::LoadSpec spec;                  // but for memory, of which the server tells
  std::vector<load::Threshold> limits;  // of --fail-above
  std::vector<load::Threshold> bounds;  // of --find-knee
  std::vector<Transport> transports;    // empty: one, as `spec` has it
  absl::optional<CellCriterion> cells;  // of --find-cells, whose longest try `spec` is
};

// `app` is what AddLoadFlags() added `load` to. InvalidArgument names flags that are out of range
// or do not go together; NotFound: a file is missing.
absl::StatusOr<LoadPlan> ToPlan(const LoadFlags& load, const GlobalFlags& flags,
                                const CLI::App& app);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LOAD_LOAD_PLAN_H_
