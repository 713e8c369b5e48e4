#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/carrier/constellation.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/random_requests.h"
#include "tests/support/timing_frames.h"

namespace baseband::testing {
namespace {

constexpr int kMaxGroups = 3;
constexpr int kMaxSymbols = 3000;
constexpr int kMaxSampledSymbols = 600;  // by direct sums, at up to 16 samples each

// Points on rings, turned at random, so that every symmetry occurs; or anywhere.
std::vector<carrier::Iq> OwnPoints(Random& random) {
  std::vector<carrier::Iq> points;
  const int rings = OneIn(4, random) ? 0 : 1 + random.Below(3);
  const int of_ring = 2 + random.Below(12);
  for (int ring = 1; ring <= rings; ++ring) {
    const double turn = random.Uniform();
    for (int i = 0; i < of_ring; ++i) {
      const double angle = 2 * M_PI * (i + turn) / of_ring;
      points.push_back(
          {static_cast<float>(ring * std::cos(angle)), static_cast<float>(ring * std::sin(angle))});
    }
  }
  for (int i = rings == 0 ? 2 + random.Below(15) : 0; i > 0; --i) {
    points.push_back({static_cast<float>(random.Normal()), static_cast<float>(random.Normal())});
  }
  return points;
}

carrier::ConstellationPtr SetConstellation(Random& random, v1::Constellation* message) {
  if (OneIn(5, random)) {
    const std::vector<carrier::Iq> points = OwnPoints(random);
    for (const carrier::Iq& point : points) {
      message->add_points(point.i);
      message->add_points(point.q);
    }
    return *carrier::Constellation::FromPoints(points);
  }
  const std::vector<std::string>& names = carrier::ConstellationNames();
  message->set_name(names[static_cast<size_t>(random.Below(static_cast<int>(names.size())))]);
  return *carrier::Constellation::FromName(message->name());
}

void SetKnown(const CarrierFrame& frame, Random& random, v1::KnownSymbols* known) {
  const auto count = static_cast<int>(frame.sent.size());
  const int step = SomeCount(std::max(1, count / 8), random);
  for (int n = random.Below(step); n < count; n += step) {
    known->add_positions(static_cast<uint32_t>(n));
    known->add_values(frame.sent[static_cast<size_t>(n)].i);
    known->add_values(frame.sent[static_cast<size_t>(n)].q);
  }
}

// Half of the options stay at their defaults.
void SetOptions(int symmetry, Random& random, v1::CarrierGroup* group) {
  group->set_coarse(
      OneOf({v1::COARSE_METHOD_UNSPECIFIED, v1::COARSE_METHOD_NONE, v1::COARSE_METHOD_POWER,
             group->has_known() ? v1::COARSE_METHOD_KNOWN_SYMBOLS : v1::COARSE_METHOD_POWER},
            random));
  if (OneIn(6, random)) {  // others leave no line more often than not
    group->set_power(static_cast<uint32_t>(std::min(64, symmetry * (1 + random.Below(3)))));
  }
  group->set_amplitude(static_cast<v1::AmplitudeWeight>(random.Below(4)));
  if (OneIn(3, random)) group->set_max_frequency(LogBetween(1e-4, 0.5 / 64, random));
  if (OneIn(3, random)) {
    group->set_expected_snr_db(static_cast<float>(Between(-30.0, 60.0, random)));
  }
  group->set_fine(static_cast<v1::FineMethod>(random.Below(6)));
  if (group->fine() == v1::FINE_METHOD_SWEEP || OneIn(5, random)) {
    v1::SweepOptions& sweep = *group->mutable_sweep();
    sweep.set_range(LogBetween(1e-6, 1e-3, random));
    sweep.set_step(sweep.range() / Between(1.0, 50.0, random));
    sweep.set_guard_bins(static_cast<uint32_t>(random.Below(17)));
    sweep.set_interpolate(OneIn(2, random));
  }
  if (group->fine() == v1::FINE_METHOD_PLL && OneIn(2, random)) {
    group->mutable_pll()->set_bandwidth(static_cast<float>(LogBetween(1e-4, 0.4, random)));
    group->mutable_pll()->set_damping(static_cast<float>(Between(0.1, 10.0, random)));
  }
  group->set_reference(static_cast<v1::PhaseReference>(random.Below(4)));
  group->set_corrected(OneIn(2, random));
  const bool has_curve =
      group->coarse() != v1::COARSE_METHOD_NONE || group->fine() == v1::FINE_METHOD_SWEEP;
  group->set_curve(OneIn(3, random) && has_curve);
  if (OneIn(2, random)) group->set_symbol_rate_hz(LogBetween(1.0, 1e9, random));
}

carrier::SampleFormat FormatOf(v1::SampleFormat format) {
  return format == v1::SAMPLE_FORMAT_INT16     ? carrier::SampleFormat::kInt16
         : format == v1::SAMPLE_FORMAT_FLOAT16 ? carrier::SampleFormat::kFloat16
                                               : carrier::SampleFormat::kFloat32;
}

// A frame of samples.
struct Sampled {
  TimingSpec spec;
  timing::Parameters timing;
};

Sampled RandomSamples(const FrameSpec& frame, Random& random) {
  constexpr int kRates[][2] = {{2, 1}, {4, 1}, {5, 2}, {16, 1}, {7, 3}};
  Sampled sampled;
  const auto& rate = kRates[random.Below(5)];
  sampled.spec.shape.samples = rate[0];
  sampled.spec.shape.symbols = rate[1];
  sampled.spec.shape.rolloff = OneIn(2, random) ? 0.2 : Between(0.05, 1.0, random);
  if (sampled.spec.shape.rolloff >= 0.2 && OneIn(3, random)) {
    sampled.spec.shape.taps =
        StraightEdgeTaps(sampled.spec.shape.rolloff, 2 + random.Below(3), 8 + random.Below(8));
  }
  if (OneIn(2, random)) {
    sampled.timing.max_clock_error = OneIn(4, random) ? 0.0 : LogBetween(1e-6, 1e-3, random);
  }
  sampled.spec.num_samples =
      timing::SamplesFor(sampled.spec.shape, sampled.timing, frame.num_symbols);
  sampled.spec.offset = random.Uniform();
  sampled.spec.clock_error = sampled.timing.max_clock_error * Between(-1.0, 1.0, random);
  sampled.spec.constellation = frame.constellation;
  sampled.spec.frequency = frame.frequency;
  sampled.spec.phase = frame.phase;
  sampled.spec.gain = frame.gain;
  sampled.spec.snr_db = frame.snr_db;
  return sampled;
}

void SetTiming(const Sampled& sampled, Random& random, v1::CarrierGroup* group) {
  v1::SymbolTiming& message = *group->mutable_timing();
  const int times = 1 + random.Below(3);  // a fraction need not be in lowest terms
  const timing::PulseShape& shape = sampled.spec.shape;
  message.set_samples_per_symbol_numerator(static_cast<uint32_t>(times * shape.samples));
  message.set_samples_per_symbol_denominator(static_cast<uint32_t>(times * shape.symbols));
  message.set_roll_off(shape.rolloff);
  if (shape.taps != nullptr) {
    message.mutable_taps()->Add(shape.taps->values.begin(), shape.taps->values.end());
    message.set_taps_per_symbol(static_cast<uint32_t>(shape.taps->per_symbol));
  }
  if (sampled.timing.max_clock_error != timing::Parameters().max_clock_error || OneIn(2, random)) {
    message.set_max_clock_error(sampled.timing.max_clock_error);
  }
  group->set_frame_samples(static_cast<uint32_t>(sampled.spec.num_samples));
  group->clear_frame_symbols();
}

void AddGroup(Random& random, v1::RecoverCarrierRequest* request) {
  v1::CarrierGroup& group = *request->add_groups();
  const carrier::ConstellationPtr sent_as = SetConstellation(random, group.mutable_constellation());
  FrameSpec spec;
  spec.constellation = OneIn(20, random) ? *carrier::Constellation::FromName("QPSK") : sent_as;
  const bool is_sampled = OneIn(4, random);
  spec.num_symbols = std::max(16, SomeCount(is_sampled ? kMaxSampledSymbols : kMaxSymbols, random));
  spec.seed = random.Next();
  spec.gain = LogBetween(0.05, 2.0, random);
  const double operating = OneIn(5, random) ? 12.0 : sent_as->operating_snr_db();
  spec.snr_db = OneIn(20, random) ? kNoNoise : operating + Between(-4.0, 12.0, random);
  const double most = 0.5 / sent_as->symmetry();
  spec = WithRandomOffset(spec, OneIn(2, random) ? most : LogBetween(1e-6, most, random));
  Sampled sampled;
  if (is_sampled) sampled = RandomSamples(spec, random);
  const auto make = [&] {
    if (!is_sampled) return MakeFrame(spec);
    sampled.spec.seed = spec.seed;
    TimingSamples made = MakeSamples(sampled.spec);
    made.sent.resize(static_cast<size_t>(spec.num_symbols));  // there may be one more
    return CarrierFrame{std::move(made.samples), std::move(made.sent), {}};
  };
  CarrierFrame frame = make();

  group.set_count(static_cast<uint32_t>(1 + random.Below(3)));
  group.set_frame_symbols(static_cast<uint32_t>(spec.num_symbols));
  group.set_format(static_cast<v1::SampleFormat>(random.Below(4)));
  if (OneIn(3, random)) SetKnown(frame, random, group.mutable_known());
  SetOptions(sent_as->symmetry(), random, &group);
  if (is_sampled) SetTiming(sampled, random, &group);
  const bool is_int16 = group.format() == v1::SAMPLE_FORMAT_INT16;
  if (is_int16 || OneIn(3, random)) {
    // No int16 saturates, and no float16 is lost.
    group.set_scale(static_cast<float>(is_int16 ? LogBetween(5e-4, 5e-3, random)
                                                : LogBetween(0.01, 100.0, random)));
  }
  const double scale = group.scale() == 0.0F ? 1.0 : static_cast<double>(group.scale());
  for (uint32_t f = 0; f < group.count(); ++f) {
    if (OneIn(30, random)) std::fill(frame.symbols.begin(), frame.symbols.end(), carrier::Iq());
    const std::vector<uint8_t> samples = ToSamples(frame.symbols, FormatOf(group.format()), scale);
    request->mutable_payload()->append(samples.begin(), samples.end());
    ++spec.seed;  // the known symbols of the others are wrong, which happens
    if (!group.has_known()) frame = make();
  }
}

}  // namespace

v1::RecoverCarrierRequest RandomRecoverCarrierRequest(Random& random) {
  v1::RecoverCarrierRequest request;
  for (int g = 1 + random.Below(kMaxGroups); g > 0; --g) AddGroup(random, &request);
  return request;
}

}  // namespace baseband::testing
