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
#include "server/operations/shared_channel/decode_shared_channel.h"
#include "server/operations/shared_channel/known_block.h"
#include "server/operations/shared_channel/shared_channel_metrics.h"

namespace baseband::server {
namespace {

constexpr int kDefaultIterations = 10;
// Of natural LLRs. 4 loses up to 0.08 dB at low code rates; from 8 on LLRs that are 127 hold up
// parity checks on good channels, and blocks that are right take all iterations.
constexpr float kDefaultLlrScale = 6.0F;
constexpr double kMinNoiseVariance = 1e-9F;  // as the field has it
constexpr double kMaxNoiseVariance = 1e9F;

// Fills in what is received, in what format.
absl::Status InputFromProto(v1::SharedChannelInput input, DecodeSharedChannelGroup* group) {
  switch (input) {
    case v1::SHARED_CHANNEL_INPUT_UNSPECIFIED:
    case v1::SHARED_CHANNEL_INPUT_LLR_INT8:
      group->llr_format = nr::LlrFormat::kInt8;
      return absl::OkStatus();
    case v1::SHARED_CHANNEL_INPUT_LLR_INT16:
      group->llr_format = nr::LlrFormat::kInt16;
      return absl::OkStatus();
    case v1::SHARED_CHANNEL_INPUT_LLR_FLOAT16:
      group->llr_format = nr::LlrFormat::kFloat16;
      return absl::OkStatus();
    case v1::SHARED_CHANNEL_INPUT_LLR_INT6:
      group->llr_format = nr::LlrFormat::kPacked6;
      return absl::OkStatus();
    case v1::SHARED_CHANNEL_INPUT_LLR_INT4:
      group->llr_format = nr::LlrFormat::kPacked4;
      return absl::OkStatus();
    case v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT8:
      group->demap.layout = {nr::SymbolFormat::kInt8, 64.0F};
      break;
    case v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT16:
      group->demap.layout = {nr::SymbolFormat::kInt16, 8192.0F};
      break;
    case v1::SHARED_CHANNEL_INPUT_SYMBOLS_FLOAT16:
      group->demap.layout = {nr::SymbolFormat::kFloat16, 1.0F};
      break;
    case v1::SHARED_CHANNEL_INPUT_SYMBOLS_FLOAT32:
      group->demap.layout = {nr::SymbolFormat::kFloat32, 1.0F};
      break;
    default:
      return CheckRange("input", input, 0, 9);
  }
  group->is_symbols = true;
  return absl::OkStatus();
}

// How LLRs are made of it.
absl::Status ScalesFromProto(const v1::DecodeSharedChannelGroup& message,
                             DecodeSharedChannelGroup* group) {
  const double lowest = group->is_symbols ? nr::kMinLlrScale : nr::kMinLlrFormatScale;
  const double highest = group->is_symbols ? nr::kMaxLlrScale : nr::kMaxLlrFormatScale;
  group->llr_scale = group->demap.llr_scale = kDefaultLlrScale;
  if (message.llr_scale() != 0.0F) {
    if (!group->is_symbols && group->llr_format == nr::LlrFormat::kInt8) {
      return absl::InvalidArgumentError("llr_scale is set: LLR_INT8 are the decoder's own");
    }
    BASEBAND_RETURN_IF_ERROR(CheckReal("llr_scale", message.llr_scale(), lowest, highest));
    group->llr_scale = group->demap.llr_scale = message.llr_scale();
  } else if (group->llr_format == nr::LlrFormat::kInt16) {
    group->llr_scale = 0.0F;
  }
  group->demap.qm = group->block.qm();
  const nr::TransportBlockPlan& plan = group->block.plan;
  group->mean_llr = nr::MeanLlrFor(
      group->block.qm(), static_cast<float>(plan.k_prime) / static_cast<float>(plan.e_short));
  if (!group->is_symbols) {
    for (const auto& [field, is_set] : {std::pair("symbol_scale", message.symbol_scale() != 0.0F),
                                        std::pair("noise_variance", message.has_noise_variance()),
                                        std::pair("log_sum", message.log_sum())}) {
      if (is_set) return absl::InvalidArgumentError(absl::StrCat(field, " is set: input has LLRs"));
    }
    return absl::OkStatus();
  }
  if (message.symbol_scale() != 0.0F) {
    BASEBAND_RETURN_IF_ERROR(CheckReal("symbol_scale", message.symbol_scale(), nr::kMinSymbolScale,
                                       nr::kMaxSymbolScale));
    group->demap.layout.scale = message.symbol_scale();
  }
  group->demap.log_sum = message.log_sum();
  if (message.has_noise_variance()) {
    BASEBAND_RETURN_IF_ERROR(CheckReal("noise_variance", message.noise_variance(),
                                       kMinNoiseVariance, kMaxNoiseVariance));
    group->demap.noise_variance = message.noise_variance();
  } else {
    group->demap.noise_format = nr::NoiseFormat::kFloat32;
  }
  return absl::OkStatus();
}

absl::Status CheckKey(absl::string_view field, absl::string_view key) {
  if (!key.empty() && key.size() <= kMaxHarqKeyBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " has ", key.size(), " bytes, not 1 to ", kMaxHarqKeyBytes));
}

// The scale that is chosen of a block says nothing of another transmission: noise alone would weigh
// as much as what was received well.
absl::Status CheckScaleForHarq(const v1::Harq& message, const DecodeSharedChannelGroup& group) {
  const bool has_harq = message.soft_in() || message.soft_out() || !message.key().empty();
  if (!has_harq || group.is_symbols || group.llr_scale != 0.0F) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "llr_scale is 0, to be chosen from each block: with harq it has to be set, for transmissions "
      "are added up in one unit");
}

absl::Status HarqFromProto(const v1::Harq& message, DecodeSharedChannelGroup* group) {
  if (message.key().empty()) {
    for (const auto& [field, value] :
         {std::pair("transmission", message.transmission()), std::pair("block", message.block())}) {
      if (value == 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(field, " ", value, " is set without a key"));
    }
    return absl::OkStatus();
  }
  BASEBAND_RETURN_IF_ERROR(CheckKey("key", message.key()));
  if (group->soft_in || group->soft_out) {
    return absl::InvalidArgumentError(
        "key is set beside soft_in or soft_out: soft bits are held, or they travel");
  }
  if (group->count != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("key is set for ", group->count, " blocks: it names those of 1"));
  }
  BASEBAND_RETURN_IF_ERROR(CheckRange("transmission", message.transmission(), 0, kMaxTransmission));
  group->harq_key = message.key();
  group->harq_block = message.block();
  group->transmission = static_cast<int>(message.transmission());
  return absl::OkStatus();
}

absl::Status ParametersFromProto(const v1::DecodeSharedChannelGroup& message,
                                 DecodeSharedChannelGroup* group) {
  BASEBAND_RETURN_IF_ERROR(
      CheckRange("max_iterations", message.max_iterations(), 0, ldpc::kMaxIterations));
  group->parameters.max_iterations = message.max_iterations() != 0
                                         ? static_cast<int>(message.max_iterations())
                                         : kDefaultIterations;
  BASEBAND_ASSIGN_OR_RETURN(const double scale_factor,
                            PositiveOr("scale_factor", message.scale_factor(), 1.0, 0.0));
  group->parameters.scale_factor = static_cast<float>(scale_factor);
  return absl::OkStatus();
}

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
    BASEBAND_RETURN_IF_ERROR(InputFromProto(message.input(), &group));
    BASEBAND_RETURN_IF_ERROR(ScalesFromProto(message, &group));
    group.count = message.count();
    group.soft_in = message.harq().soft_in();
    group.soft_out = message.harq().soft_out();
    BASEBAND_RETURN_IF_ERROR(CheckScaleForHarq(message.harq(), group));
    BASEBAND_RETURN_IF_ERROR(Within("harq.", HarqFromProto(message.harq(), &group)));
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
      BASEBAND_RETURN_IF_ERROR(CheckKey(absl::StrCat("free_keys[", i, "]"), free_keys[i]));
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
    v1::DecodeSharedChannelResponse header;
    SetTiming(job.times, header.mutable_timing());
    const auto code_blocks = static_cast<int>(job.code_blocks.size());
    header.mutable_crc_ok()->Reserve(code_blocks);
    header.mutable_parity_ok()->Reserve(code_blocks);
    header.mutable_iterations()->Reserve(code_blocks);
    for (const CodeBlockResult& result : job.code_blocks) {
      header.add_crc_ok(result.crc_ok);
      header.add_parity_ok(result.decode.parity_ok != 0);
      header.add_iterations(result.decode.iterations);
    }
    auto crc_ok = job.crc_ok.begin();
    auto unusable = job.unusable.begin();
    for (size_t i = 0; i < job.groups().size(); ++i) {
      const DecodeSharedChannelGroup& group = job.groups()[i];
      for (int64_t b = 0; b < group.count; ++b) {
        v1::SharedChannelResult& block = *header.add_blocks();
        block.set_crc_ok(*crc_ok++ != 0);
        block.set_unusable(*unusable++);
        block.set_harq(job.held(i).outcome);
        block.set_harq_message(job.held(i).why);
        block.set_code_blocks(static_cast<uint32_t>(group.block.plan.num_blocks));
      }
    }
    job.LetGo();  // the next transmission may use them, as soon as this one is answered
    return Reply{
        header.SerializeAsString(),
        {{v1::DecodeSharedChannelResponse::kSoftFieldNumber, job.soft_offset(), job.soft_bytes()},
         {v1::DecodeSharedChannelResponse::kPayloadFieldNumber, 0, job.bits_bytes()}},
        std::move(job.reply)};
  }

  std::unique_ptr<OperationMetrics> MakeMetrics(prometheus::Registry& registry) const override {
    return std::make_unique<DecodeSharedChannelMetrics>(registry);
  }
  void CountResults(const Job& base, OperationMetrics& metrics) const override {
    const auto& job = static_cast<const DecodeSharedChannelJob&>(base);
    auto& counted = static_cast<DecodeSharedChannelMetrics&>(metrics);
    std::vector<ldpc::DecodeResult> decoded;
    decoded.reserve(job.code_blocks.size());
    for (const CodeBlockResult& result : job.code_blocks) decoded.push_back(result.decode);
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
