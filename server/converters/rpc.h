// What one RPC needs beyond the shared transport: how it is listened for, how its request becomes a
// job, how the job becomes its reply, and what is counted of it.
#ifndef BASEBAND_SERVER_CONVERTERS_RPC_H_
#define BASEBAND_SERVER_CONVERTERS_RPC_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "baseband/v1/baseband.pb.h"
#include "server/converters/carrier_models.h"
#include "server/converters/downconvert_setup.h"
#include "server/converters/ldpc_codes.h"
#include "server/grpc/async_service.h"
#include "server/grpc/wire.h"
#include "server/limits/slow_path_executor.h"
#include "server/metrics/metrics.h"
#include "server/operations/job.h"

namespace baseband::server {

// Groups of one request.
inline constexpr int kMaxGroupsPerRequest = 4096;

struct RequestLimits {
  int64_t max_blocks_per_request = 0;
  ContinueCheck may_continue;
  absl::Duration max_search = absl::InfiniteDuration();  // by the estimate of its cost
};

// What requests name and is costly to make, kept from call to call.
struct RequestCaches {
  LdpcCodes codes;
  CarrierModels models;
  DownconvertFilters filters;
};

// Where gRPC puts the next call of an RPC, and the tag it then hands back.
struct Listening {
  grpc::ServerContext* context = nullptr;
  grpc::ByteBuffer* request = nullptr;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>* responder = nullptr;
  grpc::ServerCompletionQueue* queue = nullptr;
  void* tag = nullptr;
};

// Stateless functions, called from any server thread.
struct MethodDescriptor {
  OperationKind operation;
  int payload_field;
  void (*listen)(AsyncService& service, const Listening& listening);
  // Reads the header and checks all of it, and the payload's size; the payload stays where it is.
  // InvalidArgument names the field, its value and its range. Aborted: it takes a step for which
  // `limits` has no may_continue; to be called again where there is one.
  absl::StatusOr<JobPtr> (*from_proto)(const RequestView& request, const RequestLimits& limits,
                                       RequestCaches& caches);
  // Takes the job's reply memory with it. InvalidArgument if the work has shown that the payload is
  // none.
  absl::StatusOr<grpc::ByteBuffer> (*to_proto)(Job& job);
  void (*count_results)(const Job& job, Metrics& metrics);
};

extern const MethodDescriptor kEncodeRpc;
extern const MethodDescriptor kDecodeRpc;
extern const MethodDescriptor kRecoverCarrierRpc;
extern const MethodDescriptor kDownconvertRpc;
// Those of the unary operations; Minimize is a SearchCall.
absl::Span<const MethodDescriptor* const> AllMethods();

// Shared by the pages of the operations.
absl::Status CheckRange(absl::string_view field, int64_t value, int64_t low, int64_t high);
// `value` in (0, high], or 0 for `fallback`. NaN is in no range.
absl::StatusOr<double> PositiveOr(absl::string_view field, double value, double high,
                                  double fallback);
// `status` with "groups[index]." before its message.
absl::Status InGroup(int index, const absl::Status& status);
absl::Status CheckNumGroups(int num_groups);
// The blocks of all groups against the limit, the payload against what the groups say.
absl::Status CheckTotals(absl::string_view blocks_name, int64_t blocks, int64_t expected_bytes,
                         const RequestView& request, const RequestLimits& limits);
void SetTiming(const JobTimes& times, v1::Timing* timing);
// Blocks and information bits by the family of their code. `Group` has code, count, info_bits().
CodeFamily ToCodeFamily(ldpc::Family family);
template <typename Group>
void CountBlocks(Rpc rpc, absl::Span<const Group> groups, Metrics& metrics) {
  for (const Group& group : groups) {
    metrics.CountBlocks(rpc, ToCodeFamily(group.code->family()), group.count,
                        group.count * group.info_bits());
  }
}

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONVERTERS_RPC_H_
