#include "tests/gpu/carrier_gpu_fixture.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::CarrierFrame;
using ::baseband::testing::FrameSpec;
using ::baseband::testing::IsOk;
using ::baseband::testing::Pilots;
using ::baseband::testing::ToDevice;
using ::baseband::testing::ToHost;

constexpr uint8_t kGuard = 0xa5;    // fills the output before a launch
constexpr size_t kGuardBytes = 12;  // between two frames' outputs: 4 mod 8, so that places shift

double PhaseOff(const Result& a, const Result& b) {
  return std::fabs(testing::WrappedDifference(a.phase, b.phase, 2 * M_PI / b.ambiguity));
}

// The devices add up in another order, and their sines differ by 2e-7: far below the noise of any
// estimate. But a step that is just below kLastStep on one of them and just above on the other ends
// the rounds of one a round earlier: the bound of recover_gpu.h.
constexpr double kStddevs = 0.1;

}  // namespace

ModelPtr MakeModel(ConstellationPtr constellation, int power) {
  const auto model = Model::Create(std::move(constellation), Amplitude::kWeighted, power);
  EXPECT_THAT(model, IsOk());
  return *model;
}
ModelPtr MakeModel(const std::string& name) {
  const auto constellation = Constellation::FromName(name);
  EXPECT_THAT(constellation, IsOk());
  return MakeModel(*constellation);
}

FrameSpec SpecAbove(ConstellationPtr constellation, int num_symbols, double above_db,
                    uint64_t seed) {
  FrameSpec spec;
  spec.snr_db = constellation->operating_snr_db() + above_db;
  spec.constellation = std::move(constellation);
  spec.num_symbols = num_symbols;
  spec.gain = 0.7;
  spec.seed = seed;
  return spec;
}

Frame ToFrame(const Parameters& parameters, const CarrierFrame& made) {
  return {
      testing::ToSamples(made.symbols, parameters.format, static_cast<double>(parameters.scale)),
      made.known, static_cast<int>(made.symbols.size())};
}

Frame FrameOf(const Model& model, const Parameters& parameters, int num_symbols, uint64_t seed,
              Pilots pilots, double above_db) {
  FrameSpec spec = SpecAbove(*Constellation::FromName(model.constellation().name()), num_symbols,
                             above_db, seed);
  spec.pilots = pilots;
  const double range =
      parameters.coarse == Coarse::kNone ? 0.1 / num_symbols : 0.8 * model.max_frequency();
  spec = testing::WithRandomOffset(spec, range);
  return ToFrame(parameters, testing::MakeFrame(spec));
}

Recovered RecoverOne(const Model& model, const Parameters& parameters, const Frame& frame) {
  Recovered recovered;
  if (parameters.want_corrected) recovered.corrected.resize(frame.symbols.size());
  const Curve curve = CurveOf(model, parameters, frame.num_symbols);
  recovered.curve.resize(static_cast<size_t>(curve.num_points));
  recovered.result =
      RecoverOnCpu(model, parameters, frame.symbols, frame.known,
                   absl::MakeSpan(recovered.corrected), absl::MakeSpan(recovered.curve));
  return recovered;
}

std::vector<Recovered> RecoverOnGpu(const Model& model, const Parameters& parameters,
                                    const std::vector<Frame>& frames, int64_t workspace_bytes) {
  EXPECT_THAT(PrepareRecover(), IsOk());
  std::vector<RecoverFrame> descriptors;
  std::vector<uint32_t> lengths;
  Bytes symbols;
  std::vector<Iq> known;
  size_t output_bytes = 0;
  std::vector<size_t> curve_points;
  for (const Frame& frame : frames) {
    RecoverFrame descriptor;
    symbols.resize((symbols.size() + 3) / 4 * 4 + 4);  // any multiple of 4
    descriptor.symbols_offset = static_cast<uint32_t>(symbols.size());
    symbols.insert(symbols.end(), frame.symbols.begin(), frame.symbols.end());
    descriptor.num_symbols = static_cast<uint32_t>(frame.num_symbols);
    descriptor.known_offset = kNoKnown;
    if (!frame.known.empty()) {
      descriptor.known_offset = static_cast<uint32_t>(known.size() * sizeof(Iq));
      known.insert(known.end(), frame.known.begin(), frame.known.end());
    }
    curve_points.push_back(
        static_cast<size_t>(CurveOf(model, parameters, frame.num_symbols).num_points));
    descriptor.corrected_offset = static_cast<uint32_t>(output_bytes);
    if (parameters.want_corrected) output_bytes += frame.symbols.size();
    output_bytes += kGuardBytes;
    descriptor.curve_offset = static_cast<uint32_t>(output_bytes);
    output_bytes += 4 * curve_points.back() + kGuardBytes;
    descriptor.result_index = static_cast<uint32_t>(frames.size() - 1 - descriptors.size());
    descriptors.push_back(descriptor);
    lengths.push_back(descriptor.num_symbols);
  }
  const auto device_frames = ToDevice(descriptors);
  const auto device_symbols = ToDevice(symbols);
  const auto device_known = ToDevice(known, 1);
  const auto device_output = ToDevice(Bytes(output_bytes, kGuard));
  const auto device_results = ToDevice(std::vector<Result>(frames.size()));
  if (workspace_bytes == 0) {
    workspace_bytes = RecoverWorkspaceBytes(parameters, static_cast<int>(lengths.back()),
                                            static_cast<int64_t>(frames.size()));
  }
  const auto workspace = ToDevice(Bytes(static_cast<size_t>(workspace_bytes), 0xff));
  RecoverBatch batch;
  batch.model = &model;
  batch.parameters = parameters;
  batch.frames = device_frames.data();
  batch.lengths = lengths;
  batch.symbols = device_symbols.data();
  batch.known = reinterpret_cast<const uint8_t*>(device_known.data());
  batch.output = device_output.data();
  batch.results = device_results.data();
  batch.workspace = workspace.data();
  batch.workspace_bytes = workspace_bytes;
  EXPECT_THAT(LaunchRecover(batch, cudaStreamPerThread), IsOk());

  const std::vector<Result> results = ToHost(device_results);
  const Bytes output = ToHost(device_output);
  std::vector<Recovered> recovered;
  for (size_t i = 0; i < frames.size(); ++i) {
    const RecoverFrame& descriptor = descriptors[i];
    Recovered one;
    one.result = results[descriptor.result_index];
    const auto corrected = output.begin() + descriptor.corrected_offset;
    const size_t bytes = parameters.want_corrected ? frames[i].symbols.size() : 0;
    one.corrected.assign(corrected, corrected + static_cast<std::ptrdiff_t>(bytes));
    one.curve.resize(curve_points[i]);
    std::memcpy(one.curve.data(), output.data() + descriptor.curve_offset, 4 * curve_points[i]);
    const auto is_guard = [](uint8_t b) { return b == kGuard; };
    const auto curve_end =
        output.begin() + descriptor.curve_offset + static_cast<std::ptrdiff_t>(4 * curve_points[i]);
    EXPECT_TRUE(std::all_of(corrected + static_cast<std::ptrdiff_t>(bytes),
                            output.begin() + descriptor.curve_offset, is_guard))
        << "written past the corrected symbols of frame " << i;
    EXPECT_TRUE(std::all_of(curve_end, curve_end + kGuardBytes, is_guard))
        << "written past the curve of frame " << i;
    recovered.push_back(std::move(one));
  }
  return recovered;
}

void ExpectNear(const Recovered& gpu, const Recovered& cpu, const Parameters& parameters,
                int num_symbols) {
  const Result& g = gpu.result;
  const Result& c = cpu.result;
  ASSERT_EQ(g.bad_symbols, c.bad_symbols);
  EXPECT_EQ(g.lock, c.lock) << static_cast<int>(g.lock) << " is not " << static_cast<int>(c.lock)
                            << ", fit " << g.fit << " " << c.fit;
  if (c.bad_symbols != 0 || c.lock != Lock::kLocked) return;
  // Rounding of the frame's last symbol, for estimates whose standard deviation is tiny.
  const double frequency_floor = 1e-6 / num_symbols;
  const double phase_floor = 4e-6;
  EXPECT_NEAR(g.frequency, c.frequency,
              kStddevs * static_cast<double>(c.frequency_stddev) + frequency_floor);
  EXPECT_LE(PhaseOff(g, c), kStddevs * static_cast<double>(c.phase_stddev) + phase_floor);
  EXPECT_NEAR(g.coarse_frequency, c.coarse_frequency, 1e-4 / num_symbols);
  EXPECT_NEAR(g.frequency_stddev / c.frequency_stddev, 1.0F, 0.01F);
  EXPECT_NEAR(g.phase_stddev / c.phase_stddev, 1.0F, 0.01F);
  EXPECT_NEAR(g.gain / c.gain, 1.0F, 1e-3F);
  EXPECT_NEAR(g.snr_db, c.snr_db, 0.01F);
  EXPECT_NEAR(g.evm / c.evm, 1.0F, 1e-3F);
  EXPECT_NEAR(g.peak_ratio / std::max(c.peak_ratio, 1e-6F), c.peak_ratio > 0.0F ? 1.0F : 0.0F,
              0.01F);
  EXPECT_NEAR(g.fit, c.fit, 1e-3F * std::fabs(c.fit) + 0.1F);
  EXPECT_EQ(g.ambiguity, c.ambiguity);
  EXPECT_EQ(g.resolved, c.resolved);
  ASSERT_EQ(gpu.curve.size(), cpu.curve.size());
  const float greatest =
      cpu.curve.empty() ? 0.0F : *std::max_element(cpu.curve.begin(), cpu.curve.end());
  for (size_t i = 0; i < cpu.curve.size(); ++i) {
    ASSERT_NEAR(gpu.curve[i], cpu.curve[i], 1e-3F * cpu.curve[i] + 1e-5F * greatest) << i;
  }
  if (!parameters.want_corrected) return;
  double difference = 0.0;
  double power = 0.0;
  for (int n = 0; n < num_symbols; ++n) {
    const Iq a = ReadSymbol(parameters, gpu.corrected.data(), n);
    const Iq b = ReadSymbol(parameters, cpu.corrected.data(), n);
    difference += std::hypot(a.i - b.i, a.q - b.q);
    power += std::hypot(b.i, b.q);
  }
  EXPECT_LT(difference / power, parameters.format == SampleFormat::kFloat32 ? 2e-4 : 2e-3);
}

std::vector<Recovered> CompareAll(const Model& model, const Parameters& parameters,
                                  const std::vector<Frame>& frames) {
  const std::vector<Recovered> gpu = RecoverOnGpu(model, parameters, frames);
  for (size_t i = 0; i < frames.size(); ++i) {
    SCOPED_TRACE("frame " + std::to_string(i) + " of " + std::to_string(frames[i].num_symbols));
    ExpectNear(gpu[i], RecoverOne(model, parameters, frames[i]), parameters, frames[i].num_symbols);
  }
  return gpu;
}

void ExpectSame(const Recovered& a, const Recovered& b) {
  EXPECT_EQ(std::memcmp(&a.result.frequency, &b.result.frequency, 3 * sizeof(double)), 0);
  EXPECT_EQ(a.result.frequency_stddev, b.result.frequency_stddev);
  EXPECT_EQ(a.result.phase_stddev, b.result.phase_stddev);
  EXPECT_EQ(a.result.gain, b.result.gain);
  EXPECT_EQ(a.result.snr_db, b.result.snr_db);
  EXPECT_EQ(a.result.evm, b.result.evm);
  EXPECT_EQ(a.result.peak_ratio, b.result.peak_ratio);
  EXPECT_EQ(a.result.fit, b.result.fit);
  EXPECT_EQ(a.result.lock, b.result.lock);
  EXPECT_EQ(a.result.resolved, b.result.resolved);
  EXPECT_EQ(a.result.ambiguity, b.result.ambiguity);
  EXPECT_EQ(a.result.bad_symbols, b.result.bad_symbols);
  EXPECT_EQ(a.corrected, b.corrected);
  EXPECT_EQ(a.curve, b.curve);
}

}  // namespace baseband::carrier
