#include "server/operations/shared_channel/decode_shared_channel_operation.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/converters/group_conversion.h"
#include "server/jobs/fingerprint.h"
#include "server/jobs/self_test.h"
#include "server/operations/ldpc/ldpc_work.h"
#include "server/operations/shared_channel/decode_shared_channel.h"
#include "server/operations/shared_channel/decode_shared_channel_options.h"
#include "server/operations/shared_channel/known_block.h"
#include "server/operations/shared_channel/shared_channel_metrics.h"

namespace baseband::server {
namespace {

// The rows that soft bits may need: those of this transmission, or with earlier ones all that the
// buffer has.
absl::StatusOr<ldpc::CodePtr> CodeOf(const DecodeSharedChannelGroup& group) {
  const nr::TransportBlockPlan& plan = group.block.plan;
  const int rows = group.may_combine()
                       ? nr::RowsForBits(plan.base_graph, plan.zc, group.block.n_cb())
                       : plan.num_rows;
  return ldpc::NrCode(plan.base_graph, plan.zc, rows);
}

// What it asks for, by whatever name soft bits are held: its like has others.
v1::DecodeSharedChannelRequest Nameless(v1::DecodeSharedChannelRequest message) {
  message.clear_free_keys();
  for (v1::DecodeSharedChannelGroup& group : *message.mutable_groups()) {
    if (!group.has_harq()) continue;
    group.mutable_harq()->clear_key();
    group.mutable_harq()->clear_transmission();
    group.mutable_harq()->clear_block();
  }
  return message;
}

// How a request becomes a DecodeSharedChannelJob.
struct DecodeSharedChannelTraits {
  using Message = v1::DecodeSharedChannelRequest;
  using Group = DecodeSharedChannelGroup;
  static constexpr char kName[] = "DecodeSharedChannelRequest";
  static constexpr char kBlocks[] = "code blocks";

  absl::StatusOr<GroupSize> SizeOf(int, const v1::DecodeSharedChannelGroup& message,
                                   const RequestLimits& limits) {
    DecodeSharedChannelGroup group;
    BASEBAND_ASSIGN_OR_RETURN(group.block, Within("block.", BlockFromProto(message.block())));
    BASEBAND_RETURN_IF_ERROR(
        CheckRange("count", message.count(), 1, limits.max_blocks_per_request));
    group.count = message.count();
    BASEBAND_RETURN_IF_ERROR(ReceivedFromProto(message, &group));
    if (!group.harq_key.empty() && !keys.insert(group.harq_key).second) {
      return absl::InvalidArgumentError("harq.key is that of a block before it");
    }
    of_groups.push_back(group);
    const int64_t num_blocks = group.block.plan.num_blocks;
    return GroupSize{group.count, AlignUp(group.payload_bytes(), sizeof(uint32_t)),
                     group.count * num_blocks};
  }

  absl::Status ReadGroup(int index, const v1::DecodeSharedChannelGroup& message) {
    return ParametersFromProto(message, &of_groups[static_cast<size_t>(index)]);
  }

  absl::StatusOr<absl::optional<DecodeSharedChannelGroup>> MakeGroup(
      int index, const v1::DecodeSharedChannelGroup&, const ContinueCheck*) {
    DecodeSharedChannelGroup& group = of_groups[static_cast<size_t>(index)];
    BASEBAND_ASSIGN_OR_RETURN(group.code, CodeOf(group));
    return absl::make_optional(std::move(group));
  }

  absl::StatusOr<JobPtr> MakeJob(const Message& message,
                                 std::vector<DecodeSharedChannelGroup> groups) const {
    std::vector<std::string> free_keys(message.free_keys().begin(), message.free_keys().end());
    if (free_keys.size() > kMaxFreeKeys) {
      return absl::InvalidArgumentError(absl::StrCat(
          "free_keys has ", free_keys.size(), " keys: at most ", kMaxFreeKeys, " go at once"));
    }
    for (size_t i = 0; i < free_keys.size(); ++i) {
      BASEBAND_RETURN_IF_ERROR(CheckHarqKey(absl::StrCat("free_keys[", i, "]"), free_keys[i]));
    }
    auto job = std::make_unique<DecodeSharedChannelJob>(*operation, std::move(groups),
                                                        std::move(free_keys));
    if (!keys.empty() || message.free_keys_size() > 0) {
      job->fingerprint = FingerprintOf(*operation, Nameless(message).SerializeAsString());
    }
    return job;
  }

  const Operation* operation;
  std::vector<DecodeSharedChannelGroup> of_groups;  // as far as their sizes go
  std::set<std::string> keys;
};

class DecodeSharedChannelOperation final : public Operation {
 public:
  DecodeSharedChannelOperation() : Operation(Describe()) {}

  absl::StatusOr<Conversion> Convert(const Request& request, const RequestLimits& limits) override {
    return GroupConversion<DecodeSharedChannelTraits>::Convert(request, limits, {this, {}, {}});
  }

  absl::StatusOr<Reply> ToReply(Job& base) override {
    auto& job = static_cast<DecodeSharedChannelJob&>(base);
    Reply reply = ReplyOf(job, 0);
    reply.memory = std::move(job.reply);
    job.LetGo();  // the next transmission may use them, as soon as this one is answered
    return reply;
  }

  absl::StatusOr<std::vector<Reply>> ToReplies(Job& base) override {
    if (base.requests == 1) return Operation::ToReplies(base);
    const auto& job = static_cast<const DecodeSharedChannelJob&>(base);
    return RepliesOf(job, [&job](int64_t i) { return ReplyOf(job, i); });
  }

  std::unique_ptr<OperationMetrics> MakeMetrics(prometheus::Registry& registry) const override {
    return std::make_unique<DecodeSharedChannelMetrics>(registry);
  }
  void CountResults(const Job& base, OperationMetrics& metrics) const override {
    const auto& job = static_cast<const DecodeSharedChannelJob&>(base);
    auto& counted = static_cast<DecodeSharedChannelMetrics&>(metrics);
    std::vector<ldpc::DecodeResult> decoded;
    decoded.reserve(job.code_blocks.size());
    for (const DecodeSharedChannelGroup& group : job.groups()) {
      const bool by_crc = group.parameters.stop_crc.has_value();
      for (int64_t i = group.count * group.block.plan.num_blocks; i > 0; --i) {
        const CodeBlockResult& result = job.code_blocks[decoded.size()];
        decoded.push_back(result.decode);
        // What stopped by its CRC did not fail, whatever its parity checks say.
        if (by_crc && result.crc_ok) decoded.back().parity_ok = 1;
      }
    }
    counted.Observe(decoded);
    auto block = job.crc_ok.begin();
    for (size_t i = 0; i < job.groups().size(); ++i) {
      const DecodeSharedChannelGroup& group = job.groups()[i];
      counted.CountHarq(job.held(i).outcome);
      const auto end = block + group.count;
      const auto right = std::count(block, end, uint8_t{1});
      counted.CountBlocks(ldpc::Family::kNr, group.count * group.block.plan.num_blocks,
                          right * group.block.plan.tb_bits);
      counted.CountTransportBlocks(group.count, group.count - right);
      block = end;
    }
  }

  std::unique_ptr<Batch> MakeBatch(std::vector<JobPtr> jobs) const override {
    return MakeDecodeSharedChannelBatch(std::move(jobs));
  }
  absl::Status PrepareCuda() const override { return PrepareDecodeSharedChannelCuda(); }

  // A transport block of the standard's, received with noise.
  absl::Status SelfTest(SelfTestBench& bench) const override {
    DecodeSharedChannelGroup group;
    BASEBAND_ASSIGN_OR_RETURN(group.block, KnownBlock::Make());
    BASEBAND_ASSIGN_OR_RETURN(group.code, CodeOf(group));
    group.count = 1;
    auto job = std::make_unique<DecodeSharedChannelJob>(
        *this, std::vector<DecodeSharedChannelGroup>{group});
    BASEBAND_ASSIGN_OR_RETURN(JobPtr done, bench.Run(std::move(job), KnownBlock::NoisyLlr()));
    const auto& decoded = static_cast<const DecodeSharedChannelJob&>(*done);
    const std::string payload(reinterpret_cast<const char*>(done->reply.data()),
                              static_cast<size_t>(decoded.bits_bytes()));
    if (payload != KnownBlock::Payload() || decoded.crc_ok[0] == 0) {
      return absl::InternalError("a known transport block was not decoded");
    }
    return absl::OkStatus();
  }

 private:
  // Of the `i`-th of its requests, without the memory. They are repetitions: of all groups, or of
  // the only one's count.
  static Reply ReplyOf(const DecodeSharedChannelJob& job, int64_t i) {
    v1::DecodeSharedChannelResponse header;
    SetTiming(job.times, header.mutable_timing());
    const auto requests = static_cast<size_t>(job.requests);
    const size_t code_blocks = job.code_blocks.size() / requests;
    header.mutable_crc_ok()->Reserve(static_cast<int>(code_blocks));
    header.mutable_parity_ok()->Reserve(static_cast<int>(code_blocks));
    header.mutable_iterations()->Reserve(static_cast<int>(code_blocks));
    for (const CodeBlockResult& result :
         absl::MakeSpan(job.code_blocks)
             .subspan(static_cast<size_t>(i) * code_blocks, code_blocks)) {
      header.add_crc_ok(result.crc_ok);
      header.add_parity_ok(result.decode.parity_ok != 0);
      header.add_iterations(result.decode.iterations);
    }
    const bool is_counted = job.groups().size() == 1;
    const size_t groups = is_counted ? 1 : job.groups().size() / requests;
    size_t block = job.crc_ok.size() / requests * static_cast<size_t>(i);
    for (size_t g = 0; g < groups; ++g) {
      const DecodeSharedChannelGroup& group = job.groups()[g];
      for (int64_t left = is_counted ? group.count / job.requests : group.count; left > 0; --left) {
        v1::SharedChannelResult& result = *header.add_blocks();
        result.set_crc_ok(job.crc_ok[block] != 0);
        result.set_unusable(job.unusable[block++]);
        result.set_harq(job.held(g).outcome);
        result.set_harq_message(job.held(g).why);
        result.set_code_blocks(static_cast<uint32_t>(group.block.plan.num_blocks));
      }
    }
    const int64_t bits = job.bits_bytes() / job.requests;
    const int64_t soft = job.soft_bytes() / job.requests;
    return {
        header.SerializeAsString(),
        {{v1::DecodeSharedChannelResponse::kSoftFieldNumber, job.soft_offset() + i * soft, soft},
         {v1::DecodeSharedChannelResponse::kPayloadFieldNumber, i * bits, bits}},
        {}};
  }

  static Description Describe() {
    Description description;
    description.name = "DecodeSharedChannel";
    description.payload_field = v1::DecodeSharedChannelRequest::kPayloadFieldNumber;
    description.submit_request_field = v1::SubmitRequest::kDecodeSharedChannelFieldNumber;
    description.submit_response_field = v1::SubmitResponse::kDecodeSharedChannelFieldNumber;
    return description;
  }
};

}  // namespace

std::unique_ptr<Operation> MakeDecodeSharedChannelOperation() {
  return std::make_unique<DecodeSharedChannelOperation>();
}

}  // namespace baseband::server
