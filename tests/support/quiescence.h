// Whether a server is as it was before the storm.
#ifndef BASEBAND_TESTS_SUPPORT_QUIESCENCE_H_
#define BASEBAND_TESTS_SUPPORT_QUIESCENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/support/server_process.h"

namespace baseband::testing {

// What the process has.
struct Holdings {
  int64_t connections = 0;
  int64_t descriptors = 0;
  int64_t own_threads = 0;
  int64_t grpc_threads = 0;
  int64_t resident_bytes = 0;
};
Holdings HoldingsOf(ServerProcess& server);
// So many connections, and of all else as much as there may be.
Holdings NoMoreConnectionsThan(int64_t connections);

// Descriptors open in a process.
int64_t CountDescriptors(pid_t pid);

// Waits until nothing is in flight or queued, no memory is out, and there are no more connections,
// descriptors and threads than `before`, some threads of gRPC's own more or less. Empty if so
// within `patience` (connections close late under load), else what is left.
std::string AwaitQuiescence(ServerProcess& server, const Holdings& before,
                            absl::Duration patience = absl::Seconds(90));

// Flags of a server with little memory of its own, which a short load touches from end to end.
std::vector<std::string> SmallPools();

// Growth of the resident memory that no leak of a payload a client would fit into. Sanitizers' own
// memory grows: with them there is no limit.
int64_t MaxGrowthBytes();

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_QUIESCENCE_H_
