// LaunchDownconvert against the CPU's version, which downconvert_test holds against the reference,
// and against itself: other cuts, other channels beside it.
#include "kernels/downconvert/downconvert_gpu.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/downconvert/reference.h"
#include "tests/support/downconvert_gpu.h"
#include "tests/support/matchers.h"

namespace baseband::downconvert {
namespace {

using ::baseband::testing::ConvertOnGpu;
using ::baseband::testing::MakeRecording;
using ::baseband::testing::Recording;

constexpr int64_t kAwkwardIndices[] = {0, 1000000007, (int64_t{1} << 53) + 1, 1000000000000037,
                                       kMaxSampleIndex - 20000};

FilterPtr Taps(int count, int up, int down, uint32_t seed = 7) {
  return *Filter::FromTaps(testing::SomeTaps(count, up, down, seed), up, down);
}
FilterPtr Cascade(int up, int down) {
  Mask mask;
  const double rate = std::min(1.0, static_cast<double>(up) / down);
  mask.pass_edge = 0.3 * rate;
  mask.stop_edge = std::min(0.5, 0.55 * rate);
  return *Filter::FromMask(mask, Design::kKaiser, up, down);
}
Frequency Ratio(int64_t num, uint64_t den) { return *Frequency::FromFraction(num, den); }

Channel MakeChannel(const FilterPtr& filter, int number, OutputFormat output) {
  Channel channel;
  // Beyond number 200 the frequency would exceed the sample rate.
  channel.phase =
      *PhaseTrack::Create(Ratio(9123457 - 313131 * (number % 200), 64000000), 0.1 * number, {});
  channel.filter = filter;
  channel.gain = output == OutputFormat::kInt16 ? 1.9F : 0.7F;
  channel.output = output;
  return channel;
}

struct Shape {
  int taps;
  int up;
  int down;
};
// Around the borders of what a step, a quad of columns and a tile of outputs hold.
constexpr Shape kShapes[] = {
    {64, 1, 8},   {1, 1, 1},    {8, 1, 1},    {129, 1, 1},  {300, 1, 1},     {61, 1, 2},
    {65, 1, 8},   {50, 1, 3},   {7, 1, 50},   {77, 1, 5},   {1025, 1, 8},    {1500, 1, 160},
    {513, 1, 64}, {100, 1, 10}, {5, 7, 1},    {3, 7, 8},    {192, 3, 28},    {190, 7, 8},
    {50, 5, 3},   {640, 3, 2},  {4096, 1, 9}, {1000, 4, 9}, {900, 147, 160},
};

class DownconvertGpuTest : public testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_THAT(PrepareDownconvert(), IsOk());
  }
};

TEST_F(DownconvertGpuTest, EveryShapeOfFilterAndFormatAgreesWithTheCpu) {
  int number = 0;
  for (const Shape& shape : kShapes) {
    const FilterPtr filter = Taps(shape.taps, shape.up, shape.down);
    for (const InputFormat format : testing::kInputFormats) {
      // The last one's outputs would have indices beyond 2^63 where the rate goes up.
      const int64_t first = kAwkwardIndices[number % (shape.up > shape.down ? 4 : 5)];
      const Recording recording =
          MakeRecording(format, first, filter->history() + number % 3, 2500 + 131 * (number % 7));
      std::vector<Channel> channels;
      for (int c = 0; c < 1 + number % 6; ++c) {
        channels.push_back(MakeChannel(filter, c, static_cast<OutputFormat>((number + c) % 3)));
      }
      testing::ExpectAgree(std::to_string(shape.taps) + " taps, " + std::to_string(shape.up) + "/" +
                               std::to_string(shape.down) + ", format " +
                               std::to_string(static_cast<int>(format)),
                           channels, recording);
      ++number;
    }
  }
}

TEST_F(DownconvertGpuTest, TheLongestFiltersAgreeWithTheCpu) {
  for (const Shape& shape : {Shape{kMaxTaps, 1, kMaxDown}, Shape{kMaxTaps, 1, 37},
                             Shape{kMaxTaps, kMaxUp, 4095}, Shape{30000, 1, 4096}}) {
    const FilterPtr filter = Taps(shape.taps, shape.up, shape.down);
    const Recording recording =
        MakeRecording(InputFormat::kInt16, 1000000007, filter->history(), 10000);
    testing::ExpectAgree(std::to_string(shape.taps) + " taps",
                         {MakeChannel(filter, 1, OutputFormat::kFloat32)}, recording);
  }
}

TEST_F(DownconvertGpuTest, CascadesAgreeWithTheCpu) {
  for (const Shape& shape : {Shape{0, 1, 64}, Shape{0, 1, 100}, Shape{0, 3, 80}, Shape{0, 2, 1}}) {
    const FilterPtr filter = Cascade(shape.up, shape.down);
    for (const int64_t first : {int64_t{0}, (int64_t{1} << 53) + 1}) {
      const Recording recording =
          MakeRecording(InputFormat::kInt16, first, filter->history(), 15000);
      std::vector<Channel> channels;
      for (int c = 0; c < 6; ++c) {
        channels.push_back(MakeChannel(filter, c, static_cast<OutputFormat>(c % 3)));
      }
      testing::ExpectAgree(std::to_string(filter->stages().size()) + " stages", channels,
                           recording);
    }
  }
}

// Retunes of both modes; the last two in one window, of filters that have as many taps.
PhaseTrack RetunedTrack(int64_t first, int64_t count, int number) {
  std::vector<Retune> retunes(4);
  retunes[0].index = first + count / 4 + 11 * number;
  retunes[0].frequency = Ratio(-1234567, 64000000);
  retunes[1].index = first + count / 3;
  retunes[1].frequency = Ratio(77, 1000);
  retunes[2].index = first + count / 2 + 1;
  retunes[2].frequency = Ratio(1, 3);
  retunes[2].mode = RetuneMode::kCoherent;
  retunes[3].index = retunes[2].index + 5;
  retunes[3].frequency = Ratio(9123457, 64000000);
  retunes[3].mode = RetuneMode::kCoherent;
  return *PhaseTrack::Create(Ratio(9123457, 64000000), 1.25, retunes);
}

std::vector<Channel> MixedChannels(int count, int64_t first, int64_t samples, bool is_retuned) {
  const FilterPtr filters[] = {Taps(64, 1, 8),  Taps(64, 1, 8, 8), Taps(61, 1, 1),
                               Taps(190, 7, 8), Taps(700, 1, 20),  Cascade(1, 64)};
  std::vector<Channel> channels;
  for (int c = 0; c < count; ++c) {
    channels.push_back(
        MakeChannel(filters[c % 3 == 0 ? c / 3 % 6 : 0], c, static_cast<OutputFormat>(c / 2 % 3)));
    if (is_retuned && c % 2 == 0) {
      channels.back().phase = RetunedTrack(first, samples, c % 4);
    }
  }
  return channels;
}

TEST_F(DownconvertGpuTest, RetunesAgreeWithTheCpu) {
  for (const int64_t first : kAwkwardIndices) {
    for (const InputFormat format : testing::kInputFormats) {
      const std::vector<Channel> channels = MixedChannels(12, first, 9000, true);
      testing::ExpectAgree("retuned", channels,
                           MakeRecording(format, first, HistoryOf(channels), 9000));
    }
  }
}

TEST_F(DownconvertGpuTest, PhasesAreThoseOfRationalArithmetic) {
  const FilterPtr filter = *Filter::FromTaps(std::vector<float>{1.0F}, 1, 1);
  constexpr int64_t kCount = 150000;  // several anchors
  for (const int64_t first : {int64_t{0}, int64_t{1000000007}, (int64_t{1} << 53) + 1,
                              int64_t{1000000000000037}, kMaxSampleIndex - kCount}) {
    ReferenceOscillator oscillator;
    oscillator.frequency = Ratio(9123457, 64000000);
    Channel channel;
    channel.phase = *PhaseTrack::Create(oscillator.frequency, 0.0, {});
    channel.filter = filter;
    Recording recording = MakeRecording(InputFormat::kFloat32, first, 0, kCount);
    for (int64_t i = 0; i < kCount; ++i) {
      const float one[2] = {1.0F, 0.0F};
      std::memcpy(recording.samples.data() + 8 * i, one, 8);
    }
    const auto gpu = ConvertOnGpu({channel}, recording.block, recording.samples);
    double worst = 0.0;
    for (int64_t i = 0; i < kCount; ++i) {
      const auto phase =
          static_cast<double>(oscillator.PhaseTurns(first + i)) * -2.0 * 3.14159265358979323846;
      const auto at = static_cast<size_t>(2 * i);
      const double re =
          testing::ComponentOf(OutputFormat::kFloat32, gpu[0].output.data(), at) - std::cos(phase);
      const double im = testing::ComponentOf(OutputFormat::kFloat32, gpu[0].output.data(), at + 1) -
                        std::sin(phase);
      worst = std::max(worst, std::hypot(re, im));
    }
    EXPECT_LE(worst, 1.5e-7) << "from sample " << first;
  }
}

TEST_F(DownconvertGpuTest, MethodsForStudyAgreeWithTheCpu) {
  for (const NcoMethod nco : {NcoMethod::kFloat, NcoMethod::kSegmented, NcoMethod::kFast2Sum,
                              NcoMethod::kTwoSum, NcoMethod::kDouble, NcoMethod::kAccumulated}) {
    std::vector<Channel> channels = MixedChannels(5, 0, 9000, false);
    for (Channel& channel : channels) {
      channel.nco = nco;
      channel.study_segment = 500;
    }
    testing::ExpectAgree("method " + std::to_string(static_cast<int>(nco)), channels,
                         MakeRecording(InputFormat::kInt16, 0, 0, 9000));
  }
}

// The recording in pieces of `size` samples, or of random sizes if that is 0.
std::vector<testing::Converted> InPieces(const std::vector<Channel>& channels,
                                         const Recording& recording, int64_t size) {
  std::mt19937 random(5);
  std::vector<testing::Converted> all(channels.size());
  const int64_t end = recording.block.first_index + recording.block.num_samples;
  for (int64_t at = recording.block.first_index + recording.block.history; at < end;) {
    const int64_t step = size > 0 ? size : 1 + random() % (uint32_t{1} << random() % 13);
    const testing::Piece piece = testing::CutPiece(
        recording.block, recording.samples, HistoryOf(channels), at, std::min(end, at + step));
    const std::vector<testing::Converted> part = ConvertOnGpu(channels, piece.block, piece.samples);
    for (size_t c = 0; c < channels.size(); ++c) {
      all[c].output.insert(all[c].output.end(), part[c].output.begin(), part[c].output.end());
      all[c].saturated += part[c].saturated;
    }
    at = std::min(end, at + step);
  }
  return all;
}

void ExpectSame(const std::vector<testing::Converted>& a,
                const std::vector<testing::Converted>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t c = 0; c < a.size(); ++c) {
    EXPECT_TRUE(a[c].output == b[c].output) << "channel " << c;
    EXPECT_EQ(a[c].saturated, b[c].saturated) << "channel " << c;
  }
}

TEST_F(DownconvertGpuTest, OutputsDoNotDependOnTheChunks) {
  for (const int count : {1, 64}) {
    for (const int64_t first : {int64_t{0}, (int64_t{1} << 53) + 1}) {
      const std::vector<Channel> channels = MixedChannels(count, first, 6000, true);
      const Recording recording =
          MakeRecording(InputFormat::kInt16, first, HistoryOf(channels), 6000);
      const auto whole = ConvertOnGpu(channels, recording.block, recording.samples);
      for (const int64_t size : {0, 1023, 2048}) {
        ExpectSame(InPieces(channels, recording, size), whole);
      }
    }
  }
}

TEST_F(DownconvertGpuTest, OutputsDoNotDependOnTheSmallestChunks) {
  for (const int count : {1, 64}) {
    const std::vector<Channel> channels = MixedChannels(count, 0, 300, true);
    const Recording recording = MakeRecording(InputFormat::kRealFloat32, 0, 0, 300);
    const auto whole = ConvertOnGpu(channels, recording.block, recording.samples);
    for (const int64_t size : {1, 7}) ExpectSame(InPieces(channels, recording, size), whole);
  }
}

TEST_F(DownconvertGpuTest, AChannelIsTheSameAloneAndAmongOthersInAnyOrder) {
  std::vector<Channel> channels = MixedChannels(40, 0, 5000, true);
  const Recording recording = MakeRecording(InputFormat::kInt16, 0, 0, 5000);
  auto together = ConvertOnGpu(channels, recording.block, recording.samples);
  for (size_t c = 0; c < channels.size(); ++c) {
    ExpectSame(ConvertOnGpu({channels[c]}, recording.block, recording.samples), {together[c]});
  }
  std::reverse(channels.begin(), channels.end());
  std::reverse(together.begin(), together.end());
  ExpectSame(ConvertOnGpu(channels, recording.block, recording.samples), together);
}

TEST_F(DownconvertGpuTest, AThousandChannelsOfDifferentFiltersInOneLaunchAgreeWithTheCpu) {
  const FilterPtr cascade = Cascade(1, 64);
  std::vector<Channel> channels;
  for (int c = 0; c < kMaxChannels; ++c) {
    const FilterPtr filter = c % 50 == 0  ? cascade
                             : c % 3 == 0 ? channels.back().filter
                                          : Taps(5 + c % 90, 1 + c % 5 / 4, 3 + c % 17, c);
    channels.push_back(MakeChannel(filter, c, static_cast<OutputFormat>(c % 3)));
  }
  testing::ExpectAgree("one of 1024", channels, MakeRecording(InputFormat::kInt16, 0, 0, 4000));
}

TEST_F(DownconvertGpuTest, ASampleThatIsNoNumberSpoilsOnlyTheWindowsThatHoldIt) {
  const FilterPtr filter = Taps(61, 1, 5);
  const std::vector<Channel> channels(5, MakeChannel(filter, 1, OutputFormat::kFloat32));
  Recording recording = MakeRecording(InputFormat::kFloat32, 0, 0, 3000);
  const auto clean = ConvertOnGpu(channels, recording.block, recording.samples);
  constexpr int64_t kBad = 1234;
  const float bad = std::numeric_limits<float>::infinity();
  std::memcpy(recording.samples.data() + 8 * kBad, &bad, 4);
  const auto spoilt = ConvertOnGpu(channels, recording.block, recording.samples);
  for (size_t c = 0; c < channels.size(); ++c) {
    for (int64_t m = 0; m < 600; ++m) {
      const bool holds_it = 5 * m >= kBad && 5 * m - 60 <= kBad;
      const bool is_same =
          std::memcmp(clean[c].output.data() + 8 * m, spoilt[c].output.data() + 8 * m, 8) == 0;
      ASSERT_NE(holds_it, is_same) << "output " << m;
    }
  }
  ExpectSame(InPieces(channels, recording, 0), spoilt);
}

// From every place in a block, of blocks that end within a vector, by filters that do not see it.
TEST_F(DownconvertGpuTest, ASampleThatIsNotFiniteIsMetWhereverItIs) {
  const FilterPtr filters[] = {Taps(61, 1, 5), Taps(3, 1, 100), Taps(20, 1, 4096)};
  int number = 0;
  for (const InputFormat format : {InputFormat::kFloat32, InputFormat::kRealFloat32}) {
    for (const int64_t count : {int64_t{1}, int64_t{2}, int64_t{5}, int64_t{4096}, int64_t{9001}}) {
      for (int64_t place = 0; place < count; place += 1 + count / 5) {
        const FilterPtr& filter = filters[number++ % 3];
        Recording recording = MakeRecording(format, 1000000007, filter->history(), count);
        const int64_t history = recording.block.history;
        const int64_t components = BytesPerSample(format) / 4;
        const std::vector<Channel> channels(3, MakeChannel(filter, 1, OutputFormat::kInt16));
        auto gpu = ConvertOnGpu(channels, recording.block, recording.samples);
        EXPECT_EQ(gpu[0].has_non_finite, 0) << count;
        for (int64_t n = history + place; n < history + count; n += 700) {
          const float bad = n % 2 == 0 ? std::numeric_limits<float>::quiet_NaN()
                                       : -std::numeric_limits<float>::infinity();
          std::memcpy(recording.samples.data() + 4 * (n * components + n % components), &bad, 4);
        }
        gpu = ConvertOnGpu(channels, recording.block, recording.samples);
        EXPECT_EQ(gpu[0].has_non_finite, 1) << place << " of " << count;
        EXPECT_EQ(FindNonFinite(recording.block, recording.samples), history + place);
        EXPECT_EQ(gpu[1].has_non_finite, 0);
      }
    }
  }
}

// Whoever looks: sums of one column or of four, of one step or of several, of every set of taps, of
// several stages; and at windows that hold a retune. Before, between and behind outputs.
TEST_F(DownconvertGpuTest, ASampleThatIsNotFiniteIsMetByWhateverSeesIt) {
  Retune retune;
  retune.index = 1000000007 + 1500;
  retune.frequency = *Frequency::FromFraction(1, 7);
  struct Case {
    FilterPtr filter;
    size_t channels = 1;
    size_t retunes = 0;
  };
  const std::vector<Case> cases = {
      {Taps(64, 1, 8)},      {Taps(64, 1, 8), 4},    {Taps(64, 1, 8), 17},
      {Taps(700, 1, 20), 5}, {Taps(190, 7, 8), 6},   {Taps(50, 5, 1), 2},
      {Cascade(1, 64), 3},   {Taps(64, 1, 8), 4, 1}, {Taps(700, 1, 20), 1, 1}};
  std::mt19937 random(11);
  for (const Case& c : cases) {
    for (const InputFormat format : {InputFormat::kFloat32, InputFormat::kRealFloat32}) {
      Channel channel = MakeChannel(c.filter, 1, OutputFormat::kFloat32);
      channel.phase =
          *PhaseTrack::Create(*Frequency::FromFraction(3, 20), 0.0, {&retune, c.retunes});
      const std::vector<Channel> channels(c.channels, channel);
      const Recording recording = MakeRecording(format, 1000000007, c.filter->history(), 3001);
      EXPECT_EQ(ConvertOnGpu(channels, recording.block, recording.samples)[0].has_non_finite, 0);
      const auto floats =
          static_cast<size_t>(recording.block.num_samples * BytesPerSample(format) / 4);
      std::vector<size_t> places = {0, 1, floats - 1, floats - 2};
      for (int i = 0; i < 40; ++i) places.push_back(random() % floats);
      for (const size_t place : places) {
        std::vector<uint8_t> samples = recording.samples;
        const float bad = place % 3 == 0 ? std::numeric_limits<float>::quiet_NaN()
                                         : std::numeric_limits<float>::infinity();
        std::memcpy(samples.data() + 4 * place, &bad, 4);
        EXPECT_NE(ConvertOnGpu(channels, recording.block, samples)[0].has_non_finite, 0)
            << "float " << place << " of " << floats << ", " << c.filter->down() << ", "
            << c.channels << " channels";
      }
    }
  }
}

// Their sums are beyond float32; they are not.
TEST_F(DownconvertGpuTest, SamplesThatAreLargeAreFinite) {
  for (const size_t count : {size_t{1}, size_t{5}}) {
    const FilterPtr filter = *Filter::FromTaps(std::vector<float>(64, 4.0F), 1, 8);
    const std::vector<Channel> channels(count, MakeChannel(filter, 1, OutputFormat::kFloat32));
    Recording recording = MakeRecording(InputFormat::kFloat32, 0, 0, 3000);
    for (size_t at = 0; at < recording.samples.size(); at += 4) {
      const float large = std::numeric_limits<float>::max();
      std::memcpy(recording.samples.data() + at, &large, 4);
    }
    const auto gpu = ConvertOnGpu(channels, recording.block, recording.samples);
    float output = 0.0F;
    std::memcpy(&output, gpu[0].output.data() + 8 * 100, 4);
    EXPECT_FALSE(std::isfinite(output));
    EXPECT_EQ(gpu[0].has_non_finite, 0);
  }
}

TEST_F(DownconvertGpuTest, IntegersAreFiniteWhateverTheirBits) {
  const std::vector<Channel> channels(1, MakeChannel(Taps(61, 1, 5), 1, OutputFormat::kFloat32));
  for (const InputFormat format :
       {InputFormat::kInt8, InputFormat::kInt16, InputFormat::kRealInt8, InputFormat::kRealInt16}) {
    Recording recording = MakeRecording(format, 0, 0, 3000);
    std::fill(recording.samples.begin(), recording.samples.end(), 0xff);
    EXPECT_EQ(ConvertOnGpu(channels, recording.block, recording.samples)[0].has_non_finite, 0);
  }
}

// A stream's blocks by one plan that moves, some across the oscillators' anchors.
TEST_F(DownconvertGpuTest, APlanThatMovesGivesWhatANewOneGives) {
  const FilterPtr filters[] = {Taps(64, 1, 8), Cascade(1, 64), Taps(190, 7, 8), Taps(700, 1, 20)};
  for (const InputFormat format : {InputFormat::kInt16, InputFormat::kRealFloat32}) {
    std::vector<Channel> channels;
    for (int c = 0; c < 22; ++c) {
      channels.push_back(MakeChannel(filters[c % 4], c, static_cast<OutputFormat>(c % 3)));
    }
    const int64_t history = HistoryOf(channels);
    Recording recording = MakeRecording(format, (int64_t{1} << 53) + 1, history, 6400);
    gpu::GpuPlan plan;
    std::vector<int64_t> offsets =
        testing::DownconvertLauncher::OutputOffsets(channels, recording.block);
    offsets.pop_back();
    plan.Build(channels, recording.block, offsets);
    for (int i = 0; i < 12; ++i) {
      recording.block.first_index += 6400;
      ASSERT_TRUE(plan.MoveTo(recording.block));
      const testing::DownconvertLauncher launcher(channels, recording.block, recording.samples,
                                                  &plan);
      ASSERT_THAT(launcher.Launch(), IsOk());
      ExpectSame(launcher.Results(), ConvertOnGpu(channels, recording.block, recording.samples));
    }
  }
}

TEST_F(DownconvertGpuTest, ABlockThatMakesNoOutputIsFine) {
  const FilterPtr filter = Taps(20, 1, 100);
  const Recording recording = MakeRecording(InputFormat::kInt16, 1000000007, 150, 3);
  const auto gpu = ConvertOnGpu({MakeChannel(filter, 0, OutputFormat::kInt16)}, recording.block,
                                recording.samples);
  EXPECT_TRUE(gpu[0].output.empty());
  EXPECT_EQ(gpu[0].saturated, 0);
}

TEST_F(DownconvertGpuTest, BrokenLaunchesAreRefusedAndNothingIsEnqueued) {
  const std::vector<Channel> channels = MixedChannels(3, 0, 1000, false);
  const Recording recording = MakeRecording(InputFormat::kInt16, 0, 0, 1000);
  const auto expect_refused = [&](const char* message, auto break_it) {
    testing::DownconvertLauncher launcher(channels, recording.block, recording.samples);
    break_it(&launcher.launch());
    EXPECT_THAT(launcher.Launch(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
    EXPECT_TRUE(launcher.OutputIsUntouched()) << message;
  };
  expect_refused("samples is null", [](DownconvertLaunch* l) { l->samples = nullptr; });
  expect_refused("samples is not aligned", [](DownconvertLaunch* l) { ++l->samples; });
  expect_refused("output is null", [](DownconvertLaunch* l) { l->output = nullptr; });
  expect_refused("results is null", [](DownconvertLaunch* l) { l->results = nullptr; });
  expect_refused("plan_host is null", [](DownconvertLaunch* l) { l->plan_host = nullptr; });
  expect_refused("plan_device is null", [](DownconvertLaunch* l) { l->plan_device = nullptr; });
  expect_refused("workspace is null", [](DownconvertLaunch* l) { l->workspace = nullptr; });
  expect_refused("plan_bytes", [](DownconvertLaunch* l) { --l->plan_bytes; });
  expect_refused("workspace_bytes", [](DownconvertLaunch* l) { --l->workspace_bytes; });
  gpu::GpuPlan broken;
  expect_refused("plan has 0 channels", [&broken](DownconvertLaunch* l) { l->plan = &broken; });
  broken.Build(channels, recording.block, {0, 8, 16});
  expect_refused("output offset 8", [&broken](DownconvertLaunch* l) { l->plan = &broken; });
}

}  // namespace
}  // namespace baseband::downconvert
