#include "tests/bench/workload_requests.h"

#include <cmath>
#include <vector>

#include "tests/support/carrier_frames.h"

namespace baseband::bench {
namespace {

constexpr int kFrameBits = 64800;
constexpr double kRateHz = 64e6;
constexpr double kToneHz = 9123457;

void SetCode(v1::LdpcCode* code) {
  code->mutable_nr()->set_base_graph(1);
  code->mutable_nr()->set_zc(384);
}

}  // namespace

v1::EncodeRequest EncodeOf(int blocks) {
  v1::EncodeRequest request;
  v1::EncodeGroup& group = *request.add_groups();
  SetCode(group.mutable_code());
  group.set_count(static_cast<uint32_t>(blocks));
  uint64_t state = 88172645463325252;
  for (int i = 0; i < blocks * kInfoBytes; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    request.mutable_payload()->push_back(static_cast<char>(state));
  }
  return request;
}

v1::DecodeRequest DecodeOf(const std::string& words, int blocks) {
  v1::DecodeRequest request;
  v1::DecodeGroup& group = *request.add_groups();
  SetCode(group.mutable_code());
  group.set_count(static_cast<uint32_t>(blocks));
  std::string& llrs = *request.mutable_payload();
  for (const char byte : words) {
    for (int bit = 7; bit >= 0; --bit) llrs.push_back(byte >> bit & 1 ? -6 : 6);
  }
  for (size_t i = 4; i < llrs.size(); i += 9) llrs[i] = static_cast<char>(-llrs[i]);
  return request;
}

v1::RecoverCarrierRequest RecoverOf(int frames) {
  constexpr const char* kNames[] = {"QPSK", "16APSK 3/4", "64APSK 128/180", "256APSK 135/180"};
  constexpr double kScale = 1.0 / 8192;
  v1::RecoverCarrierRequest request;
  for (int i = 0; i < frames; ++i) {
    testing::FrameSpec spec;
    spec.constellation = *carrier::Constellation::FromName(kNames[i % 4]);
    spec.num_symbols = kFrameBits / static_cast<int>(std::log2(spec.constellation->size()));
    spec.frequency = kFrequency;
    spec.phase = 0.1;
    spec.snr_db = spec.constellation->operating_snr_db() + 4;
    spec.seed = static_cast<uint64_t>(i + 1);
    const std::vector<uint8_t> samples =
        testing::ToSamples(testing::MakeFrame(spec).symbols, carrier::SampleFormat::kInt16, kScale);
    v1::CarrierGroup& group = *request.add_groups();
    group.mutable_constellation()->set_name(kNames[i % 4]);
    group.set_count(1);
    group.set_frame_symbols(static_cast<uint32_t>(spec.num_symbols));
    group.set_format(v1::SAMPLE_FORMAT_INT16);
    group.set_scale(static_cast<float>(kScale));
    request.mutable_payload()->append(samples.begin(), samples.end());
  }
  return request;
}

v1::DownconvertRequest DownconvertOf(int64_t samples, int channels) {
  v1::DownconvertRequest request;
  v1::DownconvertSetup& setup = *request.mutable_setup();
  setup.set_sample_rate_hz(kRateHz);
  setup.set_format(v1::WIDEBAND_FORMAT_COMPLEX_INT16);
  for (int c = 0; c < channels; ++c) {
    v1::DownconvertChannel& channel = *setup.add_channels();
    channel.mutable_frequency()->set_hz(kToneHz - 1e6 * c);
    channel.set_gain(2.0F);
    channel.mutable_filter()->set_down(kDown);
    for (int k = 0; k < kTaps; ++k) {  // a Hann window: its sum is 1
      const double window = 1.0 - std::cos(2.0 * M_PI * (k + 0.5) / kTaps);
      channel.mutable_filter()->add_taps(static_cast<float>(window / kTaps));
    }
  }
  std::string& payload = *request.mutable_payload();
  for (int64_t n = 0; n < samples; ++n) {
    const double turns = std::fmod(kToneHz / kRateHz * static_cast<double>(n), 1.0);
    for (const double part : {std::cos(2.0 * M_PI * turns), std::sin(2.0 * M_PI * turns)}) {
      const auto value = static_cast<int16_t>(std::lround(16384.0 * part));
      payload.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
  }
  return request;
}

}  // namespace baseband::bench
