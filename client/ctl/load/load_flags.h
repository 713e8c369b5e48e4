// The flags of `load`.
#ifndef BASEBAND_CLIENT_CTL_LOAD_LOAD_FLAGS_H_
#define BASEBAND_CLIENT_CTL_LOAD_LOAD_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "client/ctl/load/load_scenario.h"
#include "client/load/threshold.h"

namespace baseband::ctl {

struct LoadFlags {
  std::string operation;
  std::string scenario_file;
  TrafficSpec traffic;  // without a scenario the one kind of call, else what its items do not say
  PaceSettings pace;
  int max_in_flight = 4096;
  int threads = 0;
  bool stream = false;
  bool in_place = false;
  std::string transports;  // empty: one, as the other flags say
  int attempts = 1;
  bool no_throttle = false;
  uint64_t seed = 1;
  std::string metrics_url;
  bool find_knee = false;
  std::string knee_bound = "p99=5ms";
  absl::Duration knee_probe = absl::Seconds(3);
  bool find_cells = false;
  std::vector<int> cell_deadlines;  // in slots; empty: CellCriterion's
  double in_time_percent = 99.999;
  std::vector<std::string> fail_above;
  std::string csv;
  std::string html;
};

void AddLoadFlags(CLI::App* app, LoadFlags* flags);

// The mix and its pace: the scenario file's where the flags say nothing else. `app` is what they
// were added to and has parsed: one that is for none of the operations is refused. `in_flight`:
// what --in-flight says, if it is given. InvalidArgument, and NotFound for a missing file.
absl::StatusOr<Scenario> ToScenario(const LoadFlags& flags, const CLI::App& app,
                                    absl::optional<int> in_flight);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LOAD_LOAD_FLAGS_H_
