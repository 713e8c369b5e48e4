#include "client/ctl/load/load_signals.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "client/ctl/carrier/carrier_signal.h"
#include "client/ctl/carrier/pulse_signal.h"
#include "client/ctl/common/angles.h"
#include "client/ctl/common/symbols.h"
#include "kernels/base/status_macros.h"

namespace baseband::ctl {
namespace {

constexpr double kStrayDeviations = 6;     // an estimate farther off is wrong
constexpr double kLargestDeviation = 0.1;  // of a frequency that is locked to, in bins
constexpr double kSnrToleranceDb = 3;
constexpr double kLargestTimingDeviation = 0.1;  // symbols, of the first one's
constexpr int kTaps = 64;
constexpr size_t kDown = 8;
// int16 rounds each sample by 2^-16 in I and in Q, the taps' sum is 2; twice that.
constexpr double kToneTolerance = 1e-4;
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

using Verdict = absl::StatusOr<int64_t>;  // code blocks that did not decode: there are none here

// A frame as it was sent; the last two of samples.
struct SentFrame {
  double frequency;
  double phase;
  double offset;
  double clock_error;
};

bool IsNear(double found, double expected, double tolerance) {
  return std::abs(found - expected) <= tolerance;  // NaN is not
}

// Whether `frame` was found as it was sent, within deviations that are themselves of a right size.
bool IsFound(const v1::CarrierResult& frame, const SentFrame& sent, const SignalSpec& signal) {
  const int ambiguity = static_cast<int>(frame.ambiguity());
  const double bin = 1.0 / signal.num_symbols;
  return frame.lock() == v1::CARRIER_LOCK_LOCKED && ambiguity >= 1 && ambiguity <= 1024 &&
         frame.frequency_stddev() > 0 && frame.frequency_stddev() < kLargestDeviation * bin &&
         IsNear(frame.frequency(), sent.frequency, kStrayDeviations * frame.frequency_stddev()) &&
         frame.phase_stddev() > 0 && frame.phase_stddev() < kPi / ambiguity &&
         IsNear(WrapPhase(frame.phase() - sent.phase, ambiguity), 0,
                kStrayDeviations * frame.phase_stddev()) &&
         IsNear(frame.snr_db(), signal.snr_db, kSnrToleranceDb);
}

// Likewise its timing.
bool IsFound(const v1::TimingEstimate& timing, const SentFrame& sent) {
  return timing.lock() == v1::TIMING_LOCK_LOCKED && timing.offset_stddev() > 0 &&
         timing.offset_stddev() < kLargestTimingDeviation &&
         IsNear(timing.offset(), sent.offset, kStrayDeviations * timing.offset_stddev()) &&
         timing.clock_error_stddev() > 0 && timing.clock_error_stddev() < kDefaultMaxClockError &&
         IsNear(timing.clock_error(), sent.clock_error,
                kStrayDeviations * timing.clock_error_stddev());
}

// `group` is of samples, as `pulses` have them and the server is told.
void SetTiming(const SignalSpec& signal, const PulseSpec& pulses, v1::CarrierGroup* group) {
  const SamplesPerSymbol& rate = pulses.samples_per_symbol;
  group->set_frame_samples(
      static_cast<uint32_t>(SamplesFor(rate, kDefaultMaxClockError, signal.num_symbols)));
  v1::SymbolTiming& timing = *group->mutable_timing();
  timing.set_samples_per_symbol_numerator(static_cast<uint32_t>(rate.numerator));
  timing.set_samples_per_symbol_denominator(static_cast<uint32_t>(rate.denominator));
  timing.set_roll_off(pulses.roll_off);
}

// What a DownconvertResponse has to be: channel c is a tone, `offsets_hz[c]` above which its
// oscillator is.
struct Tones {
  std::vector<double> offsets_hz;
  std::vector<float> taps;
  size_t samples = 0;

  size_t outputs() const { return (samples + kDown - 1) / kDown; }
};

// From the definition: out[m] = sum over k of taps[k] mixed[m kDown - k], of samples from 0 on,
// where
//   mixed[n] = 0.5 exp(-j 2 pi offset n / rate).
bool IsTone(const char* bytes, const Tones& tones, double offset_hz) {
  const double turn = 2 * kPi * offset_hz / kSampleRateHz;
  std::vector<std::complex<double>> gains;  // of the taps 0 .. k
  std::complex<double> sum;
  for (size_t k = 0; k < tones.taps.size(); ++k) {
    sum +=
        0.5 * static_cast<double>(tones.taps[k]) * std::polar(1.0, turn * static_cast<double>(k));
    gains.push_back(sum);
  }
  for (size_t m = 0; m < tones.outputs(); ++m) {
    Complex sample;
    std::memcpy(static_cast<void*>(&sample), bytes + m * sizeof(sample), sizeof(sample));
    const double cycles = offset_hz / kSampleRateHz * static_cast<double>(kDown * m);
    const std::complex<double> expected = gains[std::min(kDown * m, gains.size() - 1)] *
                                          std::polar(1.0, -2 * kPi * std::fmod(cycles, 1.0));
    if (!(std::abs(std::complex<double>(sample) - expected) < kToneTolerance)) return false;
  }
  return true;
}

Verdict CheckTones(const v1::DownconvertResponse& response, const Tones& tones) {
  const size_t channels = tones.offsets_hz.size();
  const size_t bytes = tones.outputs() * sizeof(Complex);
  if (static_cast<size_t>(response.channels_size()) != channels ||
      response.payload().size() != channels * bytes || response.next_sample() != tones.samples ||
      response.gap() != 0 || response.descriptions_size() != 0) {
    return Wrong("Downconvert answered with other sizes than were asked for");
  }
  for (size_t c = 0; c < channels; ++c) {
    const v1::ChannelOutput& output = response.channels(static_cast<int>(c));
    if (output.first_output() != 0 || output.count() != tones.outputs() ||
        output.saturated() != 0 ||
        !IsTone(response.payload().data() + c * bytes, tones, tones.offsets_hz[c])) {
      return Wrong(absl::StrCat("Downconvert: channel ", c, " is not the tone that was sent"));
    }
  }
  return 0;
}

}  // namespace

absl::StatusOr<load::Request> CarrierRequest(const NamedPoints& constellation,
                                             const TrafficSpec& spec, int kinds_of_devices,
                                             Random* random) {
  v1::RecoverCarrierRequest request;
  v1::CarrierGroup& group = *request.add_groups();
  group.mutable_constellation()->set_name(constellation.name);
  group.set_count(static_cast<uint32_t>(spec.blocks));
  SignalSpec signal;
  signal.points = constellation.points;
  signal.num_symbols =
      spec.frame_symbols > 0 ? spec.frame_symbols : constellation.SymbolsOf64800Bits();
  signal.snr_db = constellation.operating_snr_db + 4;
  group.set_format(v1::SAMPLE_FORMAT_INT16);
  group.set_scale(1.0F / 8192);
  const bool is_sampled = !spec.samples_per_symbol.empty();
  PulseSpec pulses;
  if (is_sampled) {
    BASEBAND_ASSIGN_OR_RETURN(pulses.samples_per_symbol,
                              ParseSamplesPerSymbol(spec.samples_per_symbol));
    pulses.roll_off = spec.roll_off.value_or(kRollOff);
    SetTiming(signal, pulses, &group);
    // A sample has so much more noise.
    group.set_scale(static_cast<float>(std::sqrt(pulses.samples_per_symbol.value())) / 8192);
  } else {
    group.set_frame_symbols(static_cast<uint32_t>(signal.num_symbols));
  }
  absl::optional<PulseTable> pulse;
  if (is_sampled) {
    pulse.emplace(pulses);
  }
  std::vector<SentFrame> sent;
  for (int frame = 0; frame < spec.blocks; ++frame) {
    const double reach = 0.9 / (2 * constellation.power);
    signal.frequency = Uniform(random, -reach, reach);
    signal.phase = Uniform(random, -kPi, kPi);
    std::vector<Complex> received;
    if (is_sampled) {
      // Not so near the ends that another symbol could be taken for the first.
      pulses.offset = Uniform(random, 0.2, 0.8);
      pulses.clock_error = Uniform(random, -0.5, 0.5) * kDefaultMaxClockError;
      AppendSamples(signal, pulses, *pulse, {}, {}, random, nullptr, &received);
    } else {
      AppendFrame(signal, {}, {}, random, nullptr, &received);
    }
    sent.push_back({signal.frequency, signal.phase, pulses.offset, pulses.clock_error});
    request.mutable_payload()->append(FromComplex(received, group.format(), group.scale()));
  }
  signal.points = {};  // are not `constellation`'s for long
  return ToRequest<v1::RecoverCarrierResponse>(
      request, kinds_of_devices,
      [sent, signal, is_sampled](const v1::RecoverCarrierResponse& response) -> Verdict {
        if (static_cast<size_t>(response.frames_size()) != sent.size() ||
            static_cast<size_t>(response.timings_size()) != (is_sampled ? sent.size() : 0) ||
            response.curves_size() != 0 || !response.curve_points().empty() ||
            !response.payload().empty()) {
          return Wrong("RecoverCarrier answered with other sizes than were asked for");
        }
        for (size_t i = 0; i < sent.size(); ++i) {
          const auto frame = static_cast<int>(i);
          if (!IsFound(response.frames(frame), sent[i], signal) ||
              (is_sampled && !IsFound(response.timings(frame), sent[i]))) {
            return Wrong(absl::StrCat("RecoverCarrier: frame ", i,
                                      " is not locked to what was sent, or not so surely"));
          }
        }
        return 0;
      });
}

absl::StatusOr<load::Request> DownconvertRequest(const TrafficSpec& spec, int kinds_of_devices,
                                                 Random* random) {
  v1::DownconvertRequest request;
  v1::DownconvertSetup& setup = *request.mutable_setup();
  setup.set_sample_rate_hz(kSampleRateHz);
  setup.set_format(v1::WIDEBAND_FORMAT_COMPLEX_INT16);
  const double tone = std::round(Uniform(random, -20e6, 20e6));
  Tones tones;
  tones.taps = HannTaps();
  tones.samples = static_cast<size_t>(spec.samples);
  for (int c = 0; c < spec.channels; ++c) {
    tones.offsets_hz.push_back(std::remainder(1e6 * c, 10e6));
    v1::DownconvertChannel& channel = *setup.add_channels();
    channel.mutable_frequency()->set_hz(tone + tones.offsets_hz.back());
    channel.mutable_filter()->set_down(static_cast<uint32_t>(kDown));
    channel.mutable_filter()->mutable_taps()->Add(tones.taps.begin(), tones.taps.end());
  }
  std::vector<Complex> samples;
  for (int n = 0; n < spec.samples; ++n) {
    const double angle = 2 * kPi * std::fmod(tone / kSampleRateHz * n, 1.0);
    samples.emplace_back(std::polar(0.5F, static_cast<float>(angle)));
  }
  request.set_payload(FromComplex(samples, v1::SAMPLE_FORMAT_INT16, 1.0F / 32768));
  return ToRequest<v1::DownconvertResponse>(
      request, kinds_of_devices,
      [tones](const v1::DownconvertResponse& response) { return CheckTones(response, tones); });
}

// A paraboloid on a square grid of whole numbers, whose lowest point is one of them.
absl::StatusOr<load::Request> MinimizeRequest(const TrafficSpec& spec, int kinds_of_devices,
                                              Random* random) {
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
  const bool at_edge = a == 0 || b == 0 || a == side - 1 || b == side - 1;
  const std::vector<double> lowest = {static_cast<double>(a), static_cast<double>(b)};
  return ToRequest<v1::MinimizeResponse>(
      request, kinds_of_devices,
      [best = a * side + b, at_edge, lowest](const v1::MinimizeResponse& response) -> Verdict {
        const v1::MinimizeAnswer& answer = response.answer();
        const auto is_lowest = [&](const auto& point) {
          return std::equal(point.begin(), point.end(), lowest.begin(), lowest.end());
        };
        return answer.top_size() == 1 && answer.top(0).index() == best &&
                       is_lowest(answer.top(0).coordinates()) && answer.top(0).value() == 0 &&
                       is_lowest(answer.point()) && answer.value() == 0 &&
                       answer.at_edge() == at_edge && answer.nan_points() == 0 &&
                       answer.profile().empty()
                   ? Verdict(0)
                   : Wrong("Minimize: not the lowest point");
      });
}

absl::StatusOr<std::string> MinimizeEssence(const grpc::ByteBuffer& reply) {
  grpc::ByteBuffer copy = reply;
  v1::MinimizeResponse response;
  if (absl::Status parsed = client::ParseInto(&copy, &response); !parsed.ok()) {
    return parsed;
  }
  if (!response.has_answer()) {
    return Wrong("Minimize answered without an answer");
  }
  response.mutable_answer()->clear_timing();
  response.mutable_answer()->clear_elapsed_s();
  return response.SerializeAsString();
}

}  // namespace baseband::ctl
