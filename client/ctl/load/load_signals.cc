#include "client/ctl/load/load_signals.h"

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ctl/carrier/carrier_signal.h"
#include "client/ctl/carrier/symbols.h"

namespace baseband::ctl {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kStrayDeviations = 6;  // an estimate farther off is wrong
constexpr int kTaps = 64;
constexpr int kDown = 8;
constexpr double kSampleRateHz = 64e6;

// 2 / N times a Hann window of length N, of twice the pass band's gain: a tone of half the full
// scale comes out as 1.
std::vector<float> HannTaps() {
  std::vector<float> taps;
  for (int i = 0; i < kTaps; ++i) {
    taps.push_back(static_cast<float>(2 * (1 - std::cos(2 * kPi * (i + 0.5) / kTaps)) / kTaps));
  }
  return taps;
}

// Whether the first channel is 1 everywhere but in the filter's transient.
absl::Status CheckTone(const v1::DownconvertResponse& response, size_t outputs) {
  const std::string& payload = response.payload();
  if (payload.size() < outputs * sizeof(Complex)) {
    return absl::DataLossError("Downconvert answered with fewer samples than were asked for");
  }
  for (size_t i = kTaps / kDown; i < outputs; ++i) {
    Complex sample;
    std::memcpy(static_cast<void*>(&sample), payload.data() + i * sizeof(sample), sizeof(sample));
    if (!(std::abs(sample - Complex(1)) < 1e-4F)) {  // int16 rounds by 2^-15 of half the scale
      return absl::DataLossError(
          absl::StrCat("Downconvert: output ", i, " is not the tone that was sent"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<load::Request> CarrierRequest(const NamedPoints& constellation,
                                             const TrafficSpec& spec, Random* random) {
  v1::RecoverCarrierRequest request;
  v1::CarrierGroup& group = *request.add_groups();
  group.mutable_constellation()->set_name(constellation.name);
  group.set_count(static_cast<uint32_t>(spec.blocks));
  SignalSpec signal;
  signal.points = constellation.points;
  signal.num_symbols =
      spec.frame_symbols > 0 ? spec.frame_symbols : constellation.SymbolsOf64800Bits();
  signal.snr_db = constellation.operating_snr_db + 4;
  group.set_frame_symbols(static_cast<uint32_t>(signal.num_symbols));
  group.set_format(v1::SAMPLE_FORMAT_INT16);
  group.set_scale(1.0F / 8192);
  std::vector<double> frequencies;
  for (int frame = 0; frame < spec.blocks; ++frame) {
    const double reach = 0.9 / (2 * constellation.power);
    signal.frequency = Uniform(random, -reach, reach);
    signal.phase = Uniform(random, -kPi, kPi);
    frequencies.push_back(signal.frequency);
    std::vector<Complex> received;
    AppendFrame(signal, {}, {}, random, nullptr, &received);
    request.mutable_payload()->append(FromComplex(received, group.format(), group.scale()));
  }
  return ToRequest<v1::RecoverCarrierResponse>(
      request, [frequencies](const v1::RecoverCarrierResponse& response) {
        if (static_cast<size_t>(response.frames_size()) != frequencies.size()) {
          return absl::DataLossError("RecoverCarrier answered with another number of frames");
        }
        for (size_t i = 0; i < frequencies.size(); ++i) {
          const v1::CarrierResult& frame = response.frames(static_cast<int>(i));
          if (frame.lock() != v1::CARRIER_LOCK_LOCKED ||
              !(std::abs(frame.frequency() - frequencies[i]) <
                kStrayDeviations * frame.frequency_stddev())) {
            return absl::DataLossError(
                absl::StrCat("RecoverCarrier: frame ", i, " is not locked to what was sent"));
          }
        }
        return absl::OkStatus();
      });
}

absl::StatusOr<load::Request> DownconvertRequest(const TrafficSpec& spec, Random* random) {
  v1::DownconvertRequest request;
  v1::DownconvertSetup& setup = *request.mutable_setup();
  setup.set_sample_rate_hz(kSampleRateHz);
  setup.set_format(v1::WIDEBAND_FORMAT_COMPLEX_INT16);
  const double tone = std::round(Uniform(random, -20e6, 20e6));
  const std::vector<float> taps = HannTaps();
  for (int c = 0; c < spec.channels; ++c) {
    v1::DownconvertChannel& channel = *setup.add_channels();
    channel.mutable_frequency()->set_hz(tone + std::remainder(1e6 * c, 10e6));
    channel.mutable_filter()->set_down(kDown);
    channel.mutable_filter()->mutable_taps()->Add(taps.begin(), taps.end());
  }
  std::vector<Complex> samples;
  for (int n = 0; n < spec.samples; ++n) {
    const double angle = 2 * kPi * std::fmod(tone / kSampleRateHz * n, 1.0);
    samples.emplace_back(std::polar(0.5F, static_cast<float>(angle)));
  }
  request.set_payload(FromComplex(samples, v1::SAMPLE_FORMAT_INT16, 1.0F / 32768));
  const size_t outputs = (static_cast<size_t>(spec.samples) + kDown - 1) / kDown;
  return ToRequest<v1::DownconvertResponse>(
      request,
      [outputs](const v1::DownconvertResponse& response) { return CheckTone(response, outputs); });
}

// A paraboloid on a square grid of whole numbers, whose lowest point is one of them.
absl::StatusOr<load::Request> MinimizeRequest(const TrafficSpec& spec, Random* random) {
  const auto side = static_cast<uint64_t>(std::lround(std::sqrt(spec.points)));
  const uint64_t a = random->Next() % side;
  const uint64_t b = random->Next() % side;
  v1::MinimizeRequest request;
  v1::Expression& expression = *request.mutable_expression();
  expression.set_text("(x - a)^2 + (y - b)^2");
  for (const auto& [name, value] : {std::make_pair("a", a), std::make_pair("b", b)}) {
    v1::NamedScalar& scalar = *expression.add_scalars();
    scalar.set_name(name);
    scalar.set_value(static_cast<double>(value));
  }
  for (int i = 0; i < 2; ++i) {
    v1::GridAxis& axis = *request.add_axes();
    axis.set_step(1);
    axis.set_count(side);
  }
  return ToRequest<v1::MinimizeResponse>(
      request, [best = a * side + b](const v1::MinimizeResponse& response) {
        return response.answer().top_size() == 1 && response.answer().top(0).index() == best &&
                       response.answer().value() == 0
                   ? absl::OkStatus()
                   : absl::DataLossError("Minimize: not the lowest point");
      });
}

}  // namespace baseband::ctl
