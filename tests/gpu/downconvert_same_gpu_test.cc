// LaunchDownconvert against itself: other cuts, other channels beside it, plans that move.
#include <algorithm>
#include <vector>

#include "tests/gpu/downconvert_gpu_fixture.h"
#include "tests/support/matchers.h"

namespace baseband::downconvert {
namespace {

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

// Many channels of integers: downconvert_fixed_gpu_test.cc.
TEST_F(DownconvertGpuTest, AChannelIsTheSameAloneAndAmongOthersInAnyOrder) {
  for (const InputFormat format : {InputFormat::kRealInt16, InputFormat::kFloat32}) {
    std::vector<Channel> channels = MixedChannels(40, 0, 5000, true);
    const Recording recording = MakeRecording(format, 0, 0, 5000);
    auto together = ConvertOnGpu(channels, recording.block, recording.samples);
    for (size_t c = 0; c < channels.size(); ++c) {
      ExpectSame(ConvertOnGpu({channels[c]}, recording.block, recording.samples), {together[c]});
    }
    std::reverse(channels.begin(), channels.end());
    std::reverse(together.begin(), together.end());
    ExpectSame(ConvertOnGpu(channels, recording.block, recording.samples), together);
  }
}

// A stream's blocks by one plan that moves, some across the oscillators' anchors.
TEST_F(DownconvertGpuTest, APlanThatMovesGivesWhatANewOneGives) {
  const FilterPtr filters[] = {Taps(64, 1, 8), Cascade(1, 64), Taps(190, 7, 8), Taps(700, 1, 20)};
  for (const InputFormat format : {InputFormat::kInt16, InputFormat::kRealFloat32}) {
    std::vector<Channel> channels;
    for (int c = 0; c < 36; ++c) {
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

}  // namespace
}  // namespace baseband::downconvert
