// LaunchDownconvert against the CPU's version, which downconvert_test holds against the reference;
// launches of nothing, and those that are refused.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/downconvert/reference.h"
#include "tests/gpu/downconvert_gpu_fixture.h"
#include "tests/support/matchers.h"

namespace baseband::downconvert {
namespace {

constexpr int64_t kAwkwardIndices[] = {0, 1000000007, (int64_t{1} << 53) + 1, 1000000000000037,
                                       kMaxSampleIndex - 20000};

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
