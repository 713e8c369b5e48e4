// The RPCs by whose names requests are counted.
#ifndef BASEBAND_SERVER_METRICS_RPC_H_
#define BASEBAND_SERVER_METRICS_RPC_H_

#include <cstddef>

namespace baseband::server {

// One of them: its row wherever something is kept of each, and its name, which lives as long as the
// process or the table of the server's operations.
struct Rpc {
  size_t row = 0;
  const char* name = "";
};

// Those of every server. Then come, for each operation of its table, its own and that of its
// streams (Operation::rpc, stream_rpc).
inline constexpr Rpc kSubmitRpc = {0, "Submit"};  // whole streams: their requests are operations'
inline constexpr Rpc kGetCapabilitiesRpc = {1, "GetCapabilities"};
inline constexpr Rpc kAdminRpc = {2, "Admin"};            // all of baseband.v1.Admin
inline constexpr Rpc kHealthRpc = {3, "Health"};          // grpc.health.v1.Health
inline constexpr Rpc kReflectionRpc = {4, "Reflection"};  // grpc.reflection, of each version

inline constexpr size_t kFirstOperationRow = 5;
inline constexpr size_t kMaxOperations = 16;
inline constexpr size_t kMaxRpcRows = kFirstOperationRow + 2 * kMaxOperations;

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_METRICS_RPC_H_
