// First stages that are computed exactly (product_fixed.cu) against the formula in double
// precision, at full scale and quiet, and against themselves. Each test asks the plan which form
// ran.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/downconvert/reference.h"
#include "tests/gpu/downconvert_gpu_fixture.h"
#include "tests/support/matchers.h"

namespace baseband::downconvert {
namespace {

constexpr InputFormat kFormats[] = {InputFormat::kInt8, InputFormat::kInt16};
constexpr int64_t kDen = 64000000;
int64_t NumOf(int channel) {
  return channel % 5 == 0 ? 0 : channel % 5 == 1 ? kDen / 2 : 9123457 - 313131 * channel;
}

Channel ExactChannel(const FilterPtr& filter, int number,
                     OutputFormat output = OutputFormat::kFloat32) {
  Channel channel = MakeChannel(filter, number, output);
  channel.phase = *PhaseTrack::Create(Ratio(NumOf(number), kDen), 0.1 * number, {});
  return channel;
}

enum class Signal { kNoise, kLowest, kHighest, kAlternating, kTone, kQuiet };

void Store(InputFormat format, int64_t i, double value, std::vector<uint8_t>* samples) {
  const double limit = format == InputFormat::kInt8 ? 127.0 : 32767.0;
  const auto rounded = static_cast<int>(std::clamp(std::round(value), -limit - 1.0, limit));
  const size_t bytes = format == InputFormat::kInt8 ? 1 : 2;
  std::memcpy(samples->data() + static_cast<size_t>(i) * bytes, &rounded, bytes);  // little endian
}

// Components of full scale; a tone's have the signs of channel 2's oscillator, by which one output
// in many is as large as can be. But for kQuiet: of one unit.
Recording SignalOf(Signal signal, InputFormat format, int64_t first, int64_t history,
                   int64_t count) {
  Recording recording = MakeRecording(format, first, history, count);
  for (int64_t i = 0; signal != Signal::kNoise && i < 2 * recording.block.num_samples; ++i) {
    const int64_t n = recording.block.first_index + i / 2;
    const double turns = static_cast<double>(n % kDen * NumOf(2) % kDen) / kDen;
    const double part =
        std::cos(2.0 * 3.14159265358979323846 * turns - (i % 2 == 0 ? 0.0 : 0.5 * 3.14159265));
    const bool is_high = signal == Signal::kHighest ||
                         (signal == Signal::kAlternating && n % 2 == 0) ||
                         (signal == Signal::kTone && part >= 0.0) ||
                         (signal == Signal::kQuiet && (i * i / 3 + i) % 7 < 3);
    const double size = signal == Signal::kQuiet ? 1.0 : 40000.0;
    Store(format, i, is_high ? size : -size, &recording.samples);
  }
  return recording;
}

// Whether all first stages of what was launched were computed exactly.
bool IsExact(const gpu::GpuPlan& plan) {
  bool is_exact = false;
  for (const gpu::ProductLaunch& launch : plan.launches()) {
    if (launch.kind.samples == gpu::Samples::kComplexTurned) return false;
    is_exact |= launch.kind.samples == gpu::Samples::kComplexFixed;
  }
  return is_exact;
}

// Of every so many channels; outputs are float32. What two devices may differ by is for both: each
// may be off by half of it. `level`: of the samples, full scale is 1.
void ExpectNearTheFormula(const std::string& name, const std::vector<Channel>& channels,
                          const Recording& recording, size_t every_channel = 1,
                          double level = 1.0) {
  ASSERT_THAT(CheckBlock(channels, recording.block), IsOk());
  testing::DownconvertLauncher launcher(channels, recording.block, recording.samples);
  ASSERT_TRUE(IsExact(*launcher.launch().plan)) << name;
  ASSERT_THAT(launcher.Launch(), IsOk());
  const std::vector<testing::Converted> found = launcher.Results();
  const std::vector<std::complex<double>> samples =
      ReferenceSamples(recording.block.format, recording.samples);
  for (size_t c = 0; c < channels.size(); c += every_channel) {
    ReferenceOscillator oscillator;
    oscillator.frequency = Ratio(NumOf(static_cast<int>(c)), kDen);
    oscillator.initial_phase = 0.1 * static_cast<double>(c);
    const std::vector<std::complex<double>> expected = ReferenceDownconvert(
        oscillator, channels[c].gain, channels[c].filter->stages(), recording.block.scale,
        recording.block.first_index, samples, OutputsOf(channels[c], recording.block));
    ASSERT_EQ(found[c].output.size(), 8 * expected.size());
    const double tolerance = level * 0.5 * kDeviceTolerance * std::abs(channels[c].gain) *
                             testing::GainLimitOf(*channels[c].filter);
    double worst = 0.0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto part = [&](size_t at) {
        return testing::ComponentOf(OutputFormat::kFloat32, found[c].output.data(), at);
      };
      worst = std::max({worst, std::abs(part(2 * i) - expected[i].real()),
                        std::abs(part(2 * i + 1) - expected[i].imag())});
    }
    EXPECT_LE(worst, tolerance) << name << ", channel " << c << ", off by " << worst / tolerance;
  }
}

struct Shape {
  int taps;
  int down;
};
// Around the borders of what a matrix product is deep (16 taps), of what a warp holds (64), of what
// shared memory's layout knows: odd decimations, powers of two, others.
constexpr Shape kShapes[] = {{64, 8},  {1, 1},    {16, 1},   {17, 2},   {61, 3},     {65, 8},
                             {64, 4},  {40, 32},  {33, 64},  {7, 50},   {63, 7},     {128, 16},
                             {129, 9}, {500, 32}, {512, 64}, {100, 10}, {1200, 160}, {4096, 128}};

TEST_F(DownconvertGpuTest, ExactStagesAreNearTheFormulaAtAnyLevel) {
  for (const Shape& shape : kShapes) {
    const FilterPtr filter = Taps(shape.taps, 1, shape.down);
    for (const InputFormat format : kFormats) {
      for (const Signal signal : {Signal::kNoise, Signal::kLowest, Signal::kHighest,
                                  Signal::kAlternating, Signal::kTone, Signal::kQuiet}) {
        std::vector<Channel> channels;
        for (int c = 0; c < 8; ++c) channels.push_back(ExactChannel(filter, c));
        const int64_t first = signal == Signal::kNoise ? 0 : 1000000007;
        ExpectNearTheFormula(
            std::to_string(shape.taps) + " taps / " + std::to_string(shape.down) + ", format " +
                std::to_string(static_cast<int>(format)) + ", signal " +
                std::to_string(static_cast<int>(signal)),
            channels,
            SignalOf(signal, format, first, filter->history(), 40 * shape.down + 2 * shape.taps), 1,
            signal != Signal::kQuiet ? 1.0 : 1.0 / (format == InputFormat::kInt8 ? 127 : 32767));
      }
    }
  }
}

// Of outputs a lane, a tile, a warp and a block hold 2, 8, 32 to 256, 128 to 1024.
TEST_F(DownconvertGpuTest, ExactStagesOfEveryLengthAreNearTheFormula) {
  for (const Shape& shape : {Shape{64, 8}, Shape{20, 3}, Shape{70, 64}}) {
    const FilterPtr filter = Taps(shape.taps, 1, shape.down);
    for (const int channels : {8, 16, 32}) {  // warps of a block across: 1, 2, 4
      std::vector<Channel> all;
      for (int c = 0; c < channels; ++c) all.push_back(ExactChannel(filter, c));
      for (const int64_t border : {0, 8, 16, 32, 128, 256, 512, 1024}) {
        for (const int64_t outputs : {border - 1, border, border + 1}) {
          if (outputs < 1) continue;
          ExpectNearTheFormula(std::to_string(outputs) + " outputs of " + std::to_string(channels),
                               all,
                               SignalOf(Signal::kNoise, InputFormat::kInt16, 1000000007,
                                        filter->history(), outputs * shape.down),
                               7);
        }
      }
    }
  }
}

TEST_F(DownconvertGpuTest, AnyNumberOfExactChannelsIsNearTheFormula) {
  const FilterPtr filter = Taps(64, 1, 8);
  for (const int channels : {8, 9, 11, 15, 16, 17, 24, 31, 33, 40, 63, 64, 65, 100}) {
    std::vector<Channel> all;
    for (int c = 0; c < channels; ++c) all.push_back(ExactChannel(filter, c));
    ExpectNearTheFormula(
        std::to_string(channels) + " channels", all,
        SignalOf(Signal::kNoise, InputFormat::kInt16, 1000000007, filter->history(), 3000));
  }
}

// Channels far apart in decimation, of filters of one shape and of others, beside such as are not
// computed exactly; in all formats, against the CPU.
std::vector<Channel> FarApart(int count) {
  const FilterPtr filters[] = {Taps(64, 1, 8),   Taps(64, 1, 8, 9), Taps(30, 1, 1),
                               Taps(512, 1, 64), Taps(33, 1, 5),    Taps(190, 7, 8),
                               Cascade(1, 64),   Taps(1000, 1, 128)};
  std::vector<Channel> channels;
  for (int c = 0; c < count; ++c) {
    channels.push_back(MakeChannel(filters[c % 8], c, static_cast<OutputFormat>(c / 8 % 3)));
  }
  return channels;
}

bool HasExact(const std::vector<Channel>& channels, const Recording& recording) {
  gpu::GpuPlan plan;
  plan.Build(channels, recording.block, std::vector<int64_t>(channels.size()));
  return std::any_of(plan.launches().begin(), plan.launches().end(), [](const auto& launch) {
    return launch.kind.samples == gpu::Samples::kComplexFixed;
  });
}

TEST_F(DownconvertGpuTest, ExactChannelsFarApartInDecimationAgreeWithTheCpu) {
  for (const InputFormat format : kFormats) {
    const std::vector<Channel> channels = FarApart(80);
    const Recording recording =
        MakeRecording(format, (int64_t{1} << 53) + 1, HistoryOf(channels), 20000);
    EXPECT_TRUE(HasExact(channels, recording));
    testing::ExpectAgree("far apart", channels, recording);
  }
}

TEST_F(DownconvertGpuTest, ExactOutputsDoNotDependOnTheChunks) {
  for (const InputFormat format : kFormats) {
    std::vector<Channel> channels = FarApart(72);
    for (size_t c = 0; c < channels.size(); c += 3) {
      Retune retune;
      retune.index = 1000000007 + 1500 + static_cast<int64_t>(c);
      retune.frequency = Ratio(77, 1000);
      channels[c].phase = *PhaseTrack::Create(Ratio(123, 1000), 0.5, {&retune, 1});
    }
    const Recording recording = MakeRecording(format, 1000000007, HistoryOf(channels), 4000);
    EXPECT_TRUE(HasExact(channels, recording));
    const auto whole = ConvertOnGpu(channels, recording.block, recording.samples);
    for (const int64_t size : {0, 1, 511, 1024, 2047}) {
      const Recording& shorter =
          size == 1 ? MakeRecording(format, 1000000007, HistoryOf(channels), 70) : recording;
      ExpectSame(InPieces(channels, shorter, size),
                 size == 1 ? ConvertOnGpu(channels, shorter.block, shorter.samples) : whole);
    }
  }
}

// A channel is the same beside any others, as long as there are enough for it to be exact.
TEST_F(DownconvertGpuTest, AnExactChannelIsTheSameAmongAnyOthersThatAreExact) {
  const std::vector<Channel> channels = FarApart(80);
  const Recording recording =
      MakeRecording(InputFormat::kInt16, 1000000007, HistoryOf(channels), 5000);
  const auto together = ConvertOnGpu(channels, recording.block, recording.samples);
  for (size_t kind = 0; kind < 8; ++kind) {
    std::vector<Channel> alone;
    std::vector<testing::Converted> expected;
    for (size_t c = kind; c < channels.size(); c += 8) {
      alone.insert(alone.begin(), channels[c]);
      expected.insert(expected.begin(), together[c]);
    }
    // The two filters of 64 taps make it together and by themselves.
    EXPECT_EQ(HasExact(alone, recording), kind != 5) << kind;
    ExpectSame(ConvertOnGpu(alone, recording.block, recording.samples), expected);
  }
}

}  // namespace
}  // namespace baseband::downconvert
