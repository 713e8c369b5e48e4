// Samples that are not finite: LaunchDownconvert meets them wherever they are and whoever sees
// them, and they spoil no more than what holds them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tests/gpu/downconvert_gpu_fixture.h"

namespace baseband::downconvert {
namespace {

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

}  // namespace
}  // namespace baseband::downconvert
