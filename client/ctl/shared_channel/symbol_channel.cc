#include "client/ctl/shared_channel/symbol_channel.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "absl/types/span.h"
#include "client/ctl/carrier/carrier_signal.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/symbols.h"
#include "kernels/nr/demap.h"

namespace baseband::ctl {
namespace {

// What each type is called, and on its way from Encode and to Decode.
struct Type {
  const char* name;
  v1::SharedChannelOutput sent;
  v1::SampleFormat sent_format;
  v1::SharedChannelInput received;
  v1::SampleFormat received_format;  // not read of int8 and LLRs
};
constexpr Type kTypes[] = {{"int8", v1::SHARED_CHANNEL_OUTPUT_INT16, v1::SAMPLE_FORMAT_INT16,
                            v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT8, v1::SAMPLE_FORMAT_UNSPECIFIED},
                           {"int16", v1::SHARED_CHANNEL_OUTPUT_INT16, v1::SAMPLE_FORMAT_INT16,
                            v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT16, v1::SAMPLE_FORMAT_INT16},
                           {"float16", v1::SHARED_CHANNEL_OUTPUT_FLOAT16, v1::SAMPLE_FORMAT_FLOAT16,
                            v1::SHARED_CHANNEL_INPUT_SYMBOLS_FLOAT16, v1::SAMPLE_FORMAT_FLOAT16},
                           {"float32", v1::SHARED_CHANNEL_OUTPUT_FLOAT32, v1::SAMPLE_FORMAT_FLOAT32,
                            v1::SHARED_CHANNEL_INPUT_SYMBOLS_FLOAT32, v1::SAMPLE_FORMAT_FLOAT32},
                           {"llr-int8", v1::SHARED_CHANNEL_OUTPUT_INT16, v1::SAMPLE_FORMAT_INT16,
                            v1::SHARED_CHANNEL_INPUT_LLR_INT8, v1::SAMPLE_FORMAT_UNSPECIFIED},
                           {"llr-int6", v1::SHARED_CHANNEL_OUTPUT_INT16, v1::SAMPLE_FORMAT_INT16,
                            v1::SHARED_CHANNEL_INPUT_LLR_INT6, v1::SAMPLE_FORMAT_UNSPECIFIED},
                           {"llr-int4", v1::SHARED_CHANNEL_OUTPUT_INT16, v1::SAMPLE_FORMAT_INT16,
                            v1::SHARED_CHANNEL_INPUT_LLR_INT4, v1::SAMPLE_FORMAT_UNSPECIFIED}};

const Type& Of(ReceivedType type) { return kTypes[static_cast<int>(type)]; }

constexpr float kSentScale = 8192;  // of int16, as Encode has it
// Beyond any point of any constellation, I or Q.
constexpr double kPeak = 1.25;
// So many standard deviations of noise beyond it an integer holds. Eight bits are better spent on
// finer steps.
constexpr double kDeviationsOfInt8 = 3.5;
constexpr double kDeviationsOfInt16 = 6;

// LLRs of 8, 6 and 4 bits: so many units are a natural LLR of 1, and so many of the decoder's.
constexpr float kDecodersScale = 6;
struct LlrForm {
  int bits;
  float scale;
};
LlrForm LlrFormOf(ReceivedType type) {
  return type == ReceivedType::kLlrInt8   ? LlrForm{8, kDecodersScale}
         : type == ReceivedType::kLlrInt6 ? LlrForm{6, 2}
                                          : LlrForm{4, 1};
}

float ScaleFor(double most, double deviations, double noise_variance) {
  return static_cast<float>(most / (kPeak + deviations * std::sqrt(noise_variance / 2)));
}

void AppendInt8(const std::vector<Complex>& symbols, float scale, std::string* bytes) {
  for (const Complex& symbol : symbols) {
    for (const float part : {symbol.real(), symbol.imag()}) {
      bytes->push_back(
          static_cast<char>(std::clamp(std::nearbyint(part * scale), -128.0F, 127.0F)));
    }
  }
}

}  // namespace

std::vector<std::string> NamesOfReceivedTypes() {
  std::vector<std::string> names;
  for (const Type& type : kTypes) names.emplace_back(type.name);
  return names;
}

ReceivedType ParseReceivedType(absl::string_view name) {
  const auto* const found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                         [&](const Type& type) { return name == type.name; });
  return static_cast<ReceivedType>(found - std::begin(kTypes));
}

std::string NameOfReceivedType(ReceivedType type) { return Of(type).name; }

CLI::Option* AddInputFlag(CLI::App* app, std::string* name) {
  return app
      ->add_option("--input", *name,
                   "what is decoded: symbols of int8, int16, float16 or float32, or llr-int8, "
                   "llr-int6, llr-int4 (int16)")
      ->check(OneOf(NamesOfReceivedTypes()))
      ->type_name("TYPE");
}

SymbolChannel::SymbolChannel(ReceivedType type, int qm, double snr_db)
    : type_(type), qm_(qm), noise_variance_(std::pow(10, -snr_db / 10)) {
  if (type == ReceivedType::kInt8) scale_ = ScaleFor(127, kDeviationsOfInt8, noise_variance_);
  if (type == ReceivedType::kInt16) scale_ = ScaleFor(32767, kDeviationsOfInt16, noise_variance_);
}

void SymbolChannel::Ask(v1::EncodeSharedChannelGroup* group) const {
  group->set_output(Of(type_).sent);
}

void SymbolChannel::Tell(v1::DecodeSharedChannelGroup* group) const {
  group->set_input(Of(type_).received);
  if (IsLlr(type_)) {
    // int8 are the decoder's own.
    const LlrForm form = LlrFormOf(type_);
    if (form.bits != 8) group->set_llr_scale(kDecodersScale / form.scale);
    return;
  }
  group->set_symbol_scale(scale_);
  group->set_noise_variance(static_cast<float>(noise_variance_));
}

int64_t SymbolChannel::SentBytes(int64_t symbols) const {
  return symbols * BytesPerSample(Of(type_).sent_format);
}

int64_t SymbolChannel::ReceivedBytes(int64_t symbols) const {
  if (IsLlr(type_)) return (symbols * qm_ * LlrFormOf(type_).bits + 7) / 8;
  return type_ == ReceivedType::kInt8 ? 2 * symbols
                                      : symbols * BytesPerSample(Of(type_).received_format);
}

void SymbolChannel::Transmit(absl::string_view sent, Random* random, std::string* received) const {
  const Type& type = Of(type_);
  const bool is_int16 = type.sent_format == v1::SAMPLE_FORMAT_INT16;
  std::vector<Complex> symbols =
      ToComplex(sent, type.sent_format, is_int16 ? 1 / kSentScale : 1.0F);
  const auto deviation = static_cast<float>(std::sqrt(noise_variance_ / 2));
  for (Complex& symbol : symbols) {
    symbol += deviation * Normal(random);
  }
  if (IsLlr(type_)) {
    AppendLlrs(symbols, received);
  } else if (type_ == ReceivedType::kInt8) {
    AppendInt8(symbols, scale_, received);
  } else {
    received->append(FromComplex(symbols, type.received_format, 1 / scale_));
  }
}

void SymbolChannel::AppendLlrs(const std::vector<Complex>& symbols, std::string* bytes) const {
  const LlrForm form = LlrFormOf(type_);
  nr::DemapParameters parameters;
  parameters.qm = qm_;
  parameters.layout.format = nr::SymbolFormat::kFloat32;
  parameters.noise_variance = static_cast<float>(noise_variance_);
  parameters.llr_scale = form.scale;
  const std::string plain = FromComplex(symbols, v1::SAMPLE_FORMAT_FLOAT32, 1);
  const auto count = static_cast<int64_t>(symbols.size());
  std::vector<int8_t> llrs(static_cast<size_t>(count * qm_));
  nr::DemapOnCpu(parameters, {reinterpret_cast<const uint8_t*>(plain.data()), plain.size()}, {}, 0,
                 count, absl::MakeSpan(llrs));
  // The first in the upper bits.
  const int most = (1 << (form.bits - 1)) - 1;
  uint32_t held = 0;
  int num_held = 0;
  for (const int8_t llr : llrs) {
    const int value = std::clamp<int>(llr, -most, most);
    held = held << form.bits | (static_cast<uint32_t>(value) & ((1U << form.bits) - 1));
    for (num_held += form.bits; num_held >= 8; num_held -= 8) {
      bytes->push_back(static_cast<char>(held >> (num_held - 8)));
    }
  }
  if (num_held > 0) bytes->push_back(static_cast<char>(held << (8 - num_held)));
}

}  // namespace baseband::ctl
