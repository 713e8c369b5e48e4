#include "tests/support/carrier_traffic.h"

#include <grpcpp/grpcpp.h>

#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace baseband::testing {
namespace {

constexpr double kInt16Scale = 1.0 / 8192;
constexpr double kDeviations = 6.0;
// A frame without noise has next to no deviation; float32 has.
constexpr double kRounding = 1e-6;

carrier::SampleFormat ToKernel(v1::SampleFormat format) {
  switch (format) {
    case v1::SAMPLE_FORMAT_FLOAT16:
      return carrier::SampleFormat::kFloat16;
    case v1::SAMPLE_FORMAT_INT16:
      return carrier::SampleFormat::kInt16;
    default:
      return carrier::SampleFormat::kFloat32;
  }
}

int Pick(std::mt19937* random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(*random);
}

// The symbol whose phase the result tells.
double ReferenceSymbol(v1::PhaseReference reference, int num_symbols) {
  switch (reference) {
    case v1::PHASE_REFERENCE_CENTRE:
      return (num_symbols - 1) / 2.0;
    case v1::PHASE_REFERENCE_LAST:
      return num_symbols - 1;
    default:
      return 0.0;
  }
}

// A group of frames like `spec`, which `received` makes of it, each with a seed of its own.
template <typename Received>
v1::CarrierGroup& AddGroup(const FrameSpec& spec, int count, v1::SampleFormat format,
                           const Received& received, CarrierRequest* request) {
  v1::CarrierGroup& group = *request->message.add_groups();
  group.mutable_constellation()->set_name(spec.constellation->name());
  group.set_count(static_cast<uint32_t>(count));
  group.set_format(format);
  const bool is_int16 = format == v1::SAMPLE_FORMAT_INT16;
  const double scale = is_int16 ? kInt16Scale : 1.0;
  if (is_int16) group.set_scale(static_cast<float>(scale));
  for (int i = 0; i < count; ++i) {
    FrameSpec own = spec;
    own.seed = spec.seed + static_cast<uint64_t>(i);
    const std::vector<uint8_t> samples = ToSamples(received(own), ToKernel(format), scale);
    request->message.mutable_payload()->append(samples.begin(), samples.end());
    request->frames.push_back(own);
  }
  return group;
}

// What is wrong with the timing of a frame; empty: nothing.
std::string CheckTiming(const TimingSpec& sent, int num_symbols, const v1::TimingEstimate& got) {
  if (got.lock() != v1::TIMING_LOCK_LOCKED) return v1::TimingLock_Name(got.lock());
  // Offsets just below 1 may be found as those just above 0 of a symbol later.
  if (!(std::abs(WrappedDifference(got.offset(), sent.offset, 1.0)) <
        kDeviations * got.offset_stddev())) {
    return absl::StrCat("offset ", got.offset(), " +- ", got.offset_stddev(), " instead of ",
                        sent.offset);
  }
  if (!(std::abs(got.clock_error() - sent.clock_error) <
        kDeviations * got.clock_error_stddev() + kRounding / num_symbols)) {
    return absl::StrCat("clock error ", got.clock_error(), " +- ", got.clock_error_stddev(),
                        " instead of ", sent.clock_error);
  }
  return "";
}

}  // namespace

FrameSpec FramesOf(const std::string& name, int num_symbols, uint64_t seed) {
  FrameSpec spec;
  spec.constellation = *carrier::Constellation::FromName(name);
  spec.num_symbols = num_symbols;
  spec.snr_db = spec.constellation->operating_snr_db() + 6;
  spec.seed = seed;
  return spec;
}

v1::CarrierGroup& AddFrames(const FrameSpec& spec, int count, v1::SampleFormat format,
                            CarrierRequest* request) {
  v1::CarrierGroup& group = AddGroup(
      spec, count, format, [](const FrameSpec& own) { return MakeFrame(own).symbols; }, request);
  group.set_frame_symbols(static_cast<uint32_t>(spec.num_symbols));
  return group;
}

v1::CarrierGroup& AddSampledFrames(TimingSpec spec, int num_symbols, int count,
                                   v1::SampleFormat format, CarrierRequest* request,
                                   const timing::Parameters& parameters) {
  spec.num_samples = timing::SamplesFor(spec.shape, parameters, num_symbols);
  FrameSpec frame;
  frame.constellation = spec.constellation;
  frame.num_symbols = num_symbols;
  frame.frequency = spec.frequency;
  frame.phase = spec.phase;
  frame.gain = spec.gain;
  frame.snr_db = spec.snr_db;
  frame.seed = spec.seed;
  v1::CarrierGroup& group = AddGroup(
      frame, count, format,
      [&](const FrameSpec& own) {
        spec.seed = own.seed;
        request->timings.push_back(spec);
        return MakeSamples(spec).samples;
      },
      request);
  group.set_frame_samples(static_cast<uint32_t>(spec.num_samples));
  v1::SymbolTiming& timing = *group.mutable_timing();
  timing.set_samples_per_symbol_numerator(static_cast<uint32_t>(spec.shape.samples));
  timing.set_samples_per_symbol_denominator(static_cast<uint32_t>(spec.shape.symbols));
  timing.set_roll_off(spec.shape.rolloff);
  timing.set_max_clock_error(parameters.max_clock_error);
  if (spec.shape.taps != nullptr) {
    const std::vector<float>& taps = spec.shape.taps->values;
    timing.mutable_taps()->Add(taps.begin(), taps.end());
    timing.set_taps_per_symbol(static_cast<uint32_t>(spec.shape.taps->per_symbol));
  }
  return group;
}

CarrierRequest RandomCarriers(std::mt19937* random) {
  constexpr std::array<const char*, 7> kNames = {"BPSK",  "QPSK",       "8PSK",          "64QAM",
                                                 "16QAM", "16APSK 3/4", "64APSK 128/180"};
  constexpr std::array<v1::SampleFormat, 3> kFormats = {
      v1::SAMPLE_FORMAT_FLOAT32, v1::SAMPLE_FORMAT_FLOAT16, v1::SAMPLE_FORMAT_INT16};
  CarrierRequest request;
  const int groups = Pick(random, 1, 3);
  for (int g = 0; g < groups; ++g) {
    FrameSpec spec;
    spec.constellation = *carrier::Constellation::FromName(
        kNames[static_cast<size_t>(Pick(random, 0, static_cast<int>(kNames.size()) - 1))]);
    spec.num_symbols = Pick(random, 3000, 9000);
    spec.snr_db = spec.constellation->operating_snr_db() + 6;
    spec.gain = 0.5 + 0.1 * Pick(random, 0, 9);
    spec.seed = (*random)();
    const int count = Pick(random, 1, 3);
    const v1::SampleFormat format = kFormats[static_cast<size_t>(Pick(random, 0, 2))];
    const bool is_sampled = Pick(random, 0, 2) == 0;
    spec = WithRandomOffset(spec, 0.02);
    TimingSpec timing;
    timing.constellation = spec.constellation;
    timing.frequency = spec.frequency;
    timing.phase = spec.phase;
    timing.gain = spec.gain;
    timing.snr_db = spec.snr_db;
    timing.seed = spec.seed;
    timing.offset = 0.01 * Pick(random, 10, 90);
    timing.clock_error = 1e-6 * Pick(random, -90, 90);
    v1::CarrierGroup& group =
        is_sampled ? AddSampledFrames(timing, spec.num_symbols, count, format, &request)
                   : AddFrames(spec, count, format, &request);
    group.set_reference(static_cast<v1::PhaseReference>(Pick(random, 0, 3)));
    group.set_corrected(Pick(random, 0, 1) == 1);
  }
  return request;
}

std::string CheckCarriers(const CarrierRequest& request,
                          const v1::RecoverCarrierResponse& response) {
  if (response.frames_size() != static_cast<int>(request.frames.size())) {
    return absl::StrCat(response.frames_size(), " results for ", request.frames.size(), " frames");
  }
  if (response.timings_size() != static_cast<int>(request.timings.size())) {
    return absl::StrCat(response.timings_size(), " timings for ", request.timings.size(),
                        " frames");
  }
  int frame = 0;
  int timing = 0;
  for (const v1::CarrierGroup& group : request.message.groups()) {
    for (uint32_t i = 0; i < group.count(); ++i, ++frame) {
      const FrameSpec& sent = request.frames[static_cast<size_t>(frame)];
      const v1::CarrierResult& got = response.frames(frame);
      const std::string what = absl::StrCat(sent.constellation->name(), ", ", sent.num_symbols,
                                            " symbols, seed ", sent.seed, ": ");
      if (group.has_timing()) {
        const std::string wrong = CheckTiming(request.timings[static_cast<size_t>(timing)],
                                              sent.num_symbols, response.timings(timing));
        if (!wrong.empty()) return absl::StrCat(what, wrong);
        ++timing;
      }
      if (got.lock() != v1::CARRIER_LOCK_LOCKED) {
        return absl::StrCat(what, v1::CarrierLock_Name(got.lock()));
      }
      if (!(std::abs(got.frequency() - sent.frequency) <
            kDeviations * got.frequency_stddev() + kRounding / sent.num_symbols)) {
        return absl::StrCat(what, "frequency ", got.frequency(), " +- ", got.frequency_stddev(),
                            " instead of ", sent.frequency);
      }
      const double phase = sent.phase + 2.0 * M_PI * sent.frequency *
                                            ReferenceSymbol(group.reference(), sent.num_symbols);
      if (!(std::abs(WrappedDifference(got.phase(), phase, 2.0 * M_PI / got.ambiguity())) <
            kDeviations * got.phase_stddev() + kRounding)) {
        return absl::StrCat(what, "phase ", got.phase(), " +- ", got.phase_stddev(), " instead of ",
                            phase);
      }
    }
  }
  return "";
}

grpc::Status Call(v1::Baseband::Stub& stub, const v1::RecoverCarrierRequest& request,
                  v1::RecoverCarrierResponse* response, absl::Duration timeout) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);  // many clients that connect at once
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  return stub.RecoverCarrier(&context, request, response);
}

}  // namespace baseband::testing
