#include "tests/gpu/timing_gpu_fixture.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/carrier/recover_gpu.h"
#include "tests/support/status_matchers.h"

namespace baseband::timing {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::TimingSpec;
using ::baseband::testing::ToDevice;
using ::baseband::testing::ToHost;
using carrier::Iq;

constexpr uint8_t kGuard = 0xa5;    // fills the outputs before a launch
constexpr size_t kGuardBytes = 12;  // between two frames' outputs: 4 mod 8, so that places shift

// The devices add up in another order, and a GPU's filters are those of a run's middle: both far
// below the noise (timing_gpu.h).
constexpr double kStddevs = 0.1;
// Of the curve's line: before the refinement the devices have the same places, and symbols differ
// by what lies between a run's row and the place, times the power that takes the modulation off.
constexpr float kLineOff = 5e-3F;

bool IsGuard(uint8_t b) { return b == kGuard; }

}  // namespace

Receiver MakeReceiver(const std::string& constellation, const PulseShape& shape) {
  Receiver receiver;
  const auto points = carrier::Constellation::FromName(constellation);
  EXPECT_THAT(points, IsOk());
  const auto model = carrier::Model::Create(*points, carrier::Amplitude::kWeighted, 0);
  EXPECT_THAT(model, IsOk());
  receiver.model = *model;
  const auto pulse = Pulse::Create(shape);
  EXPECT_THAT(pulse, IsOk());
  receiver.pulse = *pulse;
  receiver.carrier.want_corrected = true;
  receiver.carrier.want_curve = true;
  return receiver;
}

TimingSpec SpecOf(const Receiver& receiver, int64_t num_symbols, uint64_t seed, double above_db) {
  TimingSpec spec;
  spec.constellation = *carrier::Constellation::FromName(receiver.model->constellation().name());
  spec.shape = receiver.pulse->shape();
  spec.num_samples = receiver.SamplesFor(num_symbols);
  spec.gain = 0.7;
  spec.snr_db = receiver.model->constellation().operating_snr_db() + above_db;
  spec.seed = seed;
  return testing::WithRandomTiming(spec, 0.9 * receiver.parameters.max_clock_error,
                                   std::min(0.1, 0.8 * receiver.model->max_frequency()));
}

SampleFrame ToFrame(const Receiver& receiver, const TimingSpec& spec) {
  const testing::TimingSamples made = testing::MakeSamples(spec);
  SampleFrame frame;
  frame.num_samples = spec.num_samples;
  frame.samples = testing::ToSamples(made.samples, receiver.carrier.format,
                                     static_cast<double>(receiver.carrier.scale));
  return frame;
}

SampleFrame FrameOf(const Receiver& receiver, int64_t num_symbols, uint64_t seed, double above_db) {
  return ToFrame(receiver, SpecOf(receiver, num_symbols, seed, above_db));
}

Answer RecoverOne(const Receiver& receiver, const SampleFrame& frame) {
  Answer answer;
  const int64_t num_symbols = receiver.SymbolsOf(frame.num_samples);
  if (receiver.carrier.want_corrected) {
    answer.corrected.resize(static_cast<size_t>(num_symbols) *
                            static_cast<size_t>(carrier::BytesPerSymbol(receiver.carrier.format)));
  }
  answer.curve.resize(static_cast<size_t>(
      carrier::CurveOf(*receiver.model, receiver.carrier, static_cast<int>(num_symbols))
          .num_points));
  answer.found = RecoverOnCpu(*receiver.model, receiver.carrier, *receiver.pulse,
                              receiver.parameters, frame.samples, frame.known,
                              absl::MakeSpan(answer.corrected), absl::MakeSpan(answer.curve));
  return answer;
}

DeviceBatch::DeviceBatch(const Receiver& receiver, const std::vector<SampleFrame>& frames,
                         int64_t workspace_bytes)
    : receiver_(receiver) {
  Bytes samples;
  std::vector<Iq> known;
  size_t output_bytes = 0;
  for (const SampleFrame& frame : frames) {
    TimingFrame descriptor;
    samples.resize((samples.size() + 3) / 4 * 4 + 4);  // any multiple of 4
    descriptor.samples_offset = static_cast<uint32_t>(samples.size());
    samples.insert(samples.end(), frame.samples.begin(), frame.samples.end());
    descriptor.num_samples = static_cast<uint32_t>(frame.num_samples);
    descriptor.known_offset = carrier::kNoKnown;
    if (!frame.known.empty()) {
      descriptor.known_offset = static_cast<uint32_t>(known.size() * sizeof(Iq));
      known.insert(known.end(), frame.known.begin(), frame.known.end());
    }
    lengths_.push_back(descriptor.num_samples);
    curve_points_.push_back(static_cast<size_t>(
        carrier::CurveOf(*receiver.model, receiver.carrier,
                         static_cast<int>(receiver.SymbolsOf(frame.num_samples)))
            .num_points));
    descriptor.corrected_offset = static_cast<uint32_t>(output_bytes);
    output_bytes += CorrectedBytes(lengths_.size() - 1) + kGuardBytes;
    descriptor.curve_offset = static_cast<uint32_t>(output_bytes);
    output_bytes += 4 * curve_points_.back() + kGuardBytes;
    descriptor.result_index = static_cast<uint32_t>(frames.size() - 1 - descriptors_.size());
    descriptors_.push_back(descriptor);
  }
  frames_ = ToDevice(descriptors_);
  samples_ = ToDevice(samples);
  known_ = ToDevice(known, 1);
  output_ = ToDevice(Bytes(output_bytes, kGuard));
  std::vector<Result> results(frames.size());
  std::vector<carrier::Result> carrier_results(frames.size());
  std::memset(static_cast<void*>(results.data()), kGuard, results.size() * sizeof(Result));
  std::memset(static_cast<void*>(carrier_results.data()), kGuard,
              carrier_results.size() * sizeof(carrier::Result));
  results_ = ToDevice(results);
  carrier_results_ = ToDevice(carrier_results);
  if (workspace_bytes == 0) {
    workspace_bytes = WorkspaceBytes(receiver.carrier, *receiver.pulse, receiver.parameters,
                                     lengths_.back(), static_cast<int64_t>(frames.size()));
  }
  workspace_ = ToDevice(Bytes(static_cast<size_t>(workspace_bytes), 0xff));
  batch_.model = receiver_.model.get();
  batch_.pulse = receiver_.pulse.get();
  batch_.carrier = receiver_.carrier;
  batch_.parameters = receiver_.parameters;
  batch_.frames = frames_.data();
  batch_.lengths = lengths_;
  batch_.samples = samples_.data();
  batch_.known = reinterpret_cast<const uint8_t*>(known_.data());
  batch_.output = output_.data();
  batch_.results = results_.data();
  batch_.carrier_results = carrier_results_.data();
  batch_.workspace = workspace_.data();
  batch_.workspace_bytes = workspace_bytes;
}

size_t DeviceBatch::CorrectedBytes(size_t frame) const {
  if (!receiver_.carrier.want_corrected) return 0;
  return static_cast<size_t>(receiver_.SymbolsOf(lengths_[frame])) *
         static_cast<size_t>(carrier::BytesPerSymbol(receiver_.carrier.format));
}

std::vector<Answer> DeviceBatch::Answers() const {
  const std::vector<Result> results = ToHost(results_);
  const std::vector<carrier::Result> carrier_results = ToHost(carrier_results_);
  const Bytes output = ToHost(output_);
  std::vector<Answer> answers;
  for (size_t i = 0; i < descriptors_.size(); ++i) {
    const TimingFrame& descriptor = descriptors_[i];
    Answer answer;
    answer.found = {results[descriptor.result_index], carrier_results[descriptor.result_index]};
    const auto corrected = output.begin() + descriptor.corrected_offset;
    const auto corrected_end = corrected + static_cast<std::ptrdiff_t>(CorrectedBytes(i));
    answer.corrected.assign(corrected, corrected_end);
    answer.curve.resize(curve_points_[i]);
    std::memcpy(answer.curve.data(), output.data() + descriptor.curve_offset, 4 * curve_points_[i]);
    const auto curve_end = output.begin() + descriptor.curve_offset +
                           static_cast<std::ptrdiff_t>(4 * curve_points_[i]);
    EXPECT_TRUE(std::all_of(corrected_end, output.begin() + descriptor.curve_offset, IsGuard))
        << "written past the corrected symbols of frame " << i;
    EXPECT_TRUE(std::all_of(curve_end, curve_end + kGuardBytes, IsGuard))
        << "written past the curve of frame " << i;
    answers.push_back(std::move(answer));
  }
  return answers;
}

bool DeviceBatch::IsUntouched() const {
  const auto untouched = [](const auto& values) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(values.data());
    return std::all_of(bytes, bytes + values.size() * sizeof(values[0]), IsGuard);
  };
  return untouched(ToHost(results_)) && untouched(ToHost(carrier_results_)) &&
         untouched(ToHost(output_));
}

std::vector<Answer> RecoverOnGpu(const Receiver& receiver, const std::vector<SampleFrame>& frames,
                                 int64_t workspace_bytes) {
  EXPECT_THAT(PrepareTiming(), IsOk());
  DeviceBatch batch(receiver, frames, workspace_bytes);
  EXPECT_THAT(LaunchTiming(batch.batch(), cudaStreamPerThread), IsOk());
  return batch.Answers();
}

bool ExpectNear(const Receiver& receiver, const Answer& gpu, const Answer& cpu,
                int64_t num_samples) {
  const Result& g = gpu.found.timing;
  const Result& c = cpu.found.timing;
  EXPECT_EQ(g.bad_samples, c.bad_samples);
  EXPECT_EQ(static_cast<int>(g.lock), static_cast<int>(c.lock)) << g.line << " " << c.line;
  EXPECT_EQ(gpu.found.carrier.bad_symbols, cpu.found.carrier.bad_symbols);
  EXPECT_EQ(static_cast<int>(gpu.found.carrier.lock), static_cast<int>(cpu.found.carrier.lock));
  if (c.bad_samples != 0 || c.lock != Lock::kLocked || g.lock != Lock::kLocked) return false;
  EXPECT_EQ(g.refined, c.refined);
  EXPECT_NEAR(g.offset, c.offset, kStddevs * static_cast<double>(c.offset_stddev));
  EXPECT_NEAR(g.clock_error, c.clock_error,
              kStddevs * static_cast<double>(c.clock_error_stddev) + 1e-15);
  EXPECT_NEAR(g.centre_stddev / c.centre_stddev, 1.0F, 0.01F);
  EXPECT_NEAR(g.offset_stddev / c.offset_stddev, 1.0F, 0.01F);
  if (c.clock_error_stddev > 0.0F) {
    EXPECT_NEAR(g.clock_error_stddev / c.clock_error_stddev, 1.0F, 0.01F);
  } else {
    EXPECT_EQ(g.clock_error_stddev, 0.0F);
  }
  EXPECT_NEAR(g.line / c.line, 1.0F, 0.01F);
  EXPECT_NEAR(g.spectrum_centre, c.spectrum_centre, 1e-3F);
  const carrier::Result& g_carrier = gpu.found.carrier;
  const carrier::Result& c_carrier = cpu.found.carrier;
  if (c_carrier.lock != carrier::Lock::kLocked) return true;
  const auto num_symbols = static_cast<int>(receiver.SymbolsOf(num_samples));
  EXPECT_NEAR(g_carrier.frequency, c_carrier.frequency,
              kStddevs * static_cast<double>(c_carrier.frequency_stddev) + 1e-6 / num_symbols);
  EXPECT_LE(std::fabs(testing::WrappedDifference(g_carrier.phase, c_carrier.phase,
                                                 2 * M_PI / c_carrier.ambiguity)),
            kStddevs * static_cast<double>(c_carrier.phase_stddev) + 4e-6);
  EXPECT_NEAR(g_carrier.gain / c_carrier.gain, 1.0F, 1e-3F);
  const float greatest =
      cpu.curve.empty() ? 0.0F : *std::max_element(cpu.curve.begin(), cpu.curve.end());
  for (size_t i = 0; i < cpu.curve.size(); ++i) {
    const float off =
        2.0F * kLineOff * std::sqrt(cpu.curve[i] * greatest) + kLineOff * kLineOff * greatest;
    EXPECT_NEAR(gpu.curve[i], cpu.curve[i], off) << "point " << i;
  }
  EXPECT_EQ(gpu.corrected.size(), cpu.corrected.size());
  if (!receiver.carrier.want_corrected || gpu.corrected.size() != cpu.corrected.size()) return true;
  double difference = 0.0;
  double power = 0.0;
  for (int n = 0; n < num_symbols; ++n) {
    const Iq a = carrier::ReadSymbol(receiver.carrier, gpu.corrected.data(), n);
    const Iq b = carrier::ReadSymbol(receiver.carrier, cpu.corrected.data(), n);
    difference += std::hypot(a.i - b.i, a.q - b.q);
    power += std::hypot(b.i, b.q);
  }
  EXPECT_LT(difference / power, 1e-3);
  return true;
}

std::vector<Answer> CompareAll(const Receiver& receiver, const std::vector<SampleFrame>& frames,
                               size_t least_locked) {
  std::vector<Answer> gpu = RecoverOnGpu(receiver, frames);
  size_t locked = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    SCOPED_TRACE("frame " + std::to_string(i) + " of " + std::to_string(frames[i].num_samples));
    locked += ExpectNear(receiver, gpu[i], RecoverOne(receiver, frames[i]), frames[i].num_samples)
                  ? 1
                  : 0;
  }
  EXPECT_GE(locked, least_locked);
  return gpu;
}

void ExpectSame(const Answer& a, const Answer& b) {
  EXPECT_EQ(std::memcmp(&a.found.timing, &b.found.timing, offsetof(Result, reserved)), 0);
  EXPECT_EQ(std::memcmp(&a.found.carrier.frequency, &b.found.carrier.frequency, 3 * sizeof(double)),
            0);
  EXPECT_EQ(a.found.carrier.lock, b.found.carrier.lock);
  EXPECT_EQ(a.corrected, b.corrected);
  EXPECT_EQ(a.curve, b.curve);
}

}  // namespace baseband::timing
