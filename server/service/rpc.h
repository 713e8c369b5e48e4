// What one RPC needs beyond the shared transport: how its request becomes a job, and how the job
// becomes its reply.
#ifndef BASEBAND_SERVER_SERVICE_RPC_H_
#define BASEBAND_SERVER_SERVICE_RPC_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "baseband/v1/baseband.pb.h"
#include "server/operations/job.h"
#include "server/service/ldpc_codes.h"
#include "server/service/wire.h"

namespace baseband::server {

// Groups of one request.
inline constexpr int kMaxGroupsPerRequest = 4096;

struct RequestLimits {
  int64_t max_blocks_per_request = 0;
};

// Stateless functions, called from any server thread.
struct RpcPage {
  OperationKind operation;
  int payload_field;
  // Reads the header and checks all of it, and the payload's size; the payload stays where it is.
  // InvalidArgument names the field, its value and its range.
  absl::StatusOr<JobPtr> (*from_proto)(const RequestView& request, const RequestLimits& limits,
                                       LdpcCodes& codes);
  // Takes the job's reply memory with it.
  grpc::ByteBuffer (*to_proto)(Job& job);
};

extern const RpcPage kEncodeRpc;
extern const RpcPage kDecodeRpc;

// Shared by the pages of the operations.
absl::Status CheckRange(absl::string_view field, int64_t value, int64_t low, int64_t high);
// `status` with "groups[index]." before its message.
absl::Status InGroup(int index, const absl::Status& status);
absl::Status CheckNumGroups(int num_groups);
// The blocks of all groups against the limit, the payload against what the groups say.
absl::Status CheckTotals(int64_t blocks, int64_t expected_bytes, const RequestView& request,
                         const RequestLimits& limits);
void SetTiming(const Job& job, v1::Timing* timing);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_RPC_H_
