// What may be said of a kind of call of `load`, by keys of a scenario file and by flags of the same
// names ("llr_scale", --llr-scale), and of which operations: declared here, and nowhere else.
#ifndef BASEBAND_CLIENT_CTL_LOAD_LOAD_KEYS_H_
#define BASEBAND_CLIENT_CTL_LOAD_LOAD_KEYS_H_

#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/ctl/common/json_values.h"
#include "client/ctl/load/load_traffic.h"

namespace baseband::ctl {

struct TrafficKey : JsonKey<TrafficSpec> {
  std::vector<Operation> operations;  // that it is for; empty: all

  bool IsFor(Operation operation) const;
};

// All of them. Some have no flag: "operation", "name", "weight", "frames".
const std::vector<TrafficKey>& TrafficKeys();
// Null: it is none of them. `flag` as CLI11 names it, "--llr-scale".
const TrafficKey* KeyOfFlag(const std::string& flag);

// Puts in front of the help of each flag of `app` which operations it is for.
void TellOperations(CLI::App* app);

// "goes with decode, not with encode": what is said of a key that is for none of `operations`.
std::string DoesNotGo(const TrafficKey& key, const std::vector<Operation>& operations);
// InvalidArgument names the first flag that was given to `app` and is for none of `operations`.
absl::Status CheckFlags(const CLI::App& app, const std::vector<Operation>& operations);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LOAD_LOAD_KEYS_H_
