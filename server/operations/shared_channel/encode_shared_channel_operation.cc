#include "server/operations/shared_channel/encode_shared_channel_operation.h"

#include <string>
#include <utility>
#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/ldpc/encode.h"
#include "server/converters/group_conversion.h"
#include "server/jobs/self_test.h"
#include "server/operations/ldpc/ldpc_work.h"
#include "server/operations/shared_channel/encode_shared_channel.h"
#include "server/operations/shared_channel/known_block.h"
#include "server/operations/shared_channel/shared_channel_metrics.h"

namespace baseband::server {
namespace {

constexpr float kDefaultInt16Scale = 8192.0F;

absl::StatusOr<absl::optional<nr::SymbolLayout>> SymbolsFromProto(
    const v1::EncodeSharedChannelGroup& message) {
  nr::SymbolLayout layout;
  switch (message.output()) {
    case v1::SHARED_CHANNEL_OUTPUT_UNSPECIFIED:
    case v1::SHARED_CHANNEL_OUTPUT_BITS:
      if (message.scale() != 0.0F) {
        return absl::InvalidArgumentError(
            absl::StrCat("scale ", message.scale(), " is set: output has bits"));
      }
      return absl::optional<nr::SymbolLayout>();
    case v1::SHARED_CHANNEL_OUTPUT_FLOAT32:
      layout.format = nr::SymbolFormat::kFloat32;
      break;
    case v1::SHARED_CHANNEL_OUTPUT_FLOAT16:
      layout.format = nr::SymbolFormat::kFloat16;
      break;
    case v1::SHARED_CHANNEL_OUTPUT_INT16:
      layout.format = nr::SymbolFormat::kInt16;
      layout.scale = kDefaultInt16Scale;
      break;
    default:
      return CheckRange("output", message.output(), 0, 4);
  }
  if (message.scale() != 0.0F) {
    BASEBAND_RETURN_IF_ERROR(
        CheckReal("scale", message.scale(), nr::kMinSymbolScale, nr::kMaxSymbolScale));
    layout.scale = message.scale();
  }
  return absl::make_optional(layout);
}

// How a request becomes an EncodeSharedChannelJob.
struct EncodeSharedChannelTraits {
  using Message = v1::EncodeSharedChannelRequest;
  using Group = EncodeSharedChannelGroup;
  static constexpr char kName[] = "EncodeSharedChannelRequest";
  static constexpr char kBlocks[] = "code blocks";

  absl::StatusOr<GroupSize> SizeOf(int, const v1::EncodeSharedChannelGroup& message,
                                   const RequestLimits& limits) {
    EncodeSharedChannelGroup group;
    BASEBAND_ASSIGN_OR_RETURN(group.block, Within("block.", BlockFromProto(message.block())));
    BASEBAND_RETURN_IF_ERROR(
        CheckRange("count", message.count(), 1, limits.max_blocks_per_request));
    group.count = message.count();
    of_groups.push_back(group);
    const int64_t num_blocks = group.block.plan.num_blocks;
    return GroupSize{group.count, group.block.payload_bytes(), group.count * num_blocks};
  }

  absl::Status ReadGroup(int index, const v1::EncodeSharedChannelGroup& message) {
    EncodeSharedChannelGroup& group = of_groups[static_cast<size_t>(index)];
    BASEBAND_ASSIGN_OR_RETURN(group.symbols, SymbolsFromProto(message));
    return absl::OkStatus();
  }

  absl::StatusOr<absl::optional<EncodeSharedChannelGroup>> MakeGroup(
      int index, const v1::EncodeSharedChannelGroup&, const ContinueCheck*) {
    EncodeSharedChannelGroup& group = of_groups[static_cast<size_t>(index)];
    const nr::TransportBlockPlan& plan = group.block.plan;
    BASEBAND_ASSIGN_OR_RETURN(group.code, ldpc::NrCode(plan.base_graph, plan.zc, plan.num_rows));
    // Found in 0.2 ms, once for a code.
    BASEBAND_RETURN_IF_ERROR(group.code->encode_plan().status());
    return absl::make_optional(std::move(group));
  }

  JobPtr MakeJob(const Message&, std::vector<EncodeSharedChannelGroup> groups) const {
    return std::make_unique<EncodeSharedChannelJob>(*operation, std::move(groups));
  }

  const Operation* operation;
  std::vector<EncodeSharedChannelGroup> of_groups;  // as far as their sizes go
};

class EncodeSharedChannelOperation final : public Operation {
 public:
  EncodeSharedChannelOperation() : Operation(Describe()) {}

  absl::StatusOr<Conversion> Convert(const Request& request, const RequestLimits& limits) override {
    return GroupConversion<EncodeSharedChannelTraits>::Convert(request, limits, {this, {}});
  }

  absl::StatusOr<Reply> ToReply(Job& job) override {
    return Reply{HeaderOf(job),
                 {{v1::EncodeSharedChannelResponse::kPayloadFieldNumber, 0, job.reply_bytes}},
                 std::move(job.reply)};
  }

  absl::StatusOr<std::vector<Reply>> ToReplies(Job& job) override {
    if (job.requests == 1) return Operation::ToReplies(job);
    return RepliesOf(job, HeaderOf(job), v1::EncodeSharedChannelResponse::kPayloadFieldNumber);
  }

  std::unique_ptr<OperationMetrics> MakeMetrics(prometheus::Registry& registry) const override {
    return std::make_unique<EncodeSharedChannelMetrics>(registry);
  }
  void CountResults(const Job& job, OperationMetrics& metrics) const override {
    auto& counted = static_cast<EncodeSharedChannelMetrics&>(metrics);
    for (const auto& group : static_cast<const EncodeSharedChannelJob&>(job).groups()) {
      counted.CountBlocks(ldpc::Family::kNr, group.count * group.block.plan.num_blocks,
                          group.count * group.block.plan.tb_bits);
      counted.CountTransportBlocks(group.count);
    }
  }

  std::unique_ptr<Batch> MakeBatch(std::vector<JobPtr> jobs) const override {
    return MakeEncodeSharedChannelBatch(std::move(jobs));
  }
  absl::Status PrepareCuda() const override { return PrepareEncodeSharedChannelCuda(); }

  // A transport block of the standard's.
  absl::Status SelfTest(SelfTestBench& bench) const override {
    EncodeSharedChannelGroup group;
    BASEBAND_ASSIGN_OR_RETURN(group.block, KnownBlock::Make());
    const nr::TransportBlockPlan& plan = group.block.plan;
    BASEBAND_ASSIGN_OR_RETURN(group.code, ldpc::NrCode(plan.base_graph, plan.zc, plan.num_rows));
    group.count = 1;
    auto job = std::make_unique<EncodeSharedChannelJob>(
        *this, std::vector<EncodeSharedChannelGroup>{group});
    return bench.ExpectReply(std::move(job), KnownBlock::Payload(), KnownBlock::Coded());
  }

 private:
  static std::string HeaderOf(const Job& job) {
    v1::EncodeSharedChannelResponse header;
    SetTiming(job.times, header.mutable_timing());
    return header.SerializeAsString();
  }

  static Description Describe() {
    Description description;
    description.name = "EncodeSharedChannel";
    description.payload_field = v1::EncodeSharedChannelRequest::kPayloadFieldNumber;
    description.submit_request_field = v1::SubmitRequest::kEncodeSharedChannelFieldNumber;
    description.submit_response_field = v1::SubmitResponse::kEncodeSharedChannelFieldNumber;
    return description;
  }
};

}  // namespace

std::unique_ptr<Operation> MakeEncodeSharedChannelOperation() {
  return std::make_unique<EncodeSharedChannelOperation>();
}

}  // namespace baseband::server
