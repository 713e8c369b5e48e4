#include "server/operations/decode/decode_operation.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/converters/group_conversion.h"
#include "server/jobs/self_test.h"
#include "server/operations/decode/decode.h"
#include "server/operations/decode/decode_metrics.h"
#include "server/operations/ldpc/known_codeword.h"
#include "server/operations/ldpc/ldpc_work.h"

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

absl::StatusOr<ldpc::DecodeParameters> DecodeParametersFromProto(const v1::DecodeGroup& message) {
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
  const double llr_scale = message.llr_scale() != 0.0F ? message.llr_scale() : kDefaultLlrScale;
  BASEBAND_RETURN_IF_ERROR(CheckReal("llr_scale", llr_scale, kMinLlrScale, ldpc::kLlrMax));
  parameters.scaling.factor = static_cast<float>(scale_factor);
  parameters.llr_scale = static_cast<float>(llr_scale);
  return parameters;
}

// How a request becomes a DecodeJob.
struct DecodeTraits {
  using Message = v1::DecodeRequest;
  using Group = DecodeGroup;
  static constexpr char kName[] = "DecodeRequest";
  static constexpr char kBlocks[] = "code blocks";

  absl::StatusOr<GroupSize> SizeOf(int, const v1::DecodeGroup& message,
                                   const RequestLimits& limits) {
    DecodeGroup group;
    BASEBAND_ASSIGN_OR_RETURN(group.code, codes->FromProto(message.code(), message.llr_count()));
    BASEBAND_RETURN_IF_ERROR(
        CheckRange("count", message.count(), 1, limits.max_blocks_per_request));
    BASEBAND_RETURN_IF_ERROR(
        CheckRange("llr_count", message.llr_count(), 0, group.code->num_sent()));
    group.count = message.count();
    group.llr_count =
        message.llr_count() != 0 ? static_cast<int>(message.llr_count()) : group.code->num_sent();
    of_groups.push_back(group);
    return GroupSize{group.count, group.llr_count};
  }

  absl::Status ReadGroup(int index, const v1::DecodeGroup& message) {
    DecodeGroup& group = of_groups[static_cast<size_t>(index)];
    BASEBAND_ASSIGN_OR_RETURN(group.parameters, DecodeParametersFromProto(message));
    BASEBAND_RETURN_IF_ERROR(CheckRange("n_filler", message.n_filler(), 0, group.code->k() - 1));
    group.num_filler = static_cast<int>(message.n_filler());
    group.soft_output = message.soft_output();
    return absl::OkStatus();
  }

  absl::StatusOr<absl::optional<DecodeGroup>> MakeGroup(int index, const v1::DecodeGroup&,
                                                        const ContinueCheck*) {
    return absl::make_optional(std::move(of_groups[static_cast<size_t>(index)]));
  }

  JobPtr MakeJob(const Message&, std::vector<DecodeGroup> groups) const {
    return std::make_unique<DecodeJob>(*operation, std::move(groups));
  }

  const Operation* operation;
  LdpcCodes* codes;
  std::vector<DecodeGroup> of_groups;  // as far as their sizes go
};

class DecodeOperation final : public Operation {
 public:
  explicit DecodeOperation(std::shared_ptr<LdpcCodes> codes)
      : Operation(Describe()), codes_(std::move(codes)) {}

  absl::StatusOr<Conversion> Convert(const Request& request, const RequestLimits& limits) override {
    return GroupConversion<DecodeTraits>::Convert(request, limits, {this, codes_.get(), {}});
  }

  absl::StatusOr<Reply> ToReply(Job& base) override {
    Reply reply = ReplyOf(static_cast<const DecodeJob&>(base), 0);
    reply.memory = std::move(base.reply);
    return reply;
  }

  absl::StatusOr<std::vector<Reply>> ToReplies(Job& base) override {
    if (base.requests == 1) return Operation::ToReplies(base);
    const auto& job = static_cast<const DecodeJob&>(base);
    return RepliesOf(job, [&job](int64_t i) { return ReplyOf(job, i); });
  }

  std::unique_ptr<OperationMetrics> MakeMetrics(prometheus::Registry& registry) const override {
    return std::make_unique<DecodeMetrics>(name(), registry);
  }
  void CountResults(const Job& base, OperationMetrics& metrics) const override {
    const auto& job = static_cast<const DecodeJob&>(base);
    auto& decode_metrics = static_cast<DecodeMetrics&>(metrics);
    decode_metrics.Observe(job.results);
    auto block = job.results.begin();
    for (const DecodeGroup& group : job.groups()) {
      const auto end = block + group.count;
      const auto decoded = std::count_if(
          block, end, [](const ldpc::DecodeResult& result) { return result.parity_ok != 0; });
      decode_metrics.CountBlocks(group.code->family(), group.count, decoded * group.info_bits());
      block = end;
    }
  }

  std::unique_ptr<Batch> MakeBatch(std::vector<JobPtr> jobs) const override {
    return MakeDecodeBatch(std::move(jobs));
  }
  absl::Status PrepareCuda() const override { return PrepareDecodeCuda(); }

  // A noisy code word of the standard's.
  absl::Status SelfTest(SelfTestBench& bench) const override {
    BASEBAND_ASSIGN_OR_RETURN(const KnownCodeword known, KnownCodeword::Make());
    DecodeGroup group;
    group.code = known.code;
    group.count = KnownCodeword::kCount;
    group.llr_count = known.code->num_sent();
    auto job = std::make_unique<DecodeJob>(*this, std::vector<DecodeGroup>{group});
    return bench.ExpectReply(std::move(job), known.NoisyLlr(), known.Info());
  }

 private:
  // Of the `i`-th of its requests, without the memory.
  static Reply ReplyOf(const DecodeJob& job, int64_t i) {
    v1::DecodeResponse header;
    SetTiming(job.times, header.mutable_timing());
    const size_t blocks = job.results.size() / static_cast<size_t>(job.requests);
    header.mutable_iterations()->Reserve(static_cast<int>(blocks));
    header.mutable_parity_ok()->Reserve(static_cast<int>(blocks));
    for (const ldpc::DecodeResult& result :
         absl::MakeSpan(job.results).subspan(static_cast<size_t>(i) * blocks, blocks)) {
      header.add_iterations(result.iterations);
      header.add_parity_ok(result.parity_ok != 0);
    }
    const int64_t bits = job.bits_bytes() / job.requests;
    const int64_t soft = job.soft_bytes() / job.requests;
    return {header.SerializeAsString(),
            {{v1::DecodeResponse::kSoftFieldNumber, job.soft_offset() + i * soft, soft},
             {v1::DecodeResponse::kPayloadFieldNumber, i * bits, bits}},
            {}};
  }

  static Description Describe() {
    Description description;
    description.name = "Decode";
    description.payload_field = v1::DecodeRequest::kPayloadFieldNumber;
    description.submit_request_field = v1::SubmitRequest::kDecodeFieldNumber;
    description.submit_response_field = v1::SubmitResponse::kDecodeFieldNumber;
    description.cuda_workspace_bytes = DecodeCudaWorkspaceBytes();
    return description;
  }

  const std::shared_ptr<LdpcCodes> codes_;
};

}  // namespace

std::unique_ptr<Operation> MakeDecodeOperation(std::shared_ptr<LdpcCodes> codes) {
  return std::make_unique<DecodeOperation>(std::move(codes));
}

}  // namespace baseband::server
