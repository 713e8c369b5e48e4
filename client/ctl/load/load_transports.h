// `load --transports`: the same load by one way to the server after the other.
#ifndef BASEBAND_CLIENT_CTL_LOAD_LOAD_TRANSPORTS_H_
#define BASEBAND_CLIENT_CTL_LOAD_LOAD_TRANSPORTS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "baseband/v1/baseband.pb.h"
#include "client/load/run.h"
#include "nlohmann/json_fwd.hpp"

namespace baseband::ctl {

enum class TransportKind { kTcp, kUds, kSubmit, kShm, kRing };

struct Transport {
  TransportKind kind = TransportKind::kTcp;
  std::string name;    // as it was asked for
  std::string target;  // of the calls
};

// "tcp,uds=unix:bb.sock,ring": names, and after a "=" a target that is not `target`.
// InvalidArgument: a name that there is not, twice the same, or a target of another kind.
absl::StatusOr<std::vector<Transport>> ParseTransports(const std::string& text,
                                                       const std::string& target);

// Payloads lie in memory that client and server share.
bool IsByMemory(const Transport& transport);

// Of `spec`, with a server that says this of itself. Errors: those of shared memory.
absl::Status Choose(const Transport& transport, const v1::SharedMemoryCapabilities& shared,
                    load::LoadSpec* spec);

using TransportResults = std::vector<std::pair<Transport, load::LoadResult>>;

// A line for each.
std::string ToText(const TransportResults& results);
nlohmann::ordered_json ToJson(const TransportResults& results);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LOAD_LOAD_TRANSPORTS_H_
