#include "tests/gpu/downconvert_gpu_fixture.h"

#include <algorithm>
#include <random>

#include "tests/support/matchers.h"

namespace baseband::downconvert {
namespace {

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

}  // namespace

void DownconvertGpuTest::SetUp() {
  GpuTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  ASSERT_THAT(PrepareDownconvert(), IsOk());
}

FilterPtr Taps(int count, int up, int down, uint32_t seed) {
  return *Filter::FromTaps(testing::SomeTaps(count, up, down, seed), up, down);
}
FilterPtr Cascade(int up, int down) {
  Mask mask;
  const double rate = std::min(1.0, static_cast<double>(up) / down);
  mask.pass_edge = 0.3 * rate;
  mask.stop_edge = std::min(0.5, 0.55 * rate);
  return *Filter::FromMask(mask, Design::kKaiser, up, down);
}

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

}  // namespace baseband::downconvert
