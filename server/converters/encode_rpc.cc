// Encode between the wire and its job.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/converters/rpc.h"
#include "server/operations/encode.h"

namespace baseband::server {
namespace {

absl::StatusOr<EncodeOutput> OutputFromProto(v1::EncodeOutput output) {
  switch (output) {
    case v1::ENCODE_OUTPUT_UNSPECIFIED:
    case v1::ENCODE_OUTPUT_PARITY:
      return EncodeOutput::kParity;
    case v1::ENCODE_OUTPUT_CODEWORD:
      return EncodeOutput::kCodeword;
    case v1::ENCODE_OUTPUT_FULL_CODEWORD:
      return EncodeOutput::kFullCodeword;
    default:
      return CheckRange("output", output, 0, 3);
  }
}

absl::StatusOr<EncodeGroup> GroupFromProto(const v1::EncodeGroup& message,
                                           const RequestLimits& limits, LdpcCodes& codes) {
  EncodeGroup group;
  BASEBAND_ASSIGN_OR_RETURN(group.code, codes.FromProto(message.code()));
  if (const absl::Status& plan = group.code->encode_plan().status(); !plan.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("code cannot be used for Encode: ", plan.message()));
  }
  BASEBAND_RETURN_IF_ERROR(CheckRange("count", message.count(), 1, limits.max_blocks_per_request));
  BASEBAND_RETURN_IF_ERROR(CheckRange("n_filler", message.n_filler(), 0, group.code->k() - 1));
  BASEBAND_ASSIGN_OR_RETURN(group.output, OutputFromProto(message.output()));
  group.count = message.count();
  group.num_filler = static_cast<int>(message.n_filler());
  return group;
}

absl::StatusOr<JobPtr> FromProto(const RequestView& request, const RequestLimits& limits,
                                 RequestCaches& caches) {
  v1::EncodeRequest message;
  if (!message.ParseFromString(request.header())) {
    return absl::InvalidArgumentError("the request is not a well-formed EncodeRequest");
  }
  BASEBAND_RETURN_IF_ERROR(CheckNumGroups(message.groups_size()));
  std::vector<EncodeGroup> groups;
  int64_t blocks = 0;
  int64_t payload_bytes = 0;
  for (int i = 0; i < message.groups_size(); ++i) {
    absl::StatusOr<EncodeGroup> group = GroupFromProto(message.groups(i), limits, caches.codes);
    if (!group.ok()) {
      return InGroup(i, group.status());
    }
    blocks += group->count;
    payload_bytes += group->count * group->info_bytes();
    groups.push_back(*std::move(group));
  }
  BASEBAND_RETURN_IF_ERROR(CheckTotals("code blocks", blocks, payload_bytes, request, limits));
  return std::make_unique<EncodeJob>(std::move(groups));
}

absl::StatusOr<grpc::ByteBuffer> ToProto(Job& job) {
  v1::EncodeResponse header;
  SetTiming(job.times, header.mutable_timing());
  const BulkField payload = {v1::EncodeResponse::kPayloadFieldNumber, 0, job.reply_bytes};
  return MakeReply(header, {payload}, std::move(job.reply));
}

void CountResults(const Job& job, Metrics& metrics) {
  CountBlocks(Rpc::kEncode, static_cast<const EncodeJob&>(job).groups(), metrics);
}

void Listen(AsyncService& service, const Listening& to) {
  service.RequestEncode(to.context, to.request, to.responder, to.queue, to.queue, to.tag);
}

}  // namespace

const MethodDescriptor kEncodeRpc = {OperationKind::kEncode,
                                     v1::EncodeRequest::kPayloadFieldNumber,
                                     Listen,
                                     FromProto,
                                     ToProto,
                                     CountResults};

}  // namespace baseband::server
