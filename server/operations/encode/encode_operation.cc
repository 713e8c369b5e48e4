#include "server/operations/encode/encode_operation.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/converters/group_conversion.h"
#include "server/jobs/self_test.h"
#include "server/operations/encode/encode.h"
#include "server/operations/ldpc/known_codeword.h"
#include "server/operations/ldpc/ldpc_metrics.h"
#include "server/operations/ldpc/ldpc_work.h"

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

// How a request becomes an EncodeJob.
struct EncodeTraits {
  using Message = v1::EncodeRequest;
  using Group = EncodeGroup;
  static constexpr char kName[] = "EncodeRequest";
  static constexpr char kBlocks[] = "code blocks";

  absl::StatusOr<GroupSize> SizeOf(int, const v1::EncodeGroup& message,
                                   const RequestLimits& limits) {
    EncodeGroup group;
    BASEBAND_ASSIGN_OR_RETURN(group.code, codes->FromProto(message.code()));
    BASEBAND_RETURN_IF_ERROR(
        CheckRange("count", message.count(), 1, limits.max_blocks_per_request));
    BASEBAND_RETURN_IF_ERROR(CheckRange("n_filler", message.n_filler(), 0, group.code->k() - 1));
    group.count = message.count();
    group.num_filler = static_cast<int>(message.n_filler());
    of_groups.push_back(group);
    return GroupSize{group.count, group.info_bytes()};
  }

  absl::Status ReadGroup(int index, const v1::EncodeGroup& message) {
    EncodeGroup& group = of_groups[static_cast<size_t>(index)];
    BASEBAND_ASSIGN_OR_RETURN(group.output, OutputFromProto(message.output()));
    return absl::OkStatus();
  }

  absl::StatusOr<absl::optional<EncodeGroup>> MakeGroup(int index, const v1::EncodeGroup& message,
                                                        const ContinueCheck* may_continue) {
    EncodeGroup& group = of_groups[static_cast<size_t>(index)];
    if (!group.code->has_encode_plan()) {
      // A standard's code is made to be encoded, and its plan is found in 0.2 ms.
      if (message.code().has_custom() && may_continue == nullptr) {
        return absl::optional<EncodeGroup>();
      }
      BASEBAND_RETURN_IF_ERROR(codes->FindEncodePlan(
          message.code(), *group.code, may_continue == nullptr ? ContinueCheck() : *may_continue));
    }
    if (const absl::Status& plan = group.code->encode_plan().status(); !plan.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("code cannot be used for Encode: ", plan.message()));
    }
    return absl::make_optional(std::move(group));
  }

  JobPtr MakeJob(const Message&, std::vector<EncodeGroup> groups) const {
    return std::make_unique<EncodeJob>(*operation, std::move(groups));
  }

  const Operation* operation;
  LdpcCodes* codes;
  std::vector<EncodeGroup> of_groups;  // as far as their sizes go
};

class EncodeOperation final : public Operation {
 public:
  explicit EncodeOperation(std::shared_ptr<LdpcCodes> codes)
      : Operation(Describe()), codes_(std::move(codes)) {}

  absl::StatusOr<Conversion> Convert(const Request& request, const RequestLimits& limits) override {
    return GroupConversion<EncodeTraits>::Convert(request, limits, {this, codes_.get(), {}});
  }

  absl::StatusOr<Reply> ToReply(Job& job) override {
    return Reply{HeaderOf(job),
                 {{v1::EncodeResponse::kPayloadFieldNumber, 0, job.reply_bytes}},
                 std::move(job.reply)};
  }

  absl::StatusOr<std::vector<Reply>> ToReplies(Job& job) override {
    if (job.requests == 1) return Operation::ToReplies(job);
    return RepliesOf(job, HeaderOf(job), v1::EncodeResponse::kPayloadFieldNumber);
  }

  std::unique_ptr<OperationMetrics> MakeMetrics(prometheus::Registry& registry) const override {
    return std::make_unique<LdpcMetrics>(name(), registry);
  }
  void CountResults(const Job& job, OperationMetrics& metrics) const override {
    for (const EncodeGroup& group : static_cast<const EncodeJob&>(job).groups()) {
      static_cast<LdpcMetrics&>(metrics).CountBlocks(group.code->family(), group.count,
                                                     group.count * group.info_bits());
    }
  }

  std::unique_ptr<Batch> MakeBatch(std::vector<JobPtr> jobs) const override {
    return MakeEncodeBatch(std::move(jobs));
  }
  absl::Status PrepareCuda() const override { return PrepareEncodeCuda(); }

  // A code word of the standard's.
  absl::Status SelfTest(SelfTestBench& bench) const override {
    BASEBAND_ASSIGN_OR_RETURN(const KnownCodeword known, KnownCodeword::Make());
    EncodeGroup group;
    group.code = known.code;
    group.count = KnownCodeword::kCount;
    group.output = EncodeOutput::kFullCodeword;
    auto job = std::make_unique<EncodeJob>(*this, std::vector<EncodeGroup>{group});
    return bench.ExpectReply(std::move(job), known.Info(), known.Codeword());
  }

 private:
  static std::string HeaderOf(const Job& job) {
    v1::EncodeResponse header;
    SetTiming(job.times, header.mutable_timing());
    return header.SerializeAsString();
  }

  static Description Describe() {
    Description description;
    description.name = "Encode";
    description.payload_field = v1::EncodeRequest::kPayloadFieldNumber;
    description.submit_request_field = v1::SubmitRequest::kEncodeFieldNumber;
    description.submit_response_field = v1::SubmitResponse::kEncodeFieldNumber;
    return description;
  }

  const std::shared_ptr<LdpcCodes> codes_;
};

}  // namespace

std::unique_ptr<Operation> MakeEncodeOperation(std::shared_ptr<LdpcCodes> codes) {
  return std::make_unique<EncodeOperation>(std::move(codes));
}

}  // namespace baseband::server
