// LaunchRecover against RecoverOnCpu, which carrier_recover_test holds against the reference.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/carrier/recover.h"
#include "kernels/carrier/recover_gpu.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/gpu_test.h"
#include "tests/support/status_matchers.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::CarrierFrame;
using ::baseband::testing::FrameSpec;
using ::baseband::testing::IsOk;
using ::baseband::testing::Pilots;
using ::baseband::testing::StatusIs;
using ::baseband::testing::ToDevice;
using ::baseband::testing::ToHost;
using ::testing::HasSubstr;

using Bytes = std::vector<uint8_t>;
constexpr uint8_t kGuard = 0xa5;    // fills the output before a launch
constexpr size_t kGuardBytes = 12;  // between two frames' outputs: 4 mod 8, so that places shift

struct Frame {
  Bytes symbols;
  std::vector<Iq> known;
  int num_symbols = 0;
};

struct Recovered {
  Result result;
  Bytes corrected;
  std::vector<float> curve;
};

ModelPtr MakeModel(const std::string& name) {
  const auto constellation = Constellation::FromName(name);
  EXPECT_THAT(constellation, IsOk());
  const auto model = Model::Create(*constellation, Amplitude::kWeighted, 0);
  EXPECT_THAT(model, IsOk());
  return *model;
}

// Frames of the model's constellation, a few dB above where it is used.
Frame FrameOf(const Model& model, const Parameters& parameters, int num_symbols, uint64_t seed,
              Pilots pilots = Pilots::kNone, double above_db = 4.0) {
  FrameSpec spec;
  spec.constellation = *Constellation::FromName(model.constellation().name());
  spec.num_symbols = num_symbols;
  spec.gain = 0.7;
  spec.snr_db = model.constellation().operating_snr_db() + above_db;
  spec.seed = seed;
  spec.pilots = pilots;
  const double range =
      parameters.coarse == Coarse::kNone ? 0.1 / num_symbols : 0.8 * model.max_frequency();
  spec = testing::WithRandomOffset(spec, range);
  const CarrierFrame made = testing::MakeFrame(spec);
  return {
      testing::ToSamples(made.symbols, parameters.format, static_cast<double>(parameters.scale)),
      made.known, num_symbols};
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

// Recovers frames, which must be in ascending order of length, and checks that nothing between
// their outputs was written.
std::vector<Recovered> RecoverOnGpu(const Model& model, const Parameters& parameters,
                                    const std::vector<Frame>& frames, int64_t workspace_bytes = 0) {
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

double PhaseOff(const Result& a, const Result& b) {
  return std::fabs(testing::WrappedDifference(a.phase, b.phase, 2 * M_PI / b.ambiguity));
}

// The devices add up in another order, and their sines differ by 2e-7: far below the noise of any
// estimate. But a step that is just below kLastStep on one of them and just above on the other ends
// the rounds of one a round earlier: the bound of recover_gpu.h.
constexpr double kStddevs = 0.1;

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

void CompareAll(const Model& model, const Parameters& parameters,
                const std::vector<Frame>& frames) {
  const std::vector<Recovered> gpu = RecoverOnGpu(model, parameters, frames);
  for (size_t i = 0; i < frames.size(); ++i) {
    SCOPED_TRACE("frame " + std::to_string(i) + " of " + std::to_string(frames[i].num_symbols));
    ExpectNear(gpu[i], RecoverOne(model, parameters, frames[i]), parameters, frames[i].num_symbols);
  }
}

void ExpectSame(const Recovered& a, const Recovered& b) {
  EXPECT_EQ(std::memcmp(&a.result.frequency, &b.result.frequency, 3 * sizeof(double)), 0);
  EXPECT_EQ(a.result.fit, b.result.fit);
  EXPECT_EQ(a.result.evm, b.result.evm);
  EXPECT_EQ(a.result.lock, b.result.lock);
  EXPECT_EQ(a.corrected, b.corrected);
  EXPECT_EQ(a.curve, b.curve);
}

class CarrierGpuTest : public testing::GpuTest {};

const char* const kNames[] = {
    "BPSK",           "QPSK",  "8PSK",   "16APSK 3/4",      "32APSK 3/4",
    "64APSK 128/180", "16QAM", "256QAM", "128APSK 135/180", "256APSK 135/180"};

TEST_F(CarrierGpuTest, DefaultMethodEqualsTheCpuForEveryKindOfConstellation) {
  for (const char* const name : kNames) {
    SCOPED_TRACE(name);
    const ModelPtr model = MakeModel(name);
    Parameters parameters;
    parameters.want_corrected = true;
    parameters.want_curve = true;
    std::vector<Frame> frames;
    for (const int num_symbols : {4097, 8100, 8100, 16200}) {
      frames.push_back(FrameOf(*model, parameters, num_symbols, frames.size() + 1));
    }
    CompareAll(*model, parameters, frames);
  }
}

TEST_F(CarrierGpuTest, EveryMethodEqualsTheCpu) {
  for (const char* const name : {"QPSK", "16APSK 3/4", "64APSK 128/180", "64QAM"}) {
    const ModelPtr model = MakeModel(name);
    for (const Coarse coarse : {Coarse::kNone, Coarse::kPower, Coarse::kKnown}) {
      for (const Fine fine :
           {Fine::kNone, Fine::kInterpolate, Fine::kSweep, Fine::kRemodulate, Fine::kPll}) {
        for (const Pilots pilots : {Pilots::kNone, Pilots::kDvbS2}) {
          if (coarse == Coarse::kKnown && pilots == Pilots::kNone) continue;
          SCOPED_TRACE(std::string(name) + " coarse " + std::to_string(static_cast<int>(coarse)) +
                       " fine " + std::to_string(static_cast<int>(fine)) +
                       (pilots == Pilots::kNone ? "" : " pilots"));
          Parameters parameters;
          parameters.coarse = coarse;
          parameters.fine = fine;
          parameters.sweep_step = 2e-6;
          parameters.sweep_guard_bins = 1;
          parameters.sweep_interpolate = pilots == Pilots::kDvbS2;
          parameters.want_corrected = true;
          parameters.want_curve = true;
          parameters.reference = pilots == Pilots::kNone ? Reference::kLast : Reference::kCentre;
          CompareAll(*model, parameters,
                     {FrameOf(*model, parameters, 3000, 1, pilots, 8.0),
                      FrameOf(*model, parameters, 5000, 2, pilots, 8.0)});
        }
      }
    }
  }
}

TEST_F(CarrierGpuTest, EveryFormatEqualsTheCpu) {
  const ModelPtr model = MakeModel("16QAM");
  for (const SampleFormat format :
       {SampleFormat::kFloat32, SampleFormat::kFloat16, SampleFormat::kInt16}) {
    Parameters parameters;
    parameters.format = format;
    parameters.scale = format == SampleFormat::kInt16 ? 1.0F / 8192 : 2.0F;
    parameters.want_corrected = true;
    CompareAll(*model, parameters,
               {FrameOf(*model, parameters, 2047, 1, Pilots::kNone, 8.0),
                FrameOf(*model, parameters, 2049, 2, Pilots::kNone, 8.0)});
  }
}

TEST_F(CarrierGpuTest, LengthsAroundEveryBlockSizeEqualTheCpu) {
  const ModelPtr model = MakeModel("QPSK");
  Parameters parameters;
  parameters.want_corrected = true;
  parameters.want_curve = true;
  std::vector<Frame> frames;
  for (int num_symbols = 16; num_symbols <= 65; ++num_symbols) {
    frames.push_back(
        FrameOf(*model, parameters, num_symbols, frames.size() + 1, Pilots::kNone, 19.0));
  }
  for (const int size : {128, 256, 512, 1024, 2048, 4096, 8192, 32768}) {
    for (const int off : {-1, 0, 1}) {
      frames.push_back(
          FrameOf(*model, parameters, size + off, frames.size() + 1, Pilots::kNone, 9.0));
    }
  }
  CompareAll(*model, parameters, frames);
}

TEST_F(CarrierGpuTest, TheLongestFramesEqualTheCpu) {
  const ModelPtr model = MakeModel("16QAM");
  Parameters parameters;
  CompareAll(
      *model, parameters,
      {FrameOf(*model, parameters, (1 << 19) + 1, 1), FrameOf(*model, parameters, 1 << 20, 2)});
}

TEST_F(CarrierGpuTest, NeighboursPlaceAndRoundsChangeNothing) {
  const ModelPtr model = MakeModel("16APSK 3/4");
  for (const Fine fine : {Fine::kRemodulate, Fine::kSweep, Fine::kPll}) {
    Parameters parameters;
    parameters.fine = fine;
    parameters.sweep_step = 5e-6;
    parameters.want_corrected = true;
    parameters.want_curve = true;
    std::vector<Frame> frames;
    for (const int num_symbols : {700, 1000, 1024, 1025, 2000, 5000, 9257, 9257, 16200, 33000}) {
      for (int i = 0; i < 9; ++i) {
        frames.push_back(FrameOf(*model, parameters, num_symbols, frames.size() + 1));
      }
    }
    const std::vector<Recovered> together = RecoverOnGpu(*model, parameters, frames);
    const std::vector<Recovered> in_rounds =
        RecoverOnGpu(*model, parameters, frames,
                     RecoverWorkspaceBytes(parameters, frames.back().num_symbols, 1));
    for (size_t i = 0; i < frames.size(); ++i) {
      SCOPED_TRACE(i);
      ExpectSame(in_rounds[i], together[i]);
      if (i % 7 == 0) ExpectSame(RecoverOnGpu(*model, parameters, {frames[i]})[0], together[i]);
    }
  }
}

TEST_F(CarrierGpuTest, BadAndSilentFramesAreSaidToBeSoAndHarmNoOther) {
  const ModelPtr model = MakeModel("QPSK");
  for (const Fine fine : {Fine::kRemodulate, Fine::kSweep, Fine::kPll}) {
    Parameters parameters;
    parameters.fine = fine;
    parameters.sweep_step = 5e-6;
    parameters.want_corrected = true;
    parameters.want_curve = true;
    std::vector<Frame> frames(4, FrameOf(*model, parameters, 3000, 1));
    const auto set = [&](size_t frame, size_t number, float value) {
      std::memcpy(frames[frame].symbols.data() + 4 * number, &value, sizeof(value));
    };
    set(0, 2999, NAN);
    set(1, 17, 1e16F);
    std::fill(frames[2].symbols.begin(), frames[2].symbols.end(), uint8_t{0});
    const std::vector<Recovered> recovered = RecoverOnGpu(*model, parameters, frames);
    EXPECT_EQ(recovered[0].result.bad_symbols, 1);
    EXPECT_EQ(recovered[1].result.bad_symbols, 1);
    EXPECT_EQ(recovered[2].result.bad_symbols, 0);
    EXPECT_EQ(recovered[2].result.lock, Lock::kNoSignal);
    EXPECT_THAT(recovered[1].corrected, ::testing::Each(0));
    EXPECT_THAT(recovered[2].curve, ::testing::Each(0.0F));
    ExpectSame(recovered[3], RecoverOnGpu(*model, parameters, {frames[3]})[0]);
  }
}

TEST_F(CarrierGpuTest, NoiseLocksNothing) {
  const ModelPtr model = MakeModel("8PSK");
  Parameters parameters;
  std::vector<Frame> frames;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    frames.push_back(FrameOf(*model, parameters, 1000, seed, Pilots::kNone, -46.0));
  }
  for (const Recovered& recovered : RecoverOnGpu(*model, parameters, frames)) {
    EXPECT_NE(recovered.result.lock, Lock::kLocked);
  }
}

// Needs no GPU: nothing is enqueued.
TEST(CarrierGpuRefusalTest, BrokenBatchesAreRefusedByName) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  alignas(16) static uint8_t memory[64] = {};
  const ModelPtr model = MakeModel("QPSK");
  const std::vector<uint32_t> lengths = {100, 200};
  RecoverBatch good;
  good.model = model.get();
  good.frames = reinterpret_cast<const RecoverFrame*>(memory);
  good.lengths = lengths;
  good.symbols = memory;
  good.results = reinterpret_cast<Result*>(memory);
  good.workspace = memory;
  good.workspace_bytes = int64_t{1} << 40;
  const auto expect = [](const RecoverBatch& batch, const std::string& text) {
    EXPECT_THAT(LaunchRecover(batch, nullptr), StatusIs(kInvalid, HasSubstr(text)));
  };
  RecoverBatch batch = good;
  batch.model = nullptr;
  expect(batch, "model is null");
  batch = good;
  batch.lengths = {};
  expect(batch, "number of frames 0 is not in [1, 1048576]");
  const std::vector<uint32_t> falling = {200, 100};
  batch.lengths = falling;
  expect(batch, "100 follows 200");
  for (const uint32_t length : {15U, (1U << 20) + 1}) {
    const std::vector<uint32_t> wrong = {length};
    batch.lengths = wrong;
    expect(batch, std::to_string(length) + " is not in [16, 1048576]");
  }
  batch = good;
  batch.parameters.fine = Fine::kSweep;
  batch.parameters.sweep_step = 1e-9;
  expect(batch, "more than 8192 candidates");
  batch = good;
  batch.frames = reinterpret_cast<const RecoverFrame*>(memory + 8);
  expect(batch, "frames is null or not");
  batch = good;
  batch.symbols = nullptr;
  expect(batch, "symbols is null");
  batch = good;
  batch.results = nullptr;
  expect(batch, "results is null");
  batch = good;
  batch.workspace = memory + 1;
  expect(batch, "workspace is null or not");
  batch = good;
  batch.workspace_bytes = RecoverWorkspaceBytes(batch.parameters, 200, 1) - 1;
  expect(batch, "workspace_bytes");
  batch = good;
  batch.parameters.want_corrected = true;
  expect(batch, "output is null");
  batch = good;
  batch.parameters.coarse = Coarse::kKnown;
  expect(batch, "known is null");
}

}  // namespace
}  // namespace baseband::carrier
