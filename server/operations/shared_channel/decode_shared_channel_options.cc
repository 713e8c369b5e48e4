#include "server/operations/shared_channel/decode_shared_channel_options.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/converters/checks.h"

namespace baseband::server {
namespace {

constexpr int kDefaultSharedIterations = 10;
// Of natural LLRs. Min-sum loses least with it over all modulations; from 8 on LLRs that are 127
// hold up parity checks, so that right blocks of low and medium code rates take nearly all
// iterations some dB above their threshold, too, where a few would do.
constexpr float kDefaultSharedLlrScale = 6.0F;
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
  group->llr_scale = group->demap.llr_scale = kDefaultSharedLlrScale;
  if (message.llr_scale() != 0.0F) {
    if (!group->is_symbols && group->llr_format == nr::LlrFormat::kInt8) {
      return absl::InvalidArgumentError(absl::StrCat("llr_scale ", message.llr_scale(),
                                                     " is set: LLR_INT8 are the decoder's own"));
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
    const auto refuse = [](const auto&... field) {
      return absl::InvalidArgumentError(absl::StrCat(field..., " is set: input has LLRs"));
    };
    if (message.symbol_scale() != 0.0F) return refuse("symbol_scale ", message.symbol_scale());
    if (message.has_noise_variance()) return refuse("noise_variance ", message.noise_variance());
    return message.log_sum() ? refuse("log_sum") : absl::OkStatus();
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
         {std::pair("transmission", message.transmission()), std::pair("block", message.block()),
          std::pair("llr_size", message.llr_size())}) {
      if (value == 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(field, " ", value, " is set without a key"));
    }
    return absl::OkStatus();
  }
  BASEBAND_RETURN_IF_ERROR(CheckHarqKey("key", message.key()));
  if (group->soft_in || group->soft_out) {
    return absl::InvalidArgumentError(
        "key is set beside soft_in or soft_out: soft bits are held, or they travel");
  }
  if (group->count != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("key is set for ", group->count, " blocks: it names those of 1"));
  }
  BASEBAND_RETURN_IF_ERROR(CheckRange("transmission", message.transmission(), 0, kMaxTransmission));
  if (message.llr_size() != 0) {
    if (message.llr_size() != 8 && message.llr_size() != 6 && message.llr_size() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("llr_size ", message.llr_size(), " is not 8, 6 or 4"));
    }
    group->held_llr_size = static_cast<int>(message.llr_size());
  }
  group->harq_key = message.key();
  group->harq_block = message.block();
  group->transmission = static_cast<int>(message.transmission());
  return absl::OkStatus();
}

absl::Status EarlyStopFromProto(v1::EarlyStop stop, DecodeSharedChannelGroup* group) {
  switch (stop) {
    case v1::EARLY_STOP_UNSPECIFIED:
    case v1::EARLY_STOP_PARITY:
      return absl::OkStatus();
    case v1::EARLY_STOP_CRC:
      group->parameters.stop_crc = group->block.plan.last_crc();
      if (group->parameters.stop_crc.has_value()) return absl::OkStatus();
      return absl::InvalidArgumentError("early_stop is EARLY_STOP_CRC: the code block has no crc");
    case v1::EARLY_STOP_NONE:
      group->parameters.early_termination = false;
      return absl::OkStatus();
    default:
      return CheckRange("early_stop", stop, 0, 3);
  }
}

}  // namespace

absl::Status CheckHarqKey(absl::string_view field, absl::string_view key) {
  if (!key.empty() && key.size() <= kMaxHarqKeyBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " has ", key.size(), " bytes, not 1 to ", kMaxHarqKeyBytes));
}

absl::Status ReceivedFromProto(const v1::DecodeSharedChannelGroup& message,
                               DecodeSharedChannelGroup* group) {
  BASEBAND_RETURN_IF_ERROR(InputFromProto(message.input(), group));
  BASEBAND_RETURN_IF_ERROR(ScalesFromProto(message, group));
  group->soft_in = message.harq().soft_in();
  group->soft_out = message.harq().soft_out();
  BASEBAND_RETURN_IF_ERROR(CheckScaleForHarq(message.harq(), *group));
  return Within("harq.", HarqFromProto(message.harq(), group));
}

absl::Status ParametersFromProto(const v1::DecodeSharedChannelGroup& message,
                                 DecodeSharedChannelGroup* group) {
  BASEBAND_RETURN_IF_ERROR(
      CheckRange("max_iterations", message.max_iterations(), 0, ldpc::kMaxIterations));
  group->parameters.max_iterations = message.max_iterations() != 0
                                         ? static_cast<int>(message.max_iterations())
                                         : kDefaultSharedIterations;
  BASEBAND_ASSIGN_OR_RETURN(const double scale_factor,
                            PositiveOr("scale_factor", message.scale_factor(), 1.0, 0.0));
  group->parameters.scaling.factor = static_cast<float>(scale_factor);
  return EarlyStopFromProto(message.early_stop(), group);
}

}  // namespace baseband::server
