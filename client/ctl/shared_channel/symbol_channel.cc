#include "client/ctl/shared_channel/symbol_channel.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "client/ctl/carrier/carrier_signal.h"
#include "client/ctl/common/symbols.h"

namespace baseband::ctl {
namespace {

// What each type is called, and on its way from Encode and to Decode.
struct Type {
  const char* name;
  v1::SharedChannelOutput sent;
  v1::SampleFormat sent_format;
  v1::SharedChannelInput received;
  v1::SampleFormat received_format;  // not read of int8
};
constexpr Type kTypes[] = {{"int8", v1::SHARED_CHANNEL_OUTPUT_INT16, v1::SAMPLE_FORMAT_INT16,
                            v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT8, v1::SAMPLE_FORMAT_UNSPECIFIED},
                           {"int16", v1::SHARED_CHANNEL_OUTPUT_INT16, v1::SAMPLE_FORMAT_INT16,
                            v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT16, v1::SAMPLE_FORMAT_INT16},
                           {"float16", v1::SHARED_CHANNEL_OUTPUT_FLOAT16, v1::SAMPLE_FORMAT_FLOAT16,
                            v1::SHARED_CHANNEL_INPUT_SYMBOLS_FLOAT16, v1::SAMPLE_FORMAT_FLOAT16},
                           {"float32", v1::SHARED_CHANNEL_OUTPUT_FLOAT32, v1::SAMPLE_FORMAT_FLOAT32,
                            v1::SHARED_CHANNEL_INPUT_SYMBOLS_FLOAT32, v1::SAMPLE_FORMAT_FLOAT32}};

const Type& Of(SymbolType type) { return kTypes[static_cast<int>(type)]; }

constexpr float kSentScale = 8192;  // of int16, as Encode has it
// Beyond any point of any constellation, I or Q.
constexpr double kPeak = 1.25;
// So many standard deviations of noise beyond it an integer holds. Eight bits are better spent on
// finer steps.
constexpr double kDeviationsOfInt8 = 3.5;
constexpr double kDeviationsOfInt16 = 6;

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

SymbolType ParseSymbolType(absl::string_view name) {
  for (const SymbolType type : {SymbolType::kInt8, SymbolType::kInt16, SymbolType::kFloat16}) {
    if (name == Of(type).name) return type;
  }
  return SymbolType::kFloat32;
}

std::string NameOfSymbolType(SymbolType type) { return Of(type).name; }

SymbolChannel::SymbolChannel(SymbolType type, double snr_db)
    : type_(type), noise_variance_(std::pow(10, -snr_db / 10)) {
  if (type == SymbolType::kInt8) scale_ = ScaleFor(127, kDeviationsOfInt8, noise_variance_);
  if (type == SymbolType::kInt16) scale_ = ScaleFor(32767, kDeviationsOfInt16, noise_variance_);
}

void SymbolChannel::Ask(v1::EncodeSharedChannelGroup* group) const {
  group->set_output(Of(type_).sent);
}

void SymbolChannel::Tell(v1::DecodeSharedChannelGroup* group) const {
  group->set_input(Of(type_).received);
  group->set_symbol_scale(scale_);
  group->set_noise_variance(static_cast<float>(noise_variance_));
}

int64_t SymbolChannel::SentBytes(int64_t symbols) const {
  return symbols * BytesPerSample(Of(type_).sent_format);
}

int64_t SymbolChannel::ReceivedBytes(int64_t symbols) const {
  return type_ == SymbolType::kInt8 ? 2 * symbols
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
  if (type_ == SymbolType::kInt8) {
    AppendInt8(symbols, scale_, received);
  } else {
    received->append(FromComplex(symbols, type.received_format, 1 / scale_));
  }
}

}  // namespace baseband::ctl
