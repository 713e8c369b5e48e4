// Decode between the wire and its job.
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/converters/rpc.h"
#include "server/operations/decode.h"

namespace baseband::server {
namespace {

constexpr int kDefaultIterations = 10;
// Below it natural LLRs, and sums of them, leave what float32 can add up.
constexpr double kMinLlrScale = 0.001;
constexpr double kDefaultLlrScale = 4.0;

absl::StatusOr<ldpc::Algorithm> AlgorithmFromProto(v1::DecodeAlgorithm algorithm) {
  switch (algorithm) {
    case v1::DECODE_ALGORITHM_UNSPECIFIED:
    case v1::DECODE_ALGORITHM_NORMALIZED_MIN_SUM:
      return ldpc::Algorithm::kNormalizedMinSum;
    case v1::DECODE_ALGORITHM_SUM_PRODUCT:
      return ldpc::Algorithm::kSumProduct;
    case v1::DECODE_ALGORITHM_BIT_FLIPPING:
      return ldpc::Algorithm::kBitFlipping;
    default:
      return CheckRange("algorithm", algorithm, 0, 3);
  }
}

absl::StatusOr<ldpc::Schedule> ScheduleFromProto(v1::DecodeSchedule schedule) {
  switch (schedule) {
    case v1::DECODE_SCHEDULE_UNSPECIFIED:
    case v1::DECODE_SCHEDULE_LAYERED:
      return ldpc::Schedule::kLayered;
    case v1::DECODE_SCHEDULE_FLOODING:
      return ldpc::Schedule::kFlooding;
    default:
      return CheckRange("schedule", schedule, 0, 2);
  }
}

absl::StatusOr<ldpc::DecodeParameters> ParametersFromProto(const v1::DecodeGroup& message) {
  ldpc::DecodeParameters parameters;
  BASEBAND_ASSIGN_OR_RETURN(parameters.algorithm, AlgorithmFromProto(message.algorithm()));
  BASEBAND_ASSIGN_OR_RETURN(parameters.schedule, ScheduleFromProto(message.schedule()));
  BASEBAND_RETURN_IF_ERROR(
      CheckRange("max_iterations", message.max_iterations(), 0, ldpc::kMaxIterations));
  parameters.max_iterations = message.max_iterations() != 0
                                  ? static_cast<int>(message.max_iterations())
                                  : kDefaultIterations;
  parameters.early_termination = !message.fixed_iterations();
  BASEBAND_ASSIGN_OR_RETURN(const double scale_factor,
                            PositiveOr("scale_factor", message.scale_factor(), 1.0, 0.0));
  BASEBAND_ASSIGN_OR_RETURN(const double llr_scale, PositiveOr("llr_scale", message.llr_scale(),
                                                               ldpc::kLlrMax, kDefaultLlrScale));
  if (llr_scale < kMinLlrScale) {
    return absl::InvalidArgumentError(absl::StrCat("llr_scale ", llr_scale, " is not in [",
                                                   kMinLlrScale, ", ", ldpc::kLlrMax, "]"));
  }
  parameters.scale_factor = static_cast<float>(scale_factor);
  parameters.llr_scale = static_cast<float>(llr_scale);
  return parameters;
}

absl::StatusOr<DecodeGroup> GroupFromProto(const v1::DecodeGroup& message,
                                           const RequestLimits& limits, LdpcCodes& codes) {
  DecodeGroup group;
  BASEBAND_ASSIGN_OR_RETURN(group.code, codes.FromProto(message.code(), message.llr_count()));
  BASEBAND_ASSIGN_OR_RETURN(group.parameters, ParametersFromProto(message));
  BASEBAND_RETURN_IF_ERROR(CheckRange("count", message.count(), 1, limits.max_blocks_per_request));
  BASEBAND_RETURN_IF_ERROR(CheckRange("n_filler", message.n_filler(), 0, group.code->k() - 1));
  BASEBAND_RETURN_IF_ERROR(CheckRange("llr_count", message.llr_count(), 0, group.code->num_sent()));
  group.count = message.count();
  group.num_filler = static_cast<int>(message.n_filler());
  group.llr_count =
      message.llr_count() != 0 ? static_cast<int>(message.llr_count()) : group.code->num_sent();
  group.soft_output = message.soft_output();
  return group;
}

absl::StatusOr<JobPtr> FromProto(const RequestView& request, const RequestLimits& limits,
                                 RequestCaches& caches) {
  v1::DecodeRequest message;
  if (!message.ParseFromString(request.header())) {
    return absl::InvalidArgumentError("the request is not a well-formed DecodeRequest");
  }
  BASEBAND_RETURN_IF_ERROR(CheckNumGroups(message.groups_size()));
  std::vector<DecodeGroup> groups;
  int64_t blocks = 0;
  int64_t payload_bytes = 0;
  for (int i = 0; i < message.groups_size(); ++i) {
    absl::StatusOr<DecodeGroup> group = GroupFromProto(message.groups(i), limits, caches.codes);
    if (!group.ok()) {
      return InGroup(i, group.status());
    }
    blocks += group->count;
    payload_bytes += group->count * group->llr_count;
    groups.push_back(*std::move(group));
  }
  BASEBAND_RETURN_IF_ERROR(CheckTotals("code blocks", blocks, payload_bytes, request, limits));
  return std::make_unique<DecodeJob>(std::move(groups));
}

absl::StatusOr<grpc::ByteBuffer> ToProto(Job& base) {
  auto& job = static_cast<DecodeJob&>(base);
  v1::DecodeResponse header;
  SetTiming(job.times, header.mutable_timing());
  header.mutable_iterations()->Reserve(static_cast<int>(job.results.size()));
  header.mutable_parity_ok()->Reserve(static_cast<int>(job.results.size()));
  for (const ldpc::DecodeResult& result : job.results) {
    header.add_iterations(result.iterations);
    header.add_parity_ok(result.parity_ok != 0);
  }
  const BulkField soft = {v1::DecodeResponse::kSoftFieldNumber, job.soft_offset(),
                          job.soft_bytes()};
  const BulkField payload = {v1::DecodeResponse::kPayloadFieldNumber, 0, job.bits_bytes()};
  return MakeReply(header, {soft, payload}, std::move(job.reply));
}

void CountResults(const Job& base, Metrics& metrics) {
  const auto& job = static_cast<const DecodeJob&>(base);
  CountBlocks(Rpc::kDecode, job.groups(), metrics);
  DecodeTally tally;
  for (const ldpc::DecodeResult& result : job.results) {
    tally.Add(result.iterations, result.parity_ok != 0);
  }
  metrics.ObserveDecode(tally);
}

void Listen(AsyncService& service, const Listening& to) {
  service.RequestDecode(to.context, to.request, to.responder, to.queue, to.queue, to.tag);
}

}  // namespace

const MethodDescriptor kDecodeRpc = {OperationKind::kDecode,
                                     v1::DecodeRequest::kPayloadFieldNumber,
                                     Listen,
                                     FromProto,
                                     ToProto,
                                     CountResults};

}  // namespace baseband::server
